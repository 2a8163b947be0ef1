/** A worker: serves the queues with its activity handler, watches for control messages and for missing jobs, and drains at the end. */
import type { WorkQueue } from "@markmill/engine";
import type { Serving } from "@markmill/queue";
import type { StoreError } from "@markmill/store";
import { createLeaseKeeper, watch } from "@markmill/store/machine";
import { type Health, healthOf } from "./decide/hearing.ts";
import { isOvertaken } from "./decide/is-overtaken.ts";
import { finishAndLeave } from "./finish-and-leave.ts";
import { WorkerLeaves } from "./finish-requests.ts";
import { createActivityHandler, type HandlerParts, type Held, type WorkerState } from "./handle-activity.ts";
import { RunOver } from "./run-over.ts";
import { createClaimsAhead } from "./throughput/claims-ahead.ts";
import { watchHearing } from "./watch-hearing.ts";

export interface WorkerParts extends HandlerParts {
  readonly databaseUrl: string;
  readonly concurrency: { readonly control: number; readonly prompt: number; readonly execute: number };
  /** Resolves when it is known whether this worker may take execute jobs: only with a sandbox that passed its self-test. */
  readonly executes: Promise<boolean>;
  readonly lockDurationMs: number;
  readonly stalledIntervalMs: number;
  /** How long a worker that gives up waits for its activities to finish. */
  readonly drainTimeoutMs: number;
  /** Called when the worker stays stalled after a reconnect, and has finished its activities. */
  readonly onStalled: () => void;
}

export interface RunningWorker {
  health(): Health;
  /** Sets the number of prompts that the worker holds from now on. */
  holdPrompts(most: number): void;
  /** Accepts no new jobs, waits for its activities, then gives up the rest. */
  drain(timeoutMs: number): Promise<void>;
}

/** Time for aborted activities to end and be released. */
const graceMs = 2_000;

export function startWorker(parts: WorkerParts): RunningWorker {
  const { store, queues, log } = parts;
  let draining = false;
  const stopped = new AbortController();
  const state = createWorkerState(parts, () => draining);
  const { held, leases } = state;
  const handle = createActivityHandler(parts, state);
  const settings = { lockDuration: parts.lockDurationMs, stalledInterval: parts.stalledIntervalMs };
  const serve = (queue: WorkQueue): Serving =>
    queues.serve(queue, handle, { ...settings, concurrency: parts.concurrency[queue] });
  const servings = new Map<string, Serving>([
    ["control", serve("control")],
    ["prompt", serve("prompt")],
  ]);
  void parts.executes.then((may) => {
    if (may && !draining) servings.set("execute", serve("execute"));
  });
  const stopWatching = watchControl(parts, state);
  const abortAll = (why: () => Error) => {
    for (const { controller } of held.values()) controller.abort(why());
  };

  async function giveUp(queue: string): Promise<void> {
    if (draining) return;
    draining = true;
    log.error(
      { queue, holds: held.size },
      "activities are due, but the queue delivers no jobs: finishing the running activities, then exiting",
    );
    await finishAndLeave({
      servings: [...servings.values()],
      giveUpAfterMs: parts.drainTimeoutMs,
      giveUp: () => abortAll(() => new WorkerLeaves()),
      stopped: stopped.signal,
      leave: parts.onStalled,
    });
  }
  const hearing = watchHearing({ store, queues, log, servings, giveUp });

  async function drain(timeoutMs: number): Promise<void> {
    draining = true;
    stopped.abort();
    hearing.stop();
    const closing = Promise.all([...servings.values()].map((serving) => serving.close()));
    const late = new Promise<"late">((resolve) => setTimeout(() => resolve("late"), timeoutMs).unref());
    if ((await Promise.race([closing, late])) === "late") {
      abortAll(() => new Error("The worker is shutting down."));
      await Promise.race([closing, new Promise((resolve) => setTimeout(resolve, graceMs).unref())]);
      await Promise.all([...servings.values()].map((serving) => serving.close(true)));
    }
    await leases.close();
    await stopWatching();
  }

  return {
    health: () =>
      healthOf(
        new Map([...servings].map(([queue, serving]) => [queue, hearing.hearingOf(queue, serving)])),
        leases.renewedMsAgo(),
      ),
    holdPrompts: (most) => servings.get("prompt")?.setConcurrency(most),
    drain,
  };
}

function createWorkerState({ store, log }: WorkerParts, isDraining: () => boolean): WorkerState {
  const leases = createLeaseKeeper({
    database: store.database,
    leaseMs: store.leaseMs,
    worker: store.worker,
    onError: (error) => log.warn({ err: error }, "leases could not be renewed"),
  });
  return { held: new Map<number, Held>(), leases, claims: createClaimsAhead(store.leaseMs), isDraining };
}

/** Aborts the activities of runs that were stopped, cancelled or ended elsewhere. */
function watchControl({ databaseUrl, log }: WorkerParts, { held, leases, claims }: WorkerState): () => Promise<void> {
  return watch(databaseUrl, {
    onControl(control) {
      for (const { claimed, controller } of held.values()) {
        if (isOvertaken({ runId: claimed.run.id, epoch: claimed.activity.epoch }, control))
          controller.abort(
            control.over === true
              ? new RunOver("The run is over.")
              : new Error("The run continued without this activity."),
          );
      }
      claims.forget(({ run, activity }) => isOvertaken({ runId: run.id, epoch: activity.epoch }, control));
    },
    onConnected() {
      leases.renewNow();
      claims.forget(() => true);
    },
    onError: (error: StoreError) => log.warn({ err: error }, "listening to Postgres"),
  });
}
