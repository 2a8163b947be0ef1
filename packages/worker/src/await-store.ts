/** If the database is unreachable for a moment, wait for it: work that was already done outside must not be lost. */
import { doubling, mayPass, patiently } from "@markmill/base";
import { StoreError } from "@markmill/store";

/** The same limit as for a commit. */
const longestMs = 30_000;
const pause = doubling(100, 2_000);

export function awaitStore<Result>(act: () => Promise<Result>): Promise<Result> {
  return patiently(act, (error, soFar) =>
    error instanceof StoreError && mayPass(error) && soFar.ms <= longestMs ? pause(soFar) : null,
  );
}
