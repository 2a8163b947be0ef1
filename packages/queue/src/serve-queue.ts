/**
 * A worker on one queue: delivers its jobs to a handler, and lets a job go when the handler is done and what it enqueued is enqueued (Q4, Q5 of
 * open-queues.ts). A slot goes on with the next activity of its run where it can (hand-over.ts).
 */

import type { Delivery, JobSpec, QueueName } from "@markmill/engine";
import { DelayedError, type Job, WaitingChildrenError } from "bullmq";
import type { Backend, JobWorker } from "./backend.ts";
import { type JobData, jobId, parseJobId } from "./job-id.ts";
import { createHandOver, longestMs, mostInARow } from "./throughput/hand-over.ts";

/** What a handler makes of a delivery. children: the job waits for the jobs that name it as their parent. later: delivered again. */
export type Answer =
  | { readonly do: "done" }
  | { readonly do: "children" }
  | { readonly do: "later"; readonly ms: number };

/** Enqueues what the handled activity leads to. Resolves when the job at hand can be let go (Q4). */
export type Enqueue = (specs: readonly JobSpec[]) => Promise<void>;

/** What the slot of a delivery does when its handler is done. */
export interface Slot {
  /** Does it go on with the next activity of the run? Where it says so, it will, or tells that it does not. */
  countOn(): boolean;
  /** `refused` is called where the activity is not gone on with after all; awaited before its spec is enqueued. */
  onRefused(activityId: number, refused: () => Promise<void>): void;
  /** Doing this activity twice changes nothing: it may begin before the backend has handed the job over (H6). */
  mayBeginEarly(activityId: number): void;
}

export type Handler = (delivery: Delivery, enqueue: Enqueue, slot: Slot) => Promise<Answer>;

export interface ServeOptions {
  readonly concurrency?: number;
  readonly lockDuration?: number;
  readonly stalledInterval?: number;
}

export interface Serving {
  /** Deliveries being handled. One whose handler is done does not count: the queue may never answer to what comes after it. */
  active(): number;
  /** performance.now() of the last delivery, or of the start: a worker that hears nothing while work is due is stalled. */
  lastHeard(): number;
  /** Somebody paused the queue: no worker is given anything. Rejects where the queue does not answer. */
  isPaused(): Promise<boolean>;
  /** How many deliveries are handled at once, from now on; those under way go on. */
  setConcurrency(concurrency: number): void;
  /** A stalled worker gets new connections. What it holds goes on. */
  reconnect(): void;
  /** Takes nothing new and waits for what it holds; by force: does not wait. */
  close(force?: boolean): Promise<void>;
}

interface ServeParts {
  readonly backend: Backend;
  readonly name: QueueName;
  readonly handler: Handler;
  /** The ordinary way. */
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
    // Nothing is returned: a return value is stored by the queue, and only ids belong there.
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
   * Answers with the activity to go on with once the job is let go; whatever else the handler enqueues is enqueued.
   * `handed`: has the job at hand become that of the delivery? It is awaited before anything is done with the job.
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
      // H6: the job at hand is still the one before.
      await slot.refuse();
      await enqueue(answer?.do === "done" ? kept : [held.spec, ...kept]);
      if (answer === null) onError(failure);
      return null;
    }
    // A job that is not let go hands nothing over.
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
    // BullMQ would renew a lock that is gone, and complain.
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

/** Has the job of a slot become that of its next activity? `spec`: of the activity that has no job. */
type Handed = { readonly over: true } | { readonly over: false; readonly spec: JobSpec };

interface OpenSlot extends Slot {
  /** Somebody counts on it. */
  readonly promised: boolean;
  isCountedOn(spec: JobSpec): boolean;
  beginsEarly(spec: JobSpec): boolean;
  /** All that is counted on, but for the one that is handed over. */
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
