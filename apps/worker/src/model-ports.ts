/** The ports of a paid call, on the store: memo, budget and rate are rows that all workers share. */
import { setTimeout as sleep } from "node:timers/promises";
import { handlerAllowance, type Json } from "@markmill/engine";
import type { BudgetGate, CallLedger, ModelReply, RateGate } from "@markmill/llm";
import {
  type Activity,
  type Database,
  findCall,
  type LoadedRun,
  pauseRate,
  releaseReservation,
  reserve,
  saveCall,
  settleReservation,
  takeRate,
} from "@markmill/store";

/** With the activity a reply settles only what its own claim has reserved. */
export function ledgerOf(database: Database, run: LoadedRun, activity?: Activity): CallLedger {
  const claimed = activity === undefined ? {} : { claim: activity.claim };
  return {
    async find({ activityId, callIndex, requestHash }) {
      const found = await findCall(database, { activityId: Number(activityId), callIndex, requestHash });
      return found === null ? undefined : (found.reply as unknown as ModelReply);
    },
    async record({ activityId, callIndex, requestHash }, reply) {
      const { promptTokens, completionTokens, characters, nanodollars } = reply.usage;
      await saveCall(
        database,
        { id: run.id, rootId: run.rootId },
        {
          key: { activityId: Number(activityId), callIndex, requestHash, ...claimed },
          model: reply.model,
          request: null,
          reply: reply as unknown as Json,
          usage: { promptTokens, completionTokens, characters, nanodollars },
        },
      );
    },
  };
}

/** A handler's calls may go above the caps by the handler's own allowance. */
export function budgetOf(database: Database, run: LoadedRun, { work, claim }: Activity): BudgetGate {
  const handler = work.kind === "prompt" && work.budget === "handler" ? handlerAllowance(run.state.limits) : null;
  const above = { nanodollars: handler?.nanodollars ?? 0, tokens: handler?.tokens ?? 0 };
  return {
    async reserve({ activityId, callIndex }, worstCase) {
      const call = { activityId: Number(activityId), callIndex, claim };
      // One that is still open was left by a worker that died in the act: its call may have been billed.
      await settleReservation(database, call, "reserved");
      const want = {
        nanodollars: worstCase.nanodollars,
        tokens: worstCase.promptTokens + worstCase.completionTokens,
      };
      const reserved = await reserve(database, call, run.budgets, want, above);
      if (reserved.kind === "reserved") return { ok: true };
      const { budget, code } = reserved;
      return { ok: false, code, message: refusal(code, budget, want) };
    },
    async settle({ activityId, callIndex }, { nanodollars, promptTokens, completionTokens }) {
      const call = { activityId: Number(activityId), callIndex, claim };
      await settleReservation(database, call, { nanodollars, tokens: promptTokens + completionTokens });
    },
    release: ({ activityId, callIndex }) =>
      releaseReservation(database, { activityId: Number(activityId), callIndex, claim }),
  };
}

function refusal(
  code: "LIMIT_COST" | "LIMIT_TOKENS",
  budget: {
    readonly cap: { readonly nanodollars: number | null; readonly tokens: number | null };
    readonly spent: { readonly nanodollars: number; readonly tokens: number };
    readonly reserved: { readonly nanodollars: number; readonly tokens: number };
  },
  want: { readonly nanodollars: number; readonly tokens: number },
): string {
  if (code === "LIMIT_COST") {
    const dollars = (nanodollars: number) => `$${(nanodollars / 1e9).toFixed(4)}`;
    const used = budget.spent.nanodollars + budget.reserved.nanodollars;
    return `The next call could cost ${dollars(want.nanodollars)}; ${dollars(used)} of ${dollars(budget.cap.nanodollars ?? 0)} is used or reserved.`;
  }
  const used = budget.spent.tokens + budget.reserved.tokens;
  return `The next call could take ${want.tokens} tokens; ${used} of ${budget.cap.tokens ?? 0} are used or reserved.`;
}

export function rateGateOf(database: Database): RateGate {
  return {
    async take(model, tokens, limits, signal) {
      const { requestsPerMinute = null, tokensPerMinute = null } = limits;
      const ms = await takeRate(database, model, { requestsPerMinute, tokensPerMinute }, tokens);
      if (ms > 0) await sleep(ms, undefined, signal === undefined ? {} : { signal });
    },
  };
}

export function pauserOf(database: Database): (model: string, ms: number) => Promise<void> {
  return (model, ms) => pauseRate(database, model, ms);
}
