/**
 * Enqueues jobs on one set of queues. Jobs of one turn of the event loop go out together.
 *
 * `enqueued` resolves with the jobs that could not be enqueued, and reports the reason. It never rejects for an unreachable server. `sent`
 * resolves as soon as the commands are on their connection: later commands of the same connection are executed later.
 */

import type { JobSpec, QueueName } from "@markmill/engine";
import type { JobsOptions, Telemetry } from "bullmq";
import type { JobQueue } from "./backend.ts";
import { type JobData, jobId } from "./job-id.ts";

export interface Enqueuer {
  enqueue(specs: readonly JobSpec[]): Enqueuing;
}

interface Enqueuing {
  readonly sent: Promise<void>;
  readonly enqueued: Promise<readonly JobSpec[]>;
}

export interface EnqueuerParts {
  readonly queueOf: (name: QueueName) => JobQueue;
  /** Below this number of jobs, adding them one by one is cheaper than adding them together. */
  readonly bulkFrom: number;
  readonly report: (doing: string) => (error: unknown) => void;
  /** The caller's context, for BullMQ's instrumentation. null: there is no instrumentation. */
  readonly contexts: Telemetry["contextManager"] | null;
}

interface Waiting {
  readonly specs: readonly JobSpec[];
  readonly context: unknown;
  readonly sent: () => void;
  readonly enqueued: (failed: readonly JobSpec[]) => void;
}

const nothing: Enqueuing = { sent: Promise.resolve(), enqueued: Promise.resolve([]) };

export function createEnqueuer({ queueOf, bulkFrom, report, contexts }: EnqueuerParts): Enqueuer {
  let waiting: Waiting[] = [];

  /** The context of each caller whose jobs go out together with others. */
  type Ringers = ReadonlyMap<JobSpec, unknown>;
  const ringersOf = (batch: readonly Waiting[]): Ringers =>
    new Map(batch.flatMap(({ specs, context }) => specs.map((spec) => [spec, context] as const)));

  /** Runs `act` in the context of the caller that enqueued these jobs. With several callers, it runs in no context. */
  function asEnqueuer<T>(ringers: Ringers | null, specs: readonly JobSpec[], act: () => T): T {
    if (ringers === null || contexts === null) return act();
    const [one, ...others] = new Set(specs.map((spec) => ringers.get(spec)));
    return contexts.with(others.length === 0 ? one : contexts.root?.(), act);
  }

  const toJob = (spec: JobSpec, adopted: boolean) => {
    const data: JobData = { runId: spec.runId, activityId: spec.activityId, epoch: spec.epoch };
    const opts: JobsOptions = { jobId: jobId(spec) };
    if (spec.delayMs > 0) opts.delay = spec.delayMs;
    if (adopted && spec.parentJob !== null)
      opts.parent = { id: spec.parentJob, queue: queueOf("control").qualifiedName };
    return { name: "activity", data, opts };
  };

  async function add(queue: JobQueue, spec: JobSpec): Promise<void> {
    if (spec.parentJob !== null) {
      // The CALL's job may be gone, or no longer wait. Then the tree on the board ends here, and nothing else changes.
      const adopted = toJob(spec, true);
      const added = await queue.add(adopted.name, adopted.data, adopted.opts).catch(() => null);
      if (added !== null) return;
    }
    const { name, data, opts } = toJob(spec, false);
    await queue.add(name, data, opts);
  }

  async function addTogether(name: QueueName, specs: readonly JobSpec[], ringers: Ringers | null): Promise<void> {
    const queue = queueOf(name);
    const [orphans, adopted] = [
      specs.filter((spec) => spec.parentJob === null),
      specs.filter((spec) => spec.parentJob !== null),
    ];
    const addOne = (spec: JobSpec) => asEnqueuer(ringers, [spec], () => add(queue, spec));
    if (orphans.length >= bulkFrom) {
      await asEnqueuer(ringers, orphans, () => queue.addBulk(orphans.map((spec) => toJob(spec, false))));
    } else await Promise.all(orphans.map(addOne));
    await Promise.all(adopted.map(addOne));
  }

  async function flush(): Promise<void> {
    const batch = waiting;
    waiting = [];
    // A job with a parent may have to be enqueued again without one, so it counts as sent only when it is enqueued.
    const adopting = batch.some(({ specs }) => specs.some(({ parentJob }) => parentJob !== null));
    const tellSent = () => {
      for (const { sent } of batch) sent();
    };
    // By then, all promises on the way to the connection are settled.
    if (!adopting) setImmediate(tellSent);
    const byQueue = Map.groupBy(
      batch.flatMap(({ specs }) => specs),
      (spec) => spec.queue,
    );
    const ringers = contexts === null ? null : ringersOf(batch);
    const failed = new Set<JobSpec>();
    await Promise.all(
      [...byQueue].map(async ([name, specs]) => {
        try {
          await addTogether(name, specs, ringers);
        } catch (error) {
          for (const spec of specs) failed.add(spec);
          report(`Enqueuing ${specs.length} in ${name}`)(error);
        }
      }),
    );
    if (adopting) tellSent();
    for (const { specs, enqueued } of batch)
      enqueued(failed.size === 0 ? [] : specs.filter((spec) => failed.has(spec)));
  }

  return {
    enqueue(specs) {
      if (specs.length === 0) return nothing;
      const sent = Promise.withResolvers<void>();
      const enqueued = Promise.withResolvers<readonly JobSpec[]>();
      const context = contexts?.active() ?? null;
      if (waiting.push({ specs, context, sent: sent.resolve, enqueued: enqueued.resolve }) === 1)
        setImmediate(() => void flush());
      return { sent: sent.promise, enqueued: enqueued.promise };
    },
  };
}
