/**
 * A worker that has done an activity goes on with the next one of the same run. In one act of the backend's the job at hand is completed
 * and removed, and the job of the next activity is made in its place: active, and locked by the same worker. It is a job like any other
 * (on the board, found when its worker dies, put off, failed); what it is spared is the way through the waiting list, which costs BullMQ
 * two scripts, a wake-up and four events per job. A run also stays with the worker that knows it.
 *
 * H1  All or nothing: a hand-over that is refused has changed nothing, and its spec is enqueued the ordinary way before the job is let go.
 * H2  Refused when the job at hand is not this worker's any more, or has or had children; when the next job is there already (somebody
 *     else enqueued); when the queue is paused or has a rate limit.
 * H3  Told twice (a connection that broke before the answer) it answers the same: the next job has this slot's lock already.
 * H4  Only in queues that keep no completed jobs, and never for jobs with a parent: no trace is left of the first job.
 * H5  After `mostInARow` jobs, or `longestMs` of them, a slot takes the ordinary way once, so that those who wait, and those that are put
 *     off, get their turn.
 * H6  An activity that may be done twice begins while the backend is asked, so that its commit does not wait for two servers in a row.
 *     Where the hand-over is refused it is done all the same, and the job at hand is let go when what it led to is enqueued. So a slot of a
 *     paused queue may still do one such step.
 *
 * kill -9 before the act: the job at hand is delivered again, and enqueues what its run has ready by then (H6). After it: the next job's lock runs out, and it is delivered again.
 * Each backend writes what BullMQ 6.7 itself writes for a job that is made and started; tests/integration/hand-over.test.ts compares them.
 * No events are emitted: nobody here listens, and a busy queue trims them before anybody could.
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

/** Says of each whether it was handed over (H1). */
export type HandOverAct = (handOvers: readonly HandOver[], now: number) => Promise<readonly boolean[]>;

/** H5. */
export const mostInARow = 50;
export const longestMs = 1_000;

interface Gathered extends HandOver {
  readonly settle: (handed: boolean) => void;
}

/** What one turn of the event loop hands over goes out together: the jobs of a group commit end together. */
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
