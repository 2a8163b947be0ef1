/** A database that is away for a moment is waited for: what was done outside must not be lost for it. */
import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "@markmill/store";

/** As long as a commit waits. */
const patienceMs = 30_000;

export async function patiently<Result>(act: () => Promise<Result>): Promise<Result> {
  const giveUpAt = performance.now() + patienceMs;
  for (let pause = 100; ; pause = Math.min(pause * 2, 2_000)) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof StoreError) || !error.transient || performance.now() > giveUpAt) throw error;
      await sleep(pause);
    }
  }
}
