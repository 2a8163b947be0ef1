/** The ports of a paid call, on the store: memo, budget and rate are rows that all workers share. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Json } from "@markmill/engine";
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

/** What is set aside for handlers is left to them. */
export function budgetOf(database: Database, run: LoadedRun, { work, claim }: Activity): BudgetGate {
  const aside = work.kind === "prompt" ? work.aside : undefined;
  const leave = { of: run.rootId, nanodollars: aside?.nanodollars ?? 0, tokens: aside?.tokens ?? 0 };
  return {
    async reserve({ activityId, callIndex }, worstCase) {
      const call = { activityId: Number(activityId), callIndex, claim };
      // One that is still open was left by a worker that died in the act: its call may have been billed.
      await settleReservation(database, call, "reserved");
      const want = {
        nanodollars: worstCase.nanodollars,
        tokens: worstCase.promptTokens + worstCase.completionTokens,
      };
      const reserved = await reserve(database, call, run.budgets, want, leave);
      if (reserved.kind === "reserved") return { ok: true };
      const { budget, code } = reserved;
      return { ok: false, code, message: refusal(code, budget, want, leave) };
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
