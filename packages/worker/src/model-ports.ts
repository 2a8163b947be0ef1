/**
 * The ports of a paid call, on the store: memo and budget are rows that all workers share. The third one, the rate, is in
 * pause-endpoint.ts.
 *
 * The connection to Postgres may break before the answer arrives. Then the reservation is sent again under the same claim, which changes
 * nothing if it exists (store/src/money/budgets.ts, B2). A settlement and a release are repeated, too. Otherwise the next claim would find
 * the reservation open. It would book the worst case for a request that was never sent or that surely cost nothing.
 */
import type { Aside, Json } from "@markmill/engine";
import type { BudgetPort, CallLedger, ModelReply } from "@markmill/llm";
import type { Budget } from "@markmill/store";
import {
  type Activity,
  findCall,
  type LoadedRun,
  type Machine,
  noCalls,
  pauseForBudget,
  type ReservedCode,
  releaseReservation,
  settleReservation,
} from "@markmill/store/machine";
import { awaitStore } from "./await-store.ts";

/**
 * With the activity, a reply settles only what its own claim has reserved. If the activity was never claimed before, a fresh claim does not
 * look for a stored reply. An older claim does: a process that was frozen may have lost its lease to another worker, which may have a
 * reply.
 */
export function ledgerOf({ database, saveCall }: Machine, run: LoadedRun, activity?: Activity): CallLedger {
  const claimed = activity === undefined ? {} : { claim: activity.claim };
  const began = performance.now();
  const isFresh = () => activity?.unasked === true && performance.now() - began < freshMs;
  return {
    // The statement that stores the reply settles the reservation.
    settles: true,
    async find({ activityId, callIndex, requestHash }) {
      if (isFresh()) return undefined;
      const found = await findCall(database, { activityId: Number(activityId), callIndex, requestHash });
      if (found === null) return undefined;
      return { reply: found.reply as unknown as ModelReply, attempt: found.attempt ?? 1 };
    },
    async record({ activityId, callIndex, requestHash }, { reply, attempt }) {
      const { promptTokens, completionTokens, characters, nanodollars } = reply.usage;
      const saved = await saveCall({
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
      if (saved === "stored") return reply;
      const first = await findCall(database, { activityId: Number(activityId), callIndex, requestHash });
      return first === null ? reply : (first.reply as unknown as ModelReply);
    },
  };
}

/** Far below any lease. */
const freshMs = 1_000;

/** The share that is set aside for handlers stays theirs. */
export function budgetOf({ database, reserve }: Machine, run: LoadedRun, { work, claim }: Activity): BudgetPort {
  const aside = work.kind === "prompt" || work.kind === "grade" || work.kind === "memory" ? work.aside : undefined;
  const leave = aside ?? { nanodollars: 0, tokens: 0 };
  return {
    async reserve({ activityId, callIndex }, worstCase, sent) {
      const call = { activityId: Number(activityId), callIndex, claim };
      // An open reservation was left by a worker that crashed during its call, and that call may have been billed. The first claim has no
      // earlier one.
      const { calls, ...lost } =
        claim > 1 ? await awaitStore(() => settleReservation(database, call, "reserved")) : noCalls;
      const left = calls === 0 ? {} : { left: { calls, ...lost } };
      const want = {
        nanodollars: worstCase.nanodollars,
        tokens: worstCase.promptTokens + worstCase.completionTokens,
        characters: sent.characters,
      };
      const { promptTokens, completionTokens } = worstCase;
      const charge = { runId: run.id, rootId: run.rootId, promptTokens, completionTokens, ...sent };
      const { tenant, budgets } = run;
      const reserved = await awaitStore(() => reserve({ tenant, call, budgets, want, leave, charge }));
      if (reserved.kind === "reserved") return { ok: true, ...left };
      if (reserved.kind === "missing") {
        const message = `The budget ${reserved.budget} of this run no longer exists, so no model can be called.`;
        return { ok: false, code: "LIMIT_COST", message, ...left };
      }
      const { budget, code, ofRun } = reserved;
      const message = refusal(code, budget, want, ofRun ? leave : { nanodollars: 0, tokens: 0 });
      // A limit of the run or of a caller ends the run. A budget that it shares with other runs makes it wait.
      if (ofRun) return { ok: false, code, message, ...left };
      const refused = await awaitStore(() => pauseForBudget(database, run.tenant, budget, want, message));
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
      const spent = { nanodollars, tokens, promptTokens, completionTokens, certain };
      await awaitStore(() => settleReservation(database, call, spent));
    },
    release: ({ activityId, callIndex }) =>
      awaitStore(() => releaseReservation(database, { activityId: Number(activityId), callIndex, claim })),
  };
}

function refusal(
  code: ReservedCode,
  budget: Budget,
  want: { readonly nanodollars: number; readonly tokens: number; readonly characters: number },
  leave: Aside,
): string {
  if (code === "LIMIT_CHARACTERS") {
    const { cap, spent, reserved } = budget.characters ?? { cap: 0, spent: 0, reserved: 0 };
    const kept = (leave.characters ?? 0) > 0 ? `, ${leave.characters} are reserved for the handlers` : "";
    return `The next call sends ${want.characters} characters; ${spent + reserved} of ${cap} are used or reserved${kept}.`;
  }
  if (code === "LIMIT_COST") {
    const dollars = (nanodollars: number) => `$${(nanodollars / 1e9).toFixed(4)}`;
    const used = budget.spent.nanodollars + budget.reserved.nanodollars;
    const kept = leave.nanodollars > 0 ? `, ${dollars(leave.nanodollars)} is reserved for the handlers` : "";
    return `The next call could cost ${dollars(want.nanodollars)}; ${dollars(used)} of ${dollars(budget.cap.nanodollars ?? 0)} is used or reserved${kept}.`;
  }
  const used = budget.spent.tokens + budget.reserved.tokens;
  const kept = leave.tokens > 0 ? `, ${leave.tokens} are reserved for the handlers` : "";
  return `The next call could use ${want.tokens} tokens; ${used} of ${budget.cap.tokens ?? 0} are used or reserved${kept}.`;
}
