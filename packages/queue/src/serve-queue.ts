/**
 * A worker on one queue. It delivers jobs to a handler, and completes a job when the handler is done and its enqueues are sent (Q4, Q5 of
 * open-queues.ts). A slot continues with the next activity of its run if it can (hand-over.ts).
 */

import type { Delivery, JobSpec, QueueName } from "@markmill/engine";
import { DelayedError, type Job, WaitingChildrenError } from "bullmq";
import type { Backend, JobWorker } from "./backend.ts";
import { type JobData, jobId, parseJobId } from "./job-id.ts";
import { createHandOver, longestMs, mostInARow } from "./throughput/hand-over.ts";

/** A handler's answer to a delivery. children: the job waits for the jobs that name it as their parent. later: delivered again. */
export type Answer =
  | { readonly do: "done" }
  | { readonly do: "children" }
  | { readonly do: "later"; readonly ms: number };

/** Enqueues the activities that the handled one leads to. Resolves when the current job can be completed (Q4). */
export type Enqueue = (specs: readonly JobSpec[]) => Promise<void>;

/** What the slot of a delivery does when its handler is done. */
export interface Slot {
  /** Will the slot continue with the next activity of the run? After `true` it does so, or calls `onRefused`. */
  countOn(): boolean;
  /** `refused` is called if the slot does not continue with the activity after all. It is awaited before the job is enqueued. */
  onRefused(activityId: number, refused: () => Promise<void>): void;
  /** Performing this activity twice changes nothing, so it may begin before the backend has handed the job over (H6). */
  mayBeginEarly(activityId: number): void;
}

export type Handler = (delivery: Delivery, enqueue: Enqueue, slot: Slot) => Promise<Answer>;

export interface ServeOptions {
  readonly concurrency?: number;
  readonly lockDuration?: number;
  readonly stalledInterval?: number;
}

export interface Serving {
  /**
   * Number of deliveries whose handler is running. A delivery whose handler is done does not count: the queue may never answer the calls
   * that follow.
   */
  active(): number;
  /** performance.now() of the last delivery, or of the start. A worker that receives no job while activities are due is stalled. */
  lastHeard(): number;
  /** An operator paused the queue: no worker gets jobs. Rejects if the queue does not answer. */
  isPaused(): Promise<boolean>;
  /** Sets how many deliveries are handled at once from now on. Running ones continue. */
  setConcurrency(concurrency: number): void;
  /** Gives a stalled worker new connections. Its running activities continue. */
  reconnect(): void;
  /** Accepts no new jobs and waits for the running ones. With `force`, it does not wait. */
  close(force?: boolean): Promise<void>;
}

interface ServeParts {
  readonly backend: Backend;
  readonly name: QueueName;
  readonly handler: Handler;
  /** Enqueues without a hand-over. */
  readonly enqueue: Enqueue;
  readonly isPaused: () => Promise<boolean>;
  readonly onError: (error: unknown) => void;
  readonly onClosed: () => void;
}

export function serveQueue(parts: ServeParts, settings: ServeOptions): Serving {
  const { backend, name, handler, enqueue, onError, onClosed } = parts;
  let active = 0;
  let heard = performance.now();
  const lockDuration = settings.lockDuration ?? 3_000;
  const act = backend.handOverAct(name, lockDuration);
  const handOver = act === null ? null : createHandOver(act, onError);

  async function process(worker: JobWorker, job: Job<JobData>, token: string): Promise<null> {
    const began = performance.now();
    let delivery = deliveryOf(job);
    let handed: Promise<Handed> = Promise.resolve({ over: true });
    for (let row = 0; delivery !== null; row += 1) {
      const mayGoOn = () => row < mostInARow && performance.now() - began < longestMs && worker.takesMore();
      const slot = createSlot(() => handOver !== null && job.parentKey === undefined && mayGoOn());
      const next = await deliver(delivery, handed, job, token, slot);
      if (next === null) break;
      if (!(slot.promised ? worker.takesMore() : mayGoOn())) {
        await slot.refuse();
        await enqueue([next]);
        break;
      }
      handed = goOn(worker, job, token, next);
      if (!slot.beginsEarly(next) && !(await handed).over) {
        await slot.refuse();
        await enqueue([next]);
        break;
      }
      delivery = nextDelivery(next);
    }
    // Return nothing: the queue stores a return value, and only ids may be stored there.
    return null;
  }

  function deliveryOf(job: Job<JobData>): Delivery | null {
    const id = job.id ?? "";
    const spec = parseJobId(id);
    if (spec === null) return null;
    const { attempt, enqueues } = spec;
    const { runId, activityId, epoch } = job.data;
    return { queue: name, runId, activityId, epoch, jobId: id, attempt, enqueues, stalled: job.stalledCounter };
  }

  function nextDelivery(spec: JobSpec): Delivery {
    const { runId, activityId, epoch, attempt, enqueues } = spec;
    return { queue: name, runId, activityId, epoch, jobId: jobId(spec), attempt, enqueues, stalled: 0 };
  }

  async function handle(delivery: Delivery, enqueueOthers: Enqueue, slot: OpenSlot): Promise<Answer> {
    active += 1;
    try {
      return await handler(delivery, enqueueOthers, slot);
    } finally {
      active -= 1;
    }
  }

  /**
   * Returns the next activity of this slot, to begin once the job is completed. All other jobs of the handler are enqueued. `handed`: has
   * the current job become that of the delivery? It is awaited before any operation on the job.
   */
  async function deliver(
    delivery: Delivery,
    handed: Promise<Handed>,
    job: Job<JobData>,
    token: string,
    slot: OpenSlot,
  ): Promise<JobSpec | null> {
    heard = performance.now();
    const follows = handOver !== null && job.parentKey === undefined;
    const kept: JobSpec[] = [];
    let answer: Answer | null = null;
    let failure: unknown = null;
    try {
      const enqueueOthers: Enqueue = (specs) => {
        const next = specs.filter((one) => isNext(one) && jobId(one) !== delivery.jobId);
        const first = next.find(slot.isCountedOn) ?? next[0];
        const at = follows && kept.length === 0 && first !== undefined ? specs.indexOf(first) : -1;
        if (at < 0) return enqueue(specs);
        kept.push(...specs.slice(at, at + 1));
        return enqueue(specs.toSpliced(at, 1));
      };
      answer = await handle(delivery, enqueueOthers, slot);
    } catch (error) {
      failure = error;
    }
    const held = await handed;
    if (!held.over) {
      // H6: the current job is still the previous one.
      await slot.refuse();
      const again = { ...held.spec, delayMs: answer?.do === "later" ? answer.ms : 0 };
      await enqueue(answer?.do === "done" ? kept : [again, ...kept]);
      if (answer === null) onError(failure);
      return null;
    }
    // A job that is not completed cannot be handed over.
    if (answer?.do !== "done") {
      await slot.refuse();
      await enqueue(kept);
    }
    if (answer === null) throw failure;
    if (answer.do === "later") {
      await job.moveToDelayed(Date.now() + answer.ms, token);
      throw new DelayedError();
    }
    if (answer.do === "children" && (await job.moveToWaitingChildren(token))) throw new WaitingChildrenError();
    const next = answer.do === "done" ? (kept[0] ?? null) : null;
    await slot.refuse(next);
    return next;
  }

  const isNext = (spec: JobSpec) => spec.queue === name && spec.delayMs === 0 && spec.parentJob === null;

  async function goOn(worker: JobWorker, job: Job<JobData>, token: string, next: JobSpec): Promise<Handed> {
    const { runId, activityId, epoch } = next;
    const data: JobData = { runId, activityId, epoch };
    const to = jobId(next);
    // BullMQ would renew a lock that no longer exists, and report an error.
    worker.letGo(job);
    const handed = await handOver?.({ from: job.id ?? "", to, token, data: JSON.stringify(data) });
    if (handed) worker.follow(job, to, data, token);
    else worker.hold(job, token);
    return handed === true ? { over: true } : { over: false, spec: next };
  }

  let { concurrency = 1 } = settings;
  const open = (): JobWorker => {
    const bounds = {
      concurrency,
      lockDuration,
      stalledInterval: settings.stalledInterval ?? 1_000,
      maxStalledCount: 1_000_000_000,
    };
    const worker: JobWorker = backend.worker(name, (job, token = "") => process(worker, job, token), bounds);
    worker.on("error", onError);
    return worker;
  };

  let worker = open();
  let pausing: Promise<void> | null = null;
  return {
    active: () => active,
    lastHeard: () => heard,
    isPaused: parts.isPaused,
    setConcurrency(wanted) {
      concurrency = wanted;
      worker.concurrency = wanted;
    },
    reconnect() {
      const stalled = worker;
      worker = open();
      stalled.close(active === 0).catch(onError);
    },
    async close(force = false) {
      // BullMQ closes only once, and never while one of its connections is down. So wait before the close: a forced close can then overtake
      // this wait.
      if (!force) {
        pausing ??= worker.pause().catch(onError);
        await pausing;
      }
      await worker.close(true).catch(onError);
      onClosed();
    },
  };
}

/** Has the job of a slot become that of its next activity? `spec`: the job to enqueue for the activity that has none. */
type Handed = { readonly over: true } | { readonly over: false; readonly spec: JobSpec };

interface OpenSlot extends Slot {
  /** A caller relies on the hand-over. */
  readonly promised: boolean;
  isCountedOn(spec: JobSpec): boolean;
  beginsEarly(spec: JobSpec): boolean;
  /** Refuses all promised activities except the one that is handed over. */
  refuse(but?: JobSpec | null): Promise<void>;
}

function createSlot(mayGoOn: () => boolean): OpenSlot {
  const counting = new Map<number, () => Promise<void>>();
  const early = new Set<number>();
  let promised = false;
  return {
    get promised() {
      return promised;
    },
    countOn() {
      promised ||= mayGoOn();
      return promised;
    },
    isCountedOn: ({ activityId }) => counting.has(activityId),
    onRefused: (activityId, refused) => counting.set(activityId, refused),
    mayBeginEarly: (activityId) => early.add(activityId),
    beginsEarly: ({ activityId }) => early.has(activityId),
    async refuse(but = null) {
      for (const [activityId, refused] of counting) {
        if (activityId === but?.activityId) continue;
        counting.delete(activityId);
        await refused();
      }
    },
  };
}
