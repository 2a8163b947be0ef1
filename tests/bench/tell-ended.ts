/**
 * Tells the producer which runs have ended, through the process channel: one message for all runs that end in one turn of the event loop.
 * A message per run cost the worker of Markmill a tenth of its processor time, which is the price of the channel and not of the system.
 */
export function createEndTeller<Id extends string | number>(): (run: Id) => void {
  let ended: Id[] = [];
  return (run) => {
    if (ended.push(run) > 1) return;
    setImmediate(() => {
      process.send?.({ ended });
      ended = [];
    });
  };
}
