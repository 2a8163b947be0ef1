/**
 * When a model at an endpoint is asked, and when it is left alone: its rate and its pause are a row that all workers share
 * (store/src/money/rates-and-pauses.ts). Here is decided which failures begin a pause, and whether its end is waited for. What becomes of the run is
 * decided in engine/src/after-failure.ts, by what llm/src/model-failure.ts says of the failure.
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

/** A pause that is over so soon is waited for where the call stands; of a longer one the run is told, and holds no slot. */
const shortMs = 2_000;
/** So long at most in all, and so often it is looked whether a probe was answered. */
const standMs = 5_000;
const lookMs = 250;
/** A prober says that it lives so often, and for so long at most: an endpoint that takes longer to answer is tried by the next one, too. */
const renewMs = 2_000;
const probeMs = 60_000;

/** Failures after which asking again, by whomever, is useless for a while. Others concern one request, or heal by themselves. */
const pausing: ReadonlySet<string> = new Set(["MODEL_RATE_LIMITED", "MODEL_QUOTA_EXHAUSTED"]);
/** Failures of an endpoint that answers. */
const answering: ReadonlySet<string> = new Set(["MODEL_EMPTY_REPLY", "MODEL_REPLY_UNFINISHED"]);

export function rateOf(database: Database, { tenant, endpoint }: Omit<ModelAt, "model">, pauseMaxMs: number): RatePort {
  /** By their takers, those that are under way. */
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
