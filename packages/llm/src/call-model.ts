// Makes one paid model call: from the lookup of a stored reply to the booked cost.
//
// I3: a received reply is recorded under (activity, call index, request hash) before any other code uses it. The endpoint never receives a
// request with the same key again.
// A cap is never exceeded. The worst case is reserved before the request leaves. A reservation ends only in two ways. It is settled, with
// the real usage, or with the worst case if the endpoint may have billed an attempt whose usage we do not know. Or it is released, if the
// attempt certainly cost nothing: the request was never written to a connection, or it was refused.
//
// After kill -9 at each numbered line, the next attempt of the activity finds:
//   1 find     nothing happened.
//   2 take     a rate slot expires unused; when a probe's time is over, another call becomes the probe.
//   3 reserve  an open reservation. The next reserve of the same call books it as spending, because it is unknown whether the request left:
//              the budget counts at most one worst case too much. If the model answers quickly, a call may wait for its slot here.
//   4 complete like 3. The endpoint may bill the request twice. Both requests have the same idempotency key, and some endpoints honour it.
//   5 record   step 1 finds the reply; the open reservation is settled with the reply's own usage.
//   6 settle   step 1 finds the reply; settling again finds no open reservation and changes nothing. If the ledger's record also settles,
//              steps 5 and 6 are one step.
//   7 heard    like 6; other workers learn slightly later that a paused endpoint answers again.
//
// There may be two replies to the same call: the first worker lost its connection, and its reply arrived late. The first recorded reply
// then counts for both workers. Both replies were paid for, and both are booked.
//
// An empty reply is paid for, so it is recorded like any other, and it is the result of its attempt. A later attempt of the activity skips
// it and uses the next call index.
import { createHash } from "node:crypto";
import { likelyPromptTokens } from "./estimate-tokens.ts";
import { findModel, type ModelCatalogue } from "./model-catalogue.ts";
import type { ModelClient } from "./model-client.ts";
import { ModelFailure } from "./model-failure.ts";
import { charactersOf, type ModelReply, type ModelRequest, type ModelUsage } from "./model-request.ts";
import { heardSlot, type ModelSlot, noLimit } from "./model-slot.ts";
import type { Passage, RatePort } from "./rate-port.ts";
import { recordPatiently } from "./record-patiently.ts";
import { requestHash } from "./request-hash.ts";
import { type WorstCase, worstCaseOf } from "./worst-case.ts";

export interface CallKey {
  readonly activityId: string;
  readonly callIndex: number;
  readonly requestHash: string;
}

export interface Remembered {
  readonly reply: ModelReply;
  /** The attempt of the activity that received it. */
  readonly attempt: number;
}

export interface CallLedger {
  /** `record` also closes the call's open reservation, with the reply's own usage. Default: it does not. */
  readonly settles?: true;
  find(call: CallKey): Promise<Remembered | undefined>;
  /**
   * Resolves once the reply is committed. Returns the reply stored under the key: this one, or an earlier one, which a second record does
   * not change. Rejects with an error whose `transient` is true if a retry may succeed (a full disk, an unreachable database).
   */
  record(call: CallKey, remembered: Remembered): Promise<ModelReply>;
}

interface Spending {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly nanodollars: number;
  /** False when this is a worst case, counted because the endpoint may have billed it. */
  readonly certain: boolean;
}

/** The usage that an attempt adds to its run's account. */
export interface Booked {
  readonly calls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly characters: number;
  readonly nanodollars: number;
}

type ReservedLimit = "LIMIT_COST" | "LIMIT_TOKENS" | "LIMIT_CHARACTERS";

type Reserved =
  /** `left`: the reservation that a killed worker left open for the same call. It is now booked as spending. */
  | { readonly ok: true; readonly left?: Booked }
  | {
      readonly ok: false;
      /** The limit codes: the run's own cap. BATCH_BUDGET: the shared budget of many runs; this run waits for it. */
      readonly code: ReservedLimit | "BATCH_BUDGET_SPENT" | "BATCH_BUDGET_RESERVED";
      readonly message: string;
      readonly left?: Booked;
    };

/** At most one reservation is open per (activity, call index). */
export interface BudgetPort {
  /**
   * Atomic against all other workers. If a reservation for the same call is still open, a killed worker left it: it is booked as spending.
   */
  reserve(call: CallKey, worstCase: WorstCase, sent: { model: string; characters: number }): Promise<Reserved>;
  /** Closes the open reservation and adds the spending. Without an open reservation it changes nothing. */
  settle(call: CallKey, spending: Spending): Promise<void>;
  /** Closes the open reservation and adds nothing. Without an open reservation it changes nothing. */
  release(call: CallKey): Promise<void>;
}

export interface CallPorts {
  readonly client: ModelClient;
  readonly catalogue: ModelCatalogue;
  readonly ledger: CallLedger;
  readonly budget: BudgetPort;
  readonly rate: RatePort;
  /** Waits until this call is the next in the queue for a slot. Default: no limit. */
  readonly slot?: (signal: AbortSignal | undefined) => Promise<ModelSlot>;
  /** Called once per call when a paid reply could not be recorded. The reply is kept and recording is retried. */
  readonly onUnrecorded?: (error: unknown) => void;
}

export interface ModelCall {
  readonly activityId: string;
  /** The number of this attempt of the activity, from 1. */
  readonly attempt: number;
  /** From 0, in the order in which the activity makes its calls. */
  readonly callIndex: number;
  readonly request: ModelRequest;
  readonly signal?: AbortSignal;
  readonly onDelta?: (text: string) => void;
}

export type CallOutcome = {
  /** The cost, or possible cost, of this call and of a reservation that it found open; null: none. */
  readonly booked: Booked | null;
  /** The call index of the last request. */
  readonly callIndex: number;
} & (
  | {
      readonly kind: "replied";
      readonly reply: ModelReply;
      /** Together with the call index it names the reply among those of the activity. */
      readonly requestHash: string;
      /** Answered from the ledger; no request was sent. */
      readonly remembered: boolean;
    }
  | { readonly kind: "limited"; readonly code: ReservedLimit; readonly message: string }
  | { readonly kind: "failed"; readonly failure: ModelFailure }
);

/** How long a call waits when the budget is fully reserved. Running calls end soon and free their reservations. */
const reservedWaitMs = 2_000;

export async function callModel(ports: CallPorts, call: ModelCall): Promise<CallOutcome> {
  const { client, catalogue, ledger, budget, rate } = ports;
  const { request, signal, attempt } = call;
  const hash = requestHash(request);
  let key: CallKey = { activityId: call.activityId, callIndex: call.callIndex, requestHash: hash };
  let known = await ledger.find(key); // 1
  while (known !== undefined && isEmpty(known.reply, request) && known.attempt < attempt) {
    key = { ...key, callIndex: key.callIndex + 1 };
    known = await ledger.find(key);
  }
  const { callIndex } = key;
  const failed = (failure: ModelFailure, booked: Booked | null = null): CallOutcome => ({
    kind: "failed",
    failure,
    booked,
    callIndex,
  });
  if (known !== undefined) {
    await budget.settle(key, spendingOf(known.reply.usage));
    // An attempt that has ended has booked its own replies. A killed attempt is delivered again under the same number.
    const booked = known.attempt === attempt ? bookedFor(known.reply.usage) : null;
    return outcomeOf(known.reply, request, key, { remembered: true, booked });
  }

  const lookup = findModel(catalogue, request.model);
  if (!lookup.ok) return failed(new ModelFailure(lookup.code, lookup.message));
  const { model } = lookup;
  const worstCase = worstCaseOf(model, request);
  const characters = charactersOf(request.messages);

  // Before the reservation: a long wait must not reserve budget that other calls could use.
  let passage: Passage;
  let slot = noLimit;
  try {
    slot = (await ports.slot?.(signal)) ?? noLimit;
    const tokens = likelyPromptTokens(request.messages) + worstCase.completionTokens;
    passage = await rate.take(model.name, tokens, model.limits, signal); // 2
  } catch (error) {
    slot.over(false);
    if (signal?.aborted) return failed(new ModelFailure("MODEL_ABORTED", "", { billed: "no" }));
    throw error;
  }
  if (passage.kind === "paused") {
    slot.over(false);
    const { reason, forMs } = passage;
    const told = `${reason} (model ${model.name} at ${client.endpoint})`;
    return failed(new ModelFailure("MODEL_PAUSED", told, { retryAfterMs: forMs, reason }));
  }

  let reply: ModelReply | null = null;
  let left = false;
  const leaving = heardSlot(slot, {
    begun() {
      left = true;
    },
  });
  let heard = false;
  const hear = async (failure: ModelFailure | null) => {
    heard = true;
    await rate.heard(model.name, passage, failure);
  };
  try {
    let lost: Booked | null;
    try {
      const reserved = await budget.reserve(key, worstCase, { model: model.name, characters }); // 3
      lost = reserved.left ?? null;
      if (!reserved.ok) {
        await hear(new ModelFailure("MODEL_ABORTED", ""));
        const { code, message } = reserved;
        if (code === "BATCH_BUDGET_SPENT") return failed(new ModelFailure(code, message), lost);
        if (code === "BATCH_BUDGET_RESERVED") {
          return failed(new ModelFailure(code, message, { retryAfterMs: reservedWaitMs }), lost);
        }
        return { kind: "limited", code, message, booked: lost, callIndex };
      }

      try {
        reply = await client.complete(request, {
          idempotencyKey: idempotencyKeyOf(key),
          slot: leaving,
          ...(signal === undefined ? {} : { signal }),
          ...(call.onDelta === undefined ? {} : { onDelta: call.onDelta }),
        }); // 4
      } catch (error) {
        // Recording the failure needs no slot.
        slot.over(false);
        // An error of our own code before the request has its slot means that nothing was sent.
        const free = error instanceof ModelFailure ? error.billed === "no" : !left;
        const spent = error instanceof ModelFailure ? error.spent : undefined;
        if (free) await budget.release(key);
        else await budget.settle(key, spent === undefined ? { ...worstCase, certain: false } : spendingOf(spent));
        if (!(error instanceof ModelFailure)) throw error;
        await hear(error);
        const booked = spent === undefined ? { calls: 1, ...worstCase, characters } : bookedFor(spent);
        return failed(error, together(lost, free ? null : booked));
      }
    } finally {
      slot.over(reply !== null);
    }

    const replied = reply;
    const recording = { signal, tell: ports.onUnrecorded };
    const standing = await recordPatiently(() => ledger.record(key, { reply: replied, attempt }), recording); // 5
    if (ledger.settles !== true) await budget.settle(key, spendingOf(reply.usage)); // 6
    await hear(null); // 7
    const booked = together(lost, bookedFor(reply.usage));
    return outcomeOf(standing, request, key, { remembered: false, booked });
  } catch (error) {
    // Calls that wait for a probe must learn that this probe has ended.
    if (!heard) await hear(reply === null ? new ModelFailure("MODEL_ABORTED", "") : null).catch(() => undefined);
    throw error;
  }
}

/** A refusal is paid for like an answer, so it is recorded like one; only its outcome differs. The same holds for an empty reply. */
function outcomeOf(
  reply: ModelReply,
  request: ModelRequest,
  { callIndex, requestHash: hash }: CallKey,
  how: { readonly remembered: boolean; readonly booked: Booked | null },
): CallOutcome {
  const { booked } = how;
  if (reply.finishReason === "refused") {
    const word = reply.ending === undefined ? "" : `Its finish_reason is "${reply.ending.slice(0, 100)}". `;
    const failure = new ModelFailure("MODEL_REFUSED", `${word}${reply.text.slice(0, 500)}`.trim());
    return { kind: "failed", failure, booked, callIndex };
  }
  if (isEmpty(reply, request)) {
    return { kind: "failed", failure: new ModelFailure("MODEL_EMPTY_REPLY", whatCame(reply)), booked, callIndex };
  }
  return { kind: "replied", reply, callIndex, requestHash: hash, ...how };
}

function asksForTools({ toolCalls }: ModelReply, { tools }: ModelRequest): boolean {
  return tools !== undefined && (toolCalls?.length ?? 0) > 0;
}

/** White space and invisible characters do not count as text. */
function isEmpty(reply: ModelReply, request: ModelRequest): boolean {
  if (reply.finishReason === "refused" || asksForTools(reply, request)) return false;
  return /^[\s\p{C}\p{Default_Ignorable_Code_Point}]*$/u.test(reply.text);
}

function whatCame({ reasoning, toolCalls, finishReason, usage }: ModelReply): string {
  const only =
    reasoning !== undefined ? "only reasoning" : toolCalls ? "only calls of tools it was not given" : "no text";
  const cut = finishReason === "length" ? `, and was cut at ${usage.completionTokens} output tokens` : "";
  return `It held ${only}${cut}.`;
}

function bookedFor({ promptTokens, completionTokens, characters, nanodollars }: ModelUsage): Booked {
  return { calls: 1, promptTokens, completionTokens, characters, nanodollars };
}

export function together(one: Booked | null, other: Booked | null): Booked | null {
  if (one === null || other === null) return one ?? other;
  return {
    calls: one.calls + other.calls,
    promptTokens: one.promptTokens + other.promptTokens,
    completionTokens: one.completionTokens + other.completionTokens,
    characters: one.characters + other.characters,
    nanodollars: one.nanodollars + other.nanodollars,
  };
}

function spendingOf({ promptTokens, completionTokens, nanodollars, estimated }: ModelUsage): Spending {
  return { promptTokens, completionTokens, nanodollars, certain: !estimated };
}

function idempotencyKeyOf(key: CallKey): string {
  return createHash("sha256")
    .update(JSON.stringify([key.activityId, key.callIndex, key.requestHash]))
    .digest("hex");
}
