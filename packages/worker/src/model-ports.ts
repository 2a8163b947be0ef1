/** The ports of a paid call, on the store: memo, budget and rate are rows that all workers share. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Json } from "@markmill/engine";
import type { BudgetGate, CallLedger, ModelReply, RateGate } from "@markmill/llm";
import {
  type Activity,
  type Database,
  endPause,
  findCall,
  type LoadedRun,
  leaveProbe,
  type ModelAt,
  pauseRate,
  releaseReservation,
  reserve,
  saveCall,
  settleReservation,
  takeRate,
} from "@markmill/store/machine";

/** With the activity a reply settles only what its own claim has reserved. */
export function ledgerOf(database: Database, run: LoadedRun, activity?: Activity): CallLedger {
  const claimed = activity === undefined ? {} : { claim: activity.claim };
  return {
    async find({ activityId, callIndex, requestHash }) {
      const found = await findCall(database, { activityId: Number(activityId), callIndex, requestHash });
      if (found === null) return undefined;
      return { reply: found.reply as unknown as ModelReply, attempt: found.attempt ?? 1 };
    },
    async record({ activityId, callIndex, requestHash }, { reply, attempt }) {
      const { promptTokens, completionTokens, characters, nanodollars } = reply.usage;
      await saveCall(
        database,
        { id: run.id, rootId: run.rootId, tenant: run.tenant },
        {
          key: { activityId: Number(activityId), callIndex, requestHash, ...claimed },
          attempt,
          model: reply.model,
          request: null,
          reply: reply as unknown as Json,
          usage: { promptTokens, completionTokens, characters, nanodollars },
        },
      );
    },
  };
}

/** What is set aside for handlers is left to them. */
export function budgetOf(database: Database, run: LoadedRun, { work, claim }: Activity): BudgetGate {
  const aside = work.kind === "prompt" ? work.aside : undefined;
  const leave = { of: run.rootId, nanodollars: aside?.nanodollars ?? 0, tokens: aside?.tokens ?? 0 };
  return {
    async reserve({ activityId, callIndex }, worstCase, sent) {
      const call = { activityId: Number(activityId), callIndex, claim };
      // One that is still open was left by a worker that died in the act: its call may have been billed.
      const { calls, ...lost } = await settleReservation(database, call, "reserved");
      const left = calls === 0 ? {} : { left: { calls, ...lost } };
      const want = {
        nanodollars: worstCase.nanodollars,
        tokens: worstCase.promptTokens + worstCase.completionTokens,
      };
      const { promptTokens, completionTokens } = worstCase;
      const charge = { runId: run.id, rootId: run.rootId, promptTokens, completionTokens, ...sent };
      const reserved = await reserve(database, run.tenant, call, run.budgets, want, leave, charge);
      if (reserved.kind === "reserved") return { ok: true, ...left };
      const { budget, code } = reserved;
      return { ok: false, code, message: refusal(code, budget, want, leave), ...left };
    },
    async settle({ activityId, callIndex }, { nanodollars, promptTokens, completionTokens, certain }) {
      const call = { activityId: Number(activityId), callIndex, claim };
      const tokens = promptTokens + completionTokens;
      await settleReservation(database, call, { nanodollars, tokens, promptTokens, completionTokens, certain });
    },
    release: ({ activityId, callIndex }) =>
      releaseReservation(database, { activityId: Number(activityId), callIndex, claim }),
  };
}

function refusal(
  code: "LIMIT_COST" | "LIMIT_TOKENS",
  budget: {
    readonly id: string;
    readonly cap: { readonly nanodollars: number | null; readonly tokens: number | null };
    readonly spent: { readonly nanodollars: number; readonly tokens: number };
    readonly reserved: { readonly nanodollars: number; readonly tokens: number };
  },
  want: { readonly nanodollars: number; readonly tokens: number },
  leave: { readonly of: string; readonly nanodollars: number; readonly tokens: number },
): string {
  const left = leave.of === budget.id;
  if (code === "LIMIT_COST") {
    const dollars = (nanodollars: number) => `$${(nanodollars / 1e9).toFixed(4)}`;
    const used = budget.spent.nanodollars + budget.reserved.nanodollars;
    const kept = left && leave.nanodollars > 0 ? `, ${dollars(leave.nanodollars)} is set aside for the handlers` : "";
    return `The next call could cost ${dollars(want.nanodollars)}; ${dollars(used)} of ${dollars(budget.cap.nanodollars ?? 0)} is used or reserved${kept}.`;
  }
  const used = budget.spent.tokens + budget.reserved.tokens;
  const kept = left && leave.tokens > 0 ? `, ${leave.tokens} are set aside for the handlers` : "";
  return `The next call could take ${want.tokens} tokens; ${used} of ${budget.cap.tokens ?? 0} are used or reserved${kept}.`;
}

/** A pause that is over so soon is waited for where the call stands; of a longer one the run is told, and holds no slot. */
const shortMs = 2_000;
/** So long at most in all, and so often it is looked whether a probe was answered. */
const standMs = 5_000;
const lookMs = 250;

/** Failures after which asking again, by whomever, is useless for a while. Others concern one request, or heal by themselves. */
const pausing: ReadonlySet<string> = new Set(["MODEL_RATE_LIMITED", "MODEL_QUOTA_EXHAUSTED"]);

export function rateGateOf(
  database: Database,
  { tenant, endpoint }: Omit<ModelAt, "model">,
  pauseMaxMs: number,
): RateGate {
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
          try {
            if (slot.waitMs > 0) await sleep(slot.waitMs, undefined, signal === undefined ? {} : { signal });
          } catch (error) {
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
      if (failure === null || failure.next === "fail" || failure.code === "MODEL_EMPTY_REPLY") {
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
