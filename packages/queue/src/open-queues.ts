/**
 * Ringing and serving.
 *
 * Q1  Postgres is the truth, the queue is the doorbell (I1): a ring that fails is reported and forgotten, the supervisor rings again.
 * Q2  Ringing never waits for a server that is away.
 * Q3  A worker that died is found by its lock: with the default 3 s and 1 s its jobs are delivered again within about 4 s. The queue
 *     never gives up on a job (maxStalledCount); it tells how often its worker was lost, and the store makes of that what it wants.
 */
import { DelayedError, type Job, type JobsOptions, WaitingChildrenError } from "bullmq";
import { type Backend, type BackendOptions, type BellQueue, type BellWorker, openBackend } from "./backend.ts";
import { type BellData, type Doorbell, jobId, parseJobId, type QueueName, queueNames } from "./doorbell.ts";
import { type QueueError, translate } from "./queue-error.ts";

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

/** The signal aborts when the lock is lost (another worker may have the job now) or the queue is closed by force. */
export type Handler = (delivered: Delivered, signal: AbortSignal) => Promise<Answer>;

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
  /** Takes nothing new and waits for what it holds; by force: aborts and does not wait. */
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
  const queues = new Map<QueueName, BellQueue>();
  const servings = new Set<Serving>();
  const report = (doing: string) => (error: unknown) => onError(translate(error, doing));

  function queueOf(name: QueueName): BellQueue {
    let queue = queues.get(name);
    if (queue === undefined) {
      queue = backend.queue(name);
      queue.on("error", report(`Queue ${name}`));
      queues.set(name, queue);
    }
    return queue;
  }

  // Made while the server is known to be there: a queue whose first breath meets a server that is away never recovers.
  for (const name of queueNames) queueOf(name);

  const toJob = (bell: Doorbell, adopted: boolean) => {
    const data: BellData = { runId: bell.runId, activityId: bell.activityId, epoch: bell.epoch };
    const opts: JobsOptions = { jobId: jobId(bell) };
    if (bell.delayMs > 0) opts.delay = bell.delayMs;
    if (adopted && bell.parentJob !== null)
      opts.parent = { id: bell.parentJob, queue: queueOf("control").qualifiedName };
    return { name: "activity", data, opts };
  };

  async function add(queue: BellQueue, bell: Doorbell): Promise<void> {
    if (bell.parentJob !== null) {
      // The CALL's job may be gone, or done waiting: then the tree on the board ends here, and nothing else changes.
      const adopted = toJob(bell, true);
      const added = await queue.add(adopted.name, adopted.data, adopted.opts).catch(() => null);
      if (added !== null) return;
    }
    const { name, data, opts } = toJob(bell, false);
    await queue.add(name, data, opts);
  }

  async function addTogether(name: QueueName, bells: readonly Doorbell[]): Promise<void> {
    const queue = queueOf(name);
    const [orphans, adopted] = [
      bells.filter((bell) => bell.parentJob === null),
      bells.filter((bell) => bell.parentJob !== null),
    ];
    if (orphans.length >= backend.bulkFrom) await queue.addBulk(orphans.map((bell) => toJob(bell, false)));
    else await Promise.all(orphans.map((bell) => add(queue, bell)));
    await Promise.all(adopted.map((bell) => add(queue, bell)));
  }

  const waiting: { readonly bells: readonly Doorbell[]; readonly resolve: (failed: readonly Doorbell[]) => void }[] =
    [];

  /** Everything rung in one turn of the event loop goes out together. */
  async function flush(): Promise<void> {
    const batch = waiting.splice(0);
    const byQueue = Map.groupBy(
      batch.flatMap(({ bells }) => bells),
      (bell) => bell.queue,
    );
    const failed = new Set<Doorbell>();
    await Promise.all(
      [...byQueue].map(async ([name, bells]) => {
        try {
          await addTogether(name, bells);
        } catch (error) {
          for (const bell of bells) failed.add(bell);
          report(`Ringing ${bells.length} in ${name}`)(error);
        }
      }),
    );
    for (const { bells, resolve } of batch) resolve(failed.size === 0 ? [] : bells.filter((bell) => failed.has(bell)));
  }

  return {
    kind: backend.kind,
    ring(bells) {
      if (bells.length === 0) return Promise.resolve([]);
      return new Promise((resolve) => {
        if (waiting.push({ bells, resolve }) === 1) setImmediate(() => void flush());
      });
    },
    serve(name, handler, settings = {}) {
      const serving = serve(backend, name, handler, settings, report(`Serving ${name}`), () =>
        servings.delete(serving),
      );
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
      await Promise.all([...queues.values()].map((queue) => queue.close().catch(() => undefined)));
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
  settings: ServeOptions,
  onError: (error: unknown) => void,
  onClosed: () => void,
): Serving {
  const held = new Map<string, AbortController>();
  let heard = performance.now();

  async function process(job: Job<BellData>, token = ""): Promise<null> {
    heard = performance.now();
    const id = job.id ?? "";
    const bell = parseJobId(id);
    if (bell === null) return null;
    const controller = new AbortController();
    held.set(id, controller);
    try {
      const answer = await handler(
        { ...job.data, queue: name, jobId: id, attempt: bell.attempt, rings: bell.rings, stalled: job.stalledCounter },
        controller.signal,
      );
      if (answer.do === "later") {
        await job.moveToDelayed(Date.now() + answer.ms, token);
        throw new DelayedError();
      }
      if (answer.do === "children" && (await job.moveToWaitingChildren(token))) throw new WaitingChildrenError();
      // Nothing is returned: a return value is stored by the queue, and only ids belong there.
      return null;
    } finally {
      held.delete(id);
    }
  }

  const open = (): BellWorker => {
    const worker = backend.worker(name, process, {
      concurrency: settings.concurrency ?? 1,
      lockDuration: settings.lockDuration ?? 3_000,
      stalledInterval: settings.stalledInterval ?? 1_000,
      maxStalledCount: 1_000_000_000,
    });
    worker.on("error", onError);
    worker.on("lockRenewalFailed", (ids: string[]) => {
      for (const id of ids) held.get(id)?.abort(new Error("The lock of the job was lost"));
    });
    return worker;
  };

  let worker = open();
  return {
    active: () => held.size,
    lastHeard: () => heard,
    reconnect() {
      const deaf = worker;
      worker = open();
      heard = performance.now();
      deaf.close(held.size === 0).catch(onError);
    },
    async close(force = false) {
      if (force) for (const controller of held.values()) controller.abort(new Error("The worker is closing"));
      await worker.close(force).catch(onError);
      onClosed();
    },
  };
}
