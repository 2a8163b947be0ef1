/**
 * Rings on one set of queues. Everything rung in one turn of the event loop goes out together.
 *
 * `rung` resolves with the bells that could not be rung, having reported why: it never rejects for a server that is away. `sent` resolves as
 * soon as the commands are on their connection: what the same connection is told later is done later.
 */

import type { Doorbell, QueueName } from "@markmill/engine";
import type { JobsOptions, Telemetry } from "bullmq";
import type { BellQueue } from "./backend.ts";
import { type BellData, jobId } from "./job-id.ts";

export interface Ringer {
  ring(bells: readonly Doorbell[]): Ringing;
}

interface Ringing {
  readonly sent: Promise<void>;
  readonly rung: Promise<readonly Doorbell[]>;
}

export interface RingerParts {
  readonly queueOf: (name: QueueName) => BellQueue;
  /** Below so many jobs, adding them one by one is cheaper than together. */
  readonly bulkFrom: number;
  readonly report: (doing: string) => (error: unknown) => void;
  /** Who rang, for BullMQ's instrumentation; null: there is none. */
  readonly contexts: Telemetry["contextManager"] | null;
}

interface Waiting {
  readonly bells: readonly Doorbell[];
  readonly context: unknown;
  readonly sent: () => void;
  readonly rung: (failed: readonly Doorbell[]) => void;
}

const nothing: Ringing = { sent: Promise.resolve(), rung: Promise.resolve([]) };

export function createRinger({ queueOf, bulkFrom, report, contexts }: RingerParts): Ringer {
  let waiting: Waiting[] = [];

  /** Of bells that go out together with those of others. */
  type Ringers = ReadonlyMap<Doorbell, unknown>;
  const ringersOf = (batch: readonly Waiting[]): Ringers =>
    new Map(batch.flatMap(({ bells, context }) => bells.map((bell) => [bell, context] as const)));

  /** In the context of who rang these bells; of several, in nobody's. */
  function asRinger<T>(ringers: Ringers | null, bells: readonly Doorbell[], act: () => T): T {
    if (ringers === null || contexts === null) return act();
    const [one, ...others] = new Set(bells.map((bell) => ringers.get(bell)));
    return contexts.with(others.length === 0 ? one : contexts.root?.(), act);
  }

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

  async function addTogether(name: QueueName, bells: readonly Doorbell[], ringers: Ringers | null): Promise<void> {
    const queue = queueOf(name);
    const [orphans, adopted] = [
      bells.filter((bell) => bell.parentJob === null),
      bells.filter((bell) => bell.parentJob !== null),
    ];
    const addOne = (bell: Doorbell) => asRinger(ringers, [bell], () => add(queue, bell));
    if (orphans.length >= bulkFrom) {
      await asRinger(ringers, orphans, () => queue.addBulk(orphans.map((bell) => toJob(bell, false))));
    } else await Promise.all(orphans.map(addOne));
    await Promise.all(adopted.map(addOne));
  }

  async function flush(): Promise<void> {
    const batch = waiting;
    waiting = [];
    // An adopted bell may have to be rung again as an orphan, so that it is sent only when it is rung.
    const adopting = batch.some(({ bells }) => bells.some(({ parentJob }) => parentJob !== null));
    const tellSent = () => {
      for (const { sent } of batch) sent();
    };
    // By then every promise on the way to the connection has been followed up.
    if (!adopting) setImmediate(tellSent);
    const byQueue = Map.groupBy(
      batch.flatMap(({ bells }) => bells),
      (bell) => bell.queue,
    );
    const ringers = contexts === null ? null : ringersOf(batch);
    const failed = new Set<Doorbell>();
    await Promise.all(
      [...byQueue].map(async ([name, bells]) => {
        try {
          await addTogether(name, bells, ringers);
        } catch (error) {
          for (const bell of bells) failed.add(bell);
          report(`Ringing ${bells.length} in ${name}`)(error);
        }
      }),
    );
    if (adopting) tellSent();
    for (const { bells, rung } of batch) rung(failed.size === 0 ? [] : bells.filter((bell) => failed.has(bell)));
  }

  return {
    ring(bells) {
      if (bells.length === 0) return nothing;
      const sent = Promise.withResolvers<void>();
      const rung = Promise.withResolvers<readonly Doorbell[]>();
      const context = contexts?.active() ?? null;
      if (waiting.push({ bells, context, sent: sent.resolve, rung: rung.resolve }) === 1)
        setImmediate(() => void flush());
      return { sent: sent.promise, rung: rung.promise };
    },
  };
}
