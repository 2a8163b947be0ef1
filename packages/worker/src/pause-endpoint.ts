/**
 * Decides when a model at an endpoint is called and when it is paused. Its rate and its pause are rows that all workers share
 * (store/src/money/rates-and-pauses.ts). This file decides which failures begin a pause, and whether a call waits for the end of the pause.
 * engine/src/after-failure.ts decides the consequence for the run, from the data in llm/src/model-failure.ts.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { RatePort } from "@markmill/llm";
import {
  type Database,
  endPause,
  leaveProbe,
  type ModelAt,
  pauseRate,
  renewProbe,
  takeRate,
} from "@markmill/store/machine";

/** A call waits in place for the end of a pause this short. A longer pause is reported to the run, which then holds no slot. */
const shortMs = 2_000;
/** The maximum of such waits together, and how often a call checks whether a probe was answered. */
const standMs = 5_000;
const lookMs = 250;
/** How often a prober renews its probe, and for how long at most. If an endpoint takes longer to answer, the next worker probes it, too. */
const renewMs = 2_000;
const probeMs = 60_000;

/**
 * Failures after which further requests of all workers are useless for a while. Other failures concern one request, or end without help.
 */
const pausing: ReadonlySet<string> = new Set(["MODEL_RATE_LIMITED", "MODEL_QUOTA_EXHAUSTED"]);
/** Failures that prove that the endpoint answers. */
const answering: ReadonlySet<string> = new Set(["MODEL_EMPTY_REPLY", "MODEL_REPLY_UNFINISHED"]);

export function rateOf(database: Database, { tenant, endpoint }: Omit<ModelAt, "model">, pauseMaxMs: number): RatePort {
  /** The timers of the running probes, by call. */
  const probes = new Map<string, NodeJS.Timeout>();
  function keep(at: ModelAt, taker: string): void {
    const until = performance.now() + probeMs;
    const renew = () => {
      if (performance.now() > until) letGo(taker);
      else renewProbe(database, at, taker).catch(() => undefined);
    };
    probes.set(taker, setInterval(renew, renewMs).unref());
  }
  function letGo(taker: string): void {
    clearInterval(probes.get(taker));
    probes.delete(taker);
  }

  return {
    async take(model, tokens, limits, signal) {
      const at: ModelAt = { tenant, endpoint, model };
      const { requestsPerMinute = null, tokensPerMinute = null } = limits;
      const taker = randomUUID();
      const until = performance.now() + standMs;
      for (;;) {
        signal?.throwIfAborted();
        const slot = await takeRate(database, at, { requestsPerMinute, tokensPerMinute }, tokens, taker);
        if (slot.kind === "granted") {
          if (slot.probe) keep(at, taker);
          try {
            if (slot.waitMs > 0) await sleep(slot.waitMs, undefined, signal === undefined ? {} : { signal });
          } catch (error) {
            letGo(taker);
            if (slot.probe) await leaveProbe(database, at, taker);
            throw error;
          }
          return { kind: "go", probe: slot.probe ? taker : null };
        }
        const { probing, reason, forMs } = slot;
        const waitMs = probing ? lookMs : forMs + 1;
        if (waitMs > shortMs || performance.now() + waitMs > until) {
          return { kind: "paused", reason, forMs: probing ? shortMs : forMs };
        }
        await sleep(waitMs, undefined, signal === undefined ? {} : { signal });
      }
    },
    async heard(model, passage, failure) {
      const at: ModelAt = { tenant, endpoint, model };
      const prober = passage.kind === "go" ? passage.probe : null;
      if (prober !== null) letGo(prober);
      if (failure === null || failure.next === "fail" || answering.has(failure.code)) {
        if (prober !== null) await endPause(database, at, prober);
      } else if (failure.code === "MODEL_ABORTED") {
        if (prober !== null) await leaveProbe(database, at, prober);
      } else if (prober !== null || pausing.has(failure.code) || failure.retryAfterMs !== undefined) {
        const { reason, retryAfterMs: wishMs = null } = failure;
        await pauseRate(database, at, { wishMs, reason, prober, mostMs: pauseMaxMs });
      }
    },
  };
}
