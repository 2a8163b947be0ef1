/** How long a commit is tried again, and how soon. */
import { doubling, type Patience } from "@markmill/base";
import { isContention, translate } from "../database/store-error.ts";

const pause = doubling(50, 1_000);

/** Who lost a race tries again soon, and not in step with the winner; a database that is away is asked ever less often. */
export function whileAway(patienceMs: number): Patience {
  return (error, soFar) => {
    if (!translate(error, "Committing").transient || soFar.ms > patienceMs) return null;
    return isContention(error) ? Math.random() * 20 : pause(soFar);
  };
}
