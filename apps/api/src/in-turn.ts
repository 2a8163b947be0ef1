/** Runs expensive actions one after the other. If too many wait, a new request is refused with the advice to try again. */
import { Refusal } from "./refusal.ts";

export function inTurn(mostWaiting: number): <Answer>(act: () => Promise<Answer>) => Promise<Answer> {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return async (act) => {
    if (waiting > mostWaiting)
      throw new Refusal("OVERLOADED", { detail: `${waiting} requests wait for the same resource.` });
    waiting += 1;
    const turn = last.then(act);
    last = turn.then(
      () => undefined,
      () => undefined,
    );
    return await turn.finally(() => {
      waiting -= 1;
    });
  };
}
