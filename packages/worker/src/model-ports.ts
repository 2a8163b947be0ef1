/** The ports of a paid call, on the store: memo and budget are rows that all workers share. The third, the rate, is in pause-endpoint.ts. */
import type { Json } from "@markmill/engine";
import type { BudgetPort, CallLedger, ModelReply } from "@markmill/llm";
import {
  type Activity,
  findCall,
  type LoadedRun,
  type Machine,
  noCalls,
  pauseForBudget,
  releaseReservation,
  settleReservation,
} from "@markmill/store/machine";

/**
 * With the activity a reply settles only what its own claim has reserved. Where nobody has asked for it yet, a reply is not looked for while the
 * claim is fresh: a process that was frozen for longer may have lost its lease to another, who has asked.
 */
export function ledgerOf({ database, saveCall }: Machine, run: LoadedRun, activity?: Activity): CallLedger {
  const claimed = activity === undefined ? {} : { claim: activity.claim };
  const began = performance.now();
  const isFresh = () => activity?.unasked === true && performance.now() - began < freshMs;
  return {
    // By the statement that stores the reply.
    settles: true,
    async find({ activityId, callIndex, requestHash }) {
      if (isFresh()) return undefined;
      const found = await findCall(database, { activityId: Number(activityId), callIndex, requestHash });
      if (found === null) return undefined;
      return { reply: found.reply as unknown as ModelReply, attempt: found.attempt ?? 1 };
    },
    async record({ activityId, callIndex, requestHash }, { reply, attempt }) {
      const { promptTokens, completionTokens, characters, nanodollars } = reply.usage;
      await saveCall({
        run: { id: run.id, rootId: run.rootId, tenant: run.tenant },
        call: {
          key: { activityId: Number(activityId), callIndex, requestHash, ...claimed },
          attempt,
          model: reply.model,
          request: null,
          reply: reply as unknown as Json,
          usage: { promptTokens, completionTokens, characters, nanodollars },
        },
      });
    },
  };
}

/** Far below any lease. */
const freshMs = 1_000;

/** What is set aside for handlers is left to them. */
export function budgetOf({ database, reserve }: Machine, run: LoadedRun, { work, claim }: Activity): BudgetPort {
  const aside = work.kind === "prompt" || work.kind === "grade" || work.kind === "memory" ? work.aside : undefined;
  const leave = { of: run.rootId, nanodollars: aside?.nanodollars ?? 0, tokens: aside?.tokens ?? 0 };
  return {
    async reserve({ activityId, callIndex }, worstCase, sent) {
      const call = { activityId: Number(activityId), callIndex, claim };
      // One that is still open was left by a worker that died in the act: its call may have been billed. The first claim has no earlier one.
      const { calls, ...lost } = claim > 1 ? await settleReservation(database, call, "reserved") : noCalls;
      const left = calls === 0 ? {} : { left: { calls, ...lost } };
      const want = {
        nanodollars: worstCase.nanodollars,
        tokens: worstCase.promptTokens + worstCase.completionTokens,
      };
      const { promptTokens, completionTokens } = worstCase;
      const charge = { runId: run.id, rootId: run.rootId, promptTokens, completionTokens, ...sent };
      const { tenant, budgets } = run;
      const reserved = await reserve({ tenant, call, budgets, want, leave, charge });
      if (reserved.kind === "reserved") return { ok: true, ...left };
      const { budget, code } = reserved;
      const message = refusal(code, budget, want, leave);
      // A run's own cap ends it; one that it shares with others holds it.
      if (budget.id === run.rootId) return { ok: false, code, message, ...left };
      const refused = await pauseForBudget(database, run.tenant, budget, want, message);
      if (refused === "none") return { ok: false, code, message, ...left };
      return {
        ok: false,
        code: refused === "spent" ? "BATCH_BUDGET_SPENT" : "BATCH_BUDGET_RESERVED",
        message,
        ...left,
      };
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
