/** How long and how often a commit is tried again. */
import { doubling, type Patience } from "@markmill/base";
import { isContention, translate } from "../database/store-error.ts";

const pause = doubling(50, 1_000);

/** After a lost race, the commit is tried again soon, and not in step with the winner. With an unreachable database, the intervals grow. */
export function whileAway(patienceMs: number): Patience {
  return (error, soFar) => {
    if (!translate(error, "Committing").transient || soFar.ms > patienceMs) return null;
    return isContention(error) ? Math.random() * 20 : pause(soFar);
  };
}
