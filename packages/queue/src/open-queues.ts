/**
 * Ringing and serving.
 *
 * Q1  Postgres is the truth, the queue is the doorbell (I1): a ring that fails is reported and forgotten, the supervisor rings again.
 * Q2  Ringing never waits for a server that is away.
 * Q3  A worker that died is found by its lock: with the default 3 s and 1 s its jobs are delivered again within about 4 s. The queue
 *     never gives up on a job (maxStalledCount); it tells how often its worker was lost, and the store makes of that what it wants.
 * Q4  A handler's rings come before its job is let go. On Redis they are told on the same connection, which keeps the order, so that nobody
 *     waits for the answer: a handler that did would pay a round trip in every step. On Postgres, where connections are pooled, they are
 *     waited for. Either way a crash in between leaves the job, and losing both is what Q1 is for.
 * Q5  The first of a handler's rings that is due now in the same queue is not rung but handed over, where that is possible (hand-over.ts).
 */
import { DelayedError, type Job, WaitingChildrenError } from "bullmq";
import { type Backend, type BackendOptions, type BellQueue, type BellWorker, openBackend } from "./backend.ts";
import { type BellData, type Doorbell, jobId, parseJobId, type QueueName, queueNames } from "./doorbell.ts";
import { createHandOver, mostInARow } from "./hand-over.ts";
import { type QueueError, translate } from "./queue-error.ts";
import { createRinger, type Ringer } from "./ringer.ts";

export interface QueuesOptions {
  readonly backend: BackendOptions;
  /** Namespace of the jobs in Redis; on Postgres the database is the namespace. */
  readonly prefix?: string;
  /** Broken connections and failed rings; the queues go on by themselves. */
  readonly onError?: (error: QueueError) => void;
}

/** What a handler makes of a delivery. children: the job waits for the jobs that name it as their parent. later: delivered again. */
export type Answer =
  | { readonly do: "done" }
  | { readonly do: "children" }
  | { readonly do: "later"; readonly ms: number };

export interface Delivered extends BellData {
  readonly queue: QueueName;
  readonly jobId: string;
  readonly attempt: number;
  readonly rings: number;
  /** How often a worker was lost with this job. */
  readonly stalled: number;
}

/** Rings what the handled activity leads to. Resolves when the job at hand can be let go (Q4). */
export type Ring = (bells: readonly Doorbell[]) => Promise<void>;
export type Handler = (delivered: Delivered, ring: Ring) => Promise<Answer>;

export interface ServeOptions {
  readonly concurrency?: number;
  readonly lockDuration?: number;
  readonly stalledInterval?: number;
}

export interface Serving {
  /** Deliveries being handled. */
  active(): number;
  /** performance.now() of the last delivery, or of the start: a worker that hears nothing while work is due is deaf. */
  lastHeard(): number;
  /** A deaf worker gets new connections. What it holds goes on. */
  reconnect(): void;
  /** Takes nothing new and waits for what it holds; by force: does not wait. */
  close(force?: boolean): Promise<void>;
}

/** delayed: for about so long yet, by this host's clock; the job was put off by the clock of whoever rang it. */
export type LiveJob =
  | { readonly is: "waiting" }
  | { readonly is: "active" }
  | { readonly is: "delayed"; readonly forMs: number };

export interface Queues {
  readonly kind: Backend["kind"];
  /** Resolves with the bells that could not be rung, having reported why: never rejects for a server that is away. */
  ring(bells: readonly Doorbell[]): Promise<readonly Doorbell[]>;
  serve(queue: QueueName, handler: Handler, options?: ServeOptions): Serving;
  /** By job id: what has become of those whose job is there and has not ended. */
  live(
    bells: readonly Pick<Doorbell, "queue" | "activityId" | "attempt" | "rings">[],
  ): Promise<ReadonlyMap<string, LiveJob>>;
  counts(): Promise<Readonly<Record<QueueName, Readonly<Record<string, number>>>>>;
  close(): Promise<void>;
}

export async function openQueues(options: QueuesOptions): Promise<Queues> {
  const { prefix = "markmill", onError = () => undefined } = options;
  const backend = await openBackend(options.backend, prefix, onError);
  const servings = new Set<Serving>();
  const report = (doing: string) => (error: unknown) => onError(translate(error, doing));

  const opened: BellQueue[] = [];
  function openAll(open: (name: QueueName) => BellQueue): (name: QueueName) => BellQueue {
    const all = Object.fromEntries(
      queueNames.map((name) => {
        const queue = open(name);
        queue.on("error", report(`Queue ${name}`));
        opened.push(queue);
        return [name, queue];
      }),
    ) as Record<QueueName, BellQueue>;
    return (name) => all[name];
  }

  const ringerOf = (queueOf: (name: QueueName) => BellQueue): Ringer =>
    createRinger({ queueOf, bulkFrom: backend.bulkFrom, report });

  // Made while the server is known to be there: a queue whose first breath meets a server that is away never recovers.
  const queueOf = openAll(backend.queue);
  const ringer = ringerOf(queueOf);

  /** Q4. Made before the first worker: a queue asks its server something before it says anything, and is answered before any job comes. */
  let companion: Ringer | null = null;
  function ringBefore(): Ring {
    if (backend.companion === null) return async (bells) => void (await ringer.ring(bells).rung);
    companion ??= ringerOf(openAll(backend.companion));
    const { ring } = companion;
    return (bells) => ring(bells).sent;
  }

  return {
    kind: backend.kind,
    ring: (bells) => ringer.ring(bells).rung,
    serve(name, handler, settings = {}) {
      const onError = report(`Serving ${name}`);
      const serving = serve(backend, name, handler, ringBefore(), settings, onError, () => servings.delete(serving));
      servings.add(serving);
      return serving;
    },
    async live(bells) {
      try {
        const found = await Promise.all(
          bells.map(async (bell) => {
            const job = await queueOf(bell.queue).getJob(jobId(bell));
            const live = job === undefined ? null : await liveJob(job);
            return live === null ? [] : [[jobId(bell), live] as const];
          }),
        );
        return new Map(found.flat());
      } catch (error) {
        throw translate(error, "Looking for jobs");
      }
    },
    async counts() {
      try {
        const rows = await Promise.all(
          queueNames.map(async (name) => [name, await queueOf(name).getJobCounts()] as const),
        );
        return Object.fromEntries(rows) as Record<QueueName, Record<string, number>>;
      } catch (error) {
        throw translate(error, "Counting jobs");
      }
    },
    async close() {
      await Promise.all([...servings].map((serving) => serving.close()));
      await Promise.all(opened.map((queue) => queue.close().catch(() => undefined)));
      await backend.close();
    },
  };
}

async function liveJob(job: Job<BellData>): Promise<LiveJob | null> {
  if (job.finishedOn !== undefined) return null;
  const state = await job.getState();
  if (state === "unknown" || state === "completed" || state === "failed") return null;
  if (state === "active") return { is: "active" };
  if (state !== "delayed") return { is: "waiting" };
  // A handler that wanted it later counted from then; `timestamp` is when the job was made.
  return { is: "delayed", forMs: Math.max(job.timestamp, job.processedOn ?? 0) + job.delay - Date.now() };
}

function serve(
  backend: Backend,
  name: QueueName,
  handler: Handler,
  ring: Ring,
  settings: ServeOptions,
  onError: (error: unknown) => void,
  onClosed: () => void,
): Serving {
  let active = 0;
  let heard = performance.now();
  const lockDuration = settings.lockDuration ?? 3_000;
  const hand = backend.hand(name, lockDuration);
  const handOver = hand === null ? null : createHandOver(hand, onError);

  async function process(worker: BellWorker, job: Job<BellData>, token: string): Promise<null> {
    active += 1;
    try {
      for (let row = 0; ; row += 1) {
        const next = await deliver(job, token);
        if (next === null) break;
        if (row < mostInARow && worker.takesMore() && (await goOn(worker, job, token, next))) continue;
        await ring([next]);
        break;
      }
      // Nothing is returned: a return value is stored by the queue, and only ids belong there.
      return null;
    } finally {
      active -= 1;
    }
  }

  /** Answers with the activity to go on with once the job is let go; whatever else the handler rings is rung. */
  async function deliver(job: Job<BellData>, token: string): Promise<Doorbell | null> {
    heard = performance.now();
    const id = job.id ?? "";
    const bell = parseJobId(id);
    if (bell === null) return null;
    const { runId, activityId, epoch } = job.data;
    const { attempt, rings } = bell;
    const delivered = { queue: name, runId, activityId, epoch, jobId: id, attempt, rings, stalled: job.stalledCounter };
    const follows = handOver !== null && job.parentKey === undefined;
    const kept: Doorbell[] = [];
    let answer: Answer | null = null;
    try {
      answer = await handler(delivered, (bells) => {
        const at = follows && kept.length === 0 ? bells.findIndex(isNext) : -1;
        if (at < 0) return ring(bells);
        kept.push(...bells.slice(at, at + 1));
        return ring(bells.toSpliced(at, 1));
      });
    } finally {
      // A job that is not let go hands nothing over.
      if (answer?.do !== "done") await ring(kept);
    }
    if (answer.do === "later") {
      await job.moveToDelayed(Date.now() + answer.ms, token);
      throw new DelayedError();
    }
    if (answer.do === "children" && (await job.moveToWaitingChildren(token))) throw new WaitingChildrenError();
    return answer.do === "done" ? (kept[0] ?? null) : null;
  }

  const isNext = (bell: Doorbell) => bell.queue === name && bell.delayMs === 0 && bell.parentJob === null;

  async function goOn(worker: BellWorker, job: Job<BellData>, token: string, next: Doorbell): Promise<boolean> {
    const { runId, activityId, epoch } = next;
    const data: BellData = { runId, activityId, epoch };
    const to = jobId(next);
    worker.letGo(job);
    const handed = await handOver?.({ from: job.id ?? "", to, token, data: JSON.stringify(data) });
    if (handed) worker.follow(job, to, data, token);
    return handed === true;
  }

  const open = (): BellWorker => {
    const bounds = {
      concurrency: settings.concurrency ?? 1,
      lockDuration,
      stalledInterval: settings.stalledInterval ?? 1_000,
      maxStalledCount: 1_000_000_000,
    };
    const worker: BellWorker = backend.worker(name, (job, token = "") => process(worker, job, token), bounds);
    worker.on("error", onError);
    return worker;
  };

  let worker = open();
  let pausing: Promise<void> | null = null;
  return {
    active: () => active,
    lastHeard: () => heard,
    reconnect() {
      const deaf = worker;
      worker = open();
      heard = performance.now();
      deaf.close(active === 0).catch(onError);
    },
    async close(force = false) {
      // BullMQ closes once, and never while a connection of its own is away: so the waiting comes before, where force can overtake it.
      if (!force) {
        pausing ??= worker.pause().catch(onError);
        await pausing;
      }
      await worker.close(true).catch(onError);
      onClosed();
    },
  };
}
