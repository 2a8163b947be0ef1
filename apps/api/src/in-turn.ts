/** What costs much is done one after the other; whoever comes when too many wait is told to come again. */
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
