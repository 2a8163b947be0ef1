/**
 * The queues of one process: enqueuing, serving and inspecting jobs.
 *
 * Q1  Postgres is the truth, the queue only reports that work is due (I1). An enqueue that fails is reported and forgotten, and the
 *     supervisor enqueues again.
 * Q2  Enqueuing never waits for an unreachable server.
 * Q3  The lock of a job shows that its worker has crashed. With the default 3 s and 1 s, the jobs of that worker are delivered again within
 *     about 4 s. The queue never gives up on a job (maxStalledCount). It reports how often the worker was lost, and the store decides what
 *     that means.
 * Q4  A handler's enqueues are sent before its job is completed. On Redis they use the same connection, which keeps the order, so the
 *     handler does not wait for the answer: the wait would add a round trip to every step. On Postgres, where connections are pooled, the
 *     handler waits for them. If a crash happens in between, the job remains. Q1 covers the loss of both.
 * Q5  The first of a handler's enqueues that is due now in the same queue is handed over instead of enqueued, if possible (hand-over.ts).
 */

import { setTimeout as sleep } from "node:timers/promises";
import { type JobSpec, type QueueName, queueNames } from "@markmill/engine";
import type { Job, Telemetry } from "bullmq";
import { type Backend, type BackendOptions, type JobQueue, openBackend, type WatchedQueue } from "./backend.ts";
import { createEnqueuer, type Enqueuer } from "./enqueuer.ts";
import { type JobData, jobId } from "./job-id.ts";
import { QueueError, translate } from "./queue-error.ts";
import { type Enqueue, type Handler, type ServeOptions, type Serving, serveQueue } from "./serve-queue.ts";

export interface QueuesOptions {
  readonly backend: BackendOptions;
  /** Namespace of the jobs in Redis. On Postgres the database is the namespace. */
  readonly prefix?: string;
  /** Tests only: every activity takes the ordinary way through the queue (hand-over.ts). */
  readonly plain?: boolean;
  /** Reports broken connections and failed enqueues. The queues continue without help. */
  readonly onError?: (error: QueueError) => void;
  /** BullMQ's own instrumentation: the `telemetry` option of its queues and workers. */
  readonly telemetry?: Telemetry;
}

/** delayed: the approximate remaining time by this host's clock. The clock of the process that enqueued the job set the delay. */
export type LiveJob =
  | { readonly is: "waiting" }
  | { readonly is: "active" }
  | { readonly is: "delayed"; readonly forMs: number };

export interface Queues {
  readonly kind: Backend["kind"];
  /** Resolves with the jobs that could not be enqueued, and reports the reason. Never rejects for an unreachable server. */
  enqueue(specs: readonly JobSpec[]): Promise<readonly JobSpec[]>;
  serve(queue: QueueName, handler: Handler, options?: ServeOptions): Serving;
  /** By job id: the state of each job that exists and has not ended. */
  live(
    specs: readonly Pick<JobSpec, "queue" | "activityId" | "attempt" | "enqueues">[],
  ): Promise<ReadonlyMap<string, LiveJob>>;
  /** Removes delayed jobs that others have replaced. A job that does not exist, or is being performed, is left as it is. */
  forget(specs: readonly Pick<JobSpec, "queue" | "activityId" | "attempt" | "enqueues">[]): Promise<void>;
  counts(): Promise<Readonly<Record<QueueName, Readonly<Record<string, number>>>>>;
  /** Rejects with the reason if the queue takes no jobs at this moment. */
  probe(): Promise<void>;
  /** Throws until the queues have been reached. */
  watch(queue: QueueName): WatchedQueue;
  close(): Promise<void>;
}

/** A server that does not answer for this time takes no jobs. */
const probeMs = 2_000;

export async function openQueues(options: QueuesOptions): Promise<Queues> {
  const { prefix = "markmill", onError = () => undefined, telemetry } = options;
  const opened = await openBackend(options.backend, { prefix, onError, telemetry });
  const backend: Backend = options.plain ? { ...opened, handOverAct: () => null } : opened;
  const servings = new Set<Serving>();
  const report = (doing: string) => (error: unknown) => onError(translate(error, doing));

  const allQueues: JobQueue[] = [];
  function openAll(open: (name: QueueName) => JobQueue): (name: QueueName) => JobQueue {
    const all = Object.fromEntries(
      queueNames.map((name) => {
        const queue = open(name);
        queue.on("error", report(`Queue ${name}`));
        allQueues.push(queue);
        return [name, queue];
      }),
    ) as Record<QueueName, JobQueue>;
    return (name) => all[name];
  }

  const enqueuerOf = (queueOf: (name: QueueName) => JobQueue): Enqueuer =>
    createEnqueuer({ queueOf, bulkFrom: backend.bulkFrom, report, contexts: telemetry?.contextManager ?? null });

  // Created while the server is known to be reachable: a queue that meets an unreachable server at its start never recovers.
  const queueOf = openAll(backend.queue);
  const enqueuer = enqueuerOf(queueOf);

  /** See Q4. Created before the first worker: a queue first sends its server a query, and must have the answer before any job arrives. */
  let companion: Enqueuer | null = null;
  function enqueueBefore(): Enqueue {
    if (backend.companion === null) return async (specs) => void (await enqueuer.enqueue(specs).enqueued);
    companion ??= enqueuerOf(openAll(backend.companion));
    const { enqueue } = companion;
    return (specs) => enqueue(specs).sent;
  }

  return {
    kind: backend.kind,
    enqueue: (specs) => enqueuer.enqueue(specs).enqueued,
    serve(name, handler, settings = {}) {
      const onError = report(`Serving ${name}`);
      const serving = serveQueue(
        {
          backend,
          name,
          handler,
          enqueue: enqueueBefore(),
          onError,
          isPaused: () => queueOf(name).isPaused(),
          onClosed: () => servings.delete(serving),
        },
        settings,
      );
      servings.add(serving);
      return serving;
    },
    async live(specs) {
      try {
        const found = await Promise.all(
          specs.map(async (spec) => {
            const job = await queueOf(spec.queue).getJob(jobId(spec));
            const live = job === undefined ? null : await liveJob(job);
            return live === null ? [] : [[jobId(spec), live] as const];
          }),
        );
        return new Map(found.flat());
      } catch (error) {
        throw translate(error, "Looking for jobs");
      }
    },
    async forget(specs) {
      await Promise.all(
        specs.map(async (spec) => {
          const job = await queueOf(spec.queue).getJob(jobId(spec));
          if (job !== undefined && (await job.isDelayed())) await job.remove();
        }),
      ).catch((error: unknown) => onError(translate(error, "Taking jobs away")));
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
    async probe() {
      const over = new AbortController();
      const late = sleep(probeMs, undefined, { signal: over.signal }).then(
        () => Promise.reject(new QueueError("QUEUE_UNREACHABLE", `The queue has not answered for ${probeMs} ms.`)),
        () => undefined,
      );
      await Promise.race([backend.probe(), late]).finally(() => over.abort());
    },
    watch: queueOf,
    async close() {
      await Promise.all([...servings].map((serving) => serving.close()));
      await Promise.all(allQueues.map((queue) => queue.close().catch(() => undefined)));
      await backend.close();
    },
  };
}

async function liveJob(job: Job<JobData>): Promise<LiveJob | null> {
  if (job.finishedOn !== undefined) return null;
  const state = await job.getState();
  if (state === "unknown" || state === "completed" || state === "failed") return null;
  if (state === "active") return { is: "active" };
  if (state !== "delayed") return { is: "waiting" };
  // If a handler delayed the job, the delay counts from that moment. `timestamp` is the time at which the job was created.
  return { is: "delayed", forMs: Math.max(job.timestamp, job.processedOn ?? 0) + job.delay - Date.now() };
}
