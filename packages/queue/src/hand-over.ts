/**
 * A worker that has done an activity goes on with the next one of the same run. In one act of the backend's the job at hand is completed
 * and removed, and the job of the next activity is made in its place: active, and locked by the same worker. It is a job like any other
 * (on the board, found when its worker dies, put off, failed); what it is spared is the way through the waiting list, which costs BullMQ
 * two scripts, a wake-up and four events per job. A run also stays with the worker that knows it.
 *
 * H1  All or nothing: a hand-over that is refused has changed nothing, and its bell is rung the ordinary way before the job is let go.
 * H2  Refused when the job at hand is not this worker's any more, or has or had children; when the next job is there already (somebody
 *     else rang); when the queue is paused or has a rate limit.
 * H3  Told twice (a connection that broke before the answer) it answers the same: the next job has this slot's lock already.
 * H4  Only in queues that keep no completed jobs, and never for jobs with a parent: no trace is left of the first job.
 * H5  After `mostInARow` a slot takes the ordinary way once, so that those who wait, and those that are put off, get their turn.
 *
 * kill -9 before the act: the job at hand is delivered again. After it: the next job's lock runs out, and it is delivered again.
 * Each backend writes what BullMQ 6.7 itself writes for a job that is made and started; tests/integration/hand-over.test.ts compares them.
 * No events are emitted: nobody here listens, and a busy queue trims them before anybody could.
 */
import type { IQueueBackend, JobJson } from "bullmq";
import { type BellData, type Doorbell, jobId } from "./doorbell.ts";

export interface Handing {
  /** Job ids. */
  readonly from: string;
  readonly to: string;
  /** The slot's lock. */
  readonly token: string;
  /** JSON. */
  readonly data: string;
}

/** Says of each whether it was handed over (H1). */
export type Hand = (handings: readonly Handing[], now: number) => Promise<readonly boolean[]>;

export interface HandOver {
  /** The job's worker is to go on with this activity. */
  offer(from: string, next: Doorbell): void;
  /** Takes back what was offered and not handed over. */
  withdraw(from: string): Doorbell | undefined;
  /** The backend of a worker that hands over: the very same, with another way to complete a job. */
  equip<Backend extends IQueueBackend>(backend: Backend): Backend;
}

export interface HandOverParts {
  readonly hand: Hand;
  /** Rings the ordinary way; resolves when the job can be let go. */
  readonly ring: (bells: readonly Doorbell[]) => Promise<void>;
  readonly report: (error: unknown) => void;
}

/** H5. */
const mostInARow = 50;

interface Gathered extends Handing {
  readonly settle: (handed: boolean) => void;
}

export function createHandOver(parts: HandOverParts): HandOver {
  const offers = new Map<string, Doorbell>();
  /** By job: how many were handed over before it in the same slot. */
  const inARow = new Map<string, number>();
  let gathered: Gathered[] = [];

  function withdraw(from: string): Doorbell | undefined {
    const bell = offers.get(from);
    offers.delete(from);
    inARow.delete(from);
    return bell;
  }

  async function flush(): Promise<void> {
    const batch = gathered;
    gathered = [];
    try {
      const answers = await parts.hand(batch, Date.now());
      batch.forEach(({ settle }, index) => {
        settle(answers[index] === true);
      });
    } catch (error) {
      parts.report(error);
      for (const { settle } of batch) settle(false);
    }
  }

  /** What one turn of the event loop hands over goes out together: the jobs of a group commit end together. */
  const handOver = (handing: Handing): Promise<boolean> =>
    new Promise((settle) => {
      if (gathered.push({ ...handing, settle }) === 1) process.nextTick(() => void flush());
    });

  function equip<Backend extends IQueueBackend>(backend: Backend): Backend {
    const complete: IQueueBackend["moveToCompleted"] = backend.moveToCompleted.bind(backend);
    backend.moveToCompleted = async (job, returnValue, removeOnComplete, token, fetchNext) => {
      const from = job.id ?? "";
      const row = inARow.get(from) ?? 0;
      const bell = withdraw(from);
      if (bell !== undefined) {
        const to = jobId(bell);
        const data = JSON.stringify(toData(bell));
        if (fetchNext && row < mostInARow && (await handOver({ from, to, token, data }))) {
          inARow.set(to, row + 1);
          const now = Date.now();
          return { finishedOn: now, result: [activeJob(to, data, now), to, 0, 0] };
        }
        await parts.ring([bell]);
      }
      return complete(job, returnValue, removeOnComplete, token, fetchNext);
    };
    return backend;
  }

  return { offer: (from, next) => void offers.set(from, next), withdraw, equip };
}

const toData = ({ runId, activityId, epoch }: Doorbell): BellData => ({ runId, activityId, epoch });

/** As BullMQ reads it from what the backend wrote. */
function activeJob(id: string, data: string, now: number): Omit<JobJson, "failedReason" | "returnvalue"> {
  return {
    id,
    name: "activity",
    data,
    opts: { jobId: id, attempts: 0 },
    progress: 0,
    attemptsMade: 0,
    attemptsStarted: 1,
    stalledCounter: 0,
    timestamp: now,
    delay: 0,
    priority: 0,
    processedOn: now,
  };
}
