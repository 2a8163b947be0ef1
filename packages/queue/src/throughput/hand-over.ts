/**
 * Hand-over: a worker that has performed an activity continues with the next one of the same run. One operation of the backend completes
 * and removes the current job. The same operation creates the job of the next activity in its place, active and locked by the same worker.
 * That job is like any other: it is on the board, it can be delayed or fail, and it is found when its worker crashes. It only skips the
 * waiting list, which costs BullMQ two scripts, a wake-up and four events per job. The run also stays with the worker that has it in
 * memory.
 *
 * H1  All or nothing: a refused hand-over has changed nothing, and its job is enqueued the ordinary way before the current job is
 *     completed.
 * H2  A hand-over is refused in these cases: this worker no longer holds the current job; the current job has or had children; the next job
 *     exists already (another process enqueued it); the queue is paused or has a rate limit.
 * H3  A repeated hand-over (the connection broke before the answer) returns the same answer: the next job already has this slot's lock.
 * H4  Hand-overs happen only in queues that keep no completed jobs, and never for jobs with a parent: the first job leaves no trace.
 * H5  After `mostInARow` jobs, or `longestMs` of them, a slot takes the ordinary way once, so that waiting and delayed jobs get their turn.
 * H6  An activity that may be performed twice begins while the backend is asked, so that its commit does not wait for two servers in a row.
 *     If the hand-over is refused, the activity is performed all the same, and the current job is completed when the following jobs are
 *     enqueued. So a slot of a paused queue may still perform one such step.
 *
 * kill -9 before the operation: the current job is delivered again, and enqueues the activities that are ready by then (H6). After it: the
 * next job's lock expires, and the job is delivered again. Each backend writes what BullMQ 6.7 writes for a job that is created and
 * started; tests/integration/hand-over.test.ts compares them. No events are emitted: no code listens to them, and a busy queue would trim
 * them first.
 */

export interface HandOver {
  /** Job ids. */
  readonly from: string;
  readonly to: string;
  /** The slot's lock. */
  readonly token: string;
  /** JSON. */
  readonly data: string;
}

/** Returns for each hand-over whether it happened (H1). */
export type HandOverAct = (handOvers: readonly HandOver[], now: number) => Promise<readonly boolean[]>;

/** See H5. */
export const mostInARow = 50;
export const longestMs = 1_000;

interface Gathered extends HandOver {
  readonly settle: (handed: boolean) => void;
}

/** All hand-overs of one turn of the event loop go out together: the jobs of a group commit end together. */
export function createHandOver(
  act: HandOverAct,
  report: (error: unknown) => void,
): (one: HandOver) => Promise<boolean> {
  let gathered: Gathered[] = [];

  async function flush(): Promise<void> {
    const batch = gathered;
    gathered = [];
    try {
      const answers = await act(batch, Date.now());
      batch.forEach(({ settle }, index) => {
        settle(answers[index] === true);
      });
    } catch (error) {
      report(error);
      for (const { settle } of batch) settle(false);
    }
  }

  return (one) =>
    new Promise((settle) => {
      if (gathered.push({ ...one, settle }) === 1) process.nextTick(() => void flush());
    });
}
