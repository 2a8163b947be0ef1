// One paid call, from the memo to the settled bill.
//
// I3: a reply that reached us is recorded under (activity, call index, request hash) before anyone sees it; the same key never
// reaches the endpoint again.
// A cap is never passed: the worst case is reserved before the request leaves, and a reservation ends only by being settled
// (with the real usage, or with the worst case when the endpoint may have billed an attempt we saw no usage of) or released
// (when it surely billed nothing: a request that was never written to a connection, or was refused).
//
// kill -9 after each numbered line, and what the next attempt of the activity finds:
//   1 find     nothing happened.
//   2 take     a rate slot passes unused; a probe is given to another when its time is over.
//   3 reserve  an open reservation. The next reserve of the same call turns it into spending, because from here on nobody can
//              tell whether the request left: the budget errs to the careful side by one worst case. A call may wait for its slot here,
//              where models answer within a moment.
//   4 complete as 3; the endpoint may bill the request twice (it gets the same idempotency key, which some honour).
//   5 record   the reply is found by 1; the reservation still open is settled with the reply's own usage.
//   6 settle   the reply is found by 1; settling again finds no open reservation and changes nothing. A ledger whose record settles
//              makes 5 and 6 one act.
//   7 heard    as 6; others learn a little later that a paused endpoint answers again.
//
// Of two replies to the same call (its first holder lost its connection, and its reply came late) the first that is recorded counts for
// both. Each of them was paid, and is booked.
//
// An empty reply is paid for, so it is recorded like any other, and is what became of the attempt that got it. A later attempt of the
// activity passes over it and asks under the next call index.
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
  /** The attempt of the activity that got it. */
  readonly attempt: number;
}

export interface CallLedger {
  /** A record closes the call's open reservation too, with the reply's own usage. Absent: it does not. */
  readonly settles?: true;
  find(call: CallKey): Promise<Remembered | undefined>;
  /**
   * Resolves once the reply is committed, with the reply that stands under the key: this one, or an earlier one, which a second record does
   * not change. Rejects with an error whose `transient` is true where it may succeed later (a full disk, a database that is away).
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

/** What an attempt adds to the account of its run. */
export interface Booked {
  readonly calls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly characters: number;
  readonly nanodollars: number;
}

type ReservedLimit = "LIMIT_COST" | "LIMIT_TOKENS" | "LIMIT_CHARACTERS";

type Reserved =
  /** `left`: what a killed worker had open for the same call, now spending. */
  | { readonly ok: true; readonly left?: Booked }
  | {
      readonly ok: false;
      /** LIMIT: the run's own cap. BATCH_BUDGET: that of many runs, for which this one waits. */
      readonly code: ReservedLimit | "BATCH_BUDGET_SPENT" | "BATCH_BUDGET_RESERVED";
      readonly message: string;
      readonly left?: Booked;
    };

/** At most one reservation is open per (activity, call index). */
export interface BudgetPort {
  /** Atomic against all other workers. One still open for the same call was left by a killed worker: it becomes spending. */
  reserve(call: CallKey, worstCase: WorstCase, sent: { model: string; characters: number }): Promise<Reserved>;
  /** Closes the open reservation and adds the spending; none open: changes nothing. */
  settle(call: CallKey, spending: Spending): Promise<void>;
  /** Closes the open reservation and adds nothing; none open: changes nothing. */
  release(call: CallKey): Promise<void>;
}

export interface CallPorts {
  readonly client: ModelClient;
  readonly catalogue: ModelCatalogue;
  readonly ledger: CallLedger;
  readonly budget: BudgetPort;
  readonly rate: RatePort;
  /** Waits until a call comes next among those that want to ask. Absent: there is no limit. */
  readonly slot?: (signal: AbortSignal | undefined) => Promise<ModelSlot>;
  /** A reply that is paid for could not be recorded, told once per call; it is held and tried again. */
  readonly onUnrecorded?: (error: unknown) => void;
}

export interface ModelCall {
  readonly activityId: string;
  /** From 1: which try of the activity this is. */
  readonly attempt: number;
  /** From 0, in the order the activity makes its calls. */
  readonly callIndex: number;
  readonly request: ModelRequest;
  readonly signal?: AbortSignal;
  readonly onDelta?: (text: string) => void;
}

export type CallOutcome = {
  /** What this call, and what it found left over, cost or may have cost; null: nothing. */
  readonly booked: Booked | null;
  /** Under which the last question was asked. */
  readonly callIndex: number;
} & (
  | {
      readonly kind: "replied";
      readonly reply: ModelReply;
      /** With the call index it names the reply among those of the activity. */
      readonly requestHash: string;
      /** Answered from the ledger; nothing was sent. */
      readonly remembered: boolean;
    }
  | { readonly kind: "limited"; readonly code: ReservedLimit; readonly message: string }
  | { readonly kind: "failed"; readonly failure: ModelFailure }
);

/** Calls under way end, and with them what they reserve. */
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
    // An attempt that has ended has booked its own replies; one that was killed is delivered again under its number.
    const booked = known.attempt === attempt ? bookedFor(known.reply.usage) : null;
    return outcomeOf(known.reply, request, key, { remembered: true, booked });
  }

  const lookup = findModel(catalogue, request.model);
  if (!lookup.ok) return failed(new ModelFailure(lookup.code, lookup.message));
  const { model } = lookup;
  const worstCase = worstCaseOf(model, request);
  const characters = charactersOf(request.messages);

  // Before the reservation: waiting for long must not hold budget that others could use.
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
        // What is left to write down needs no slot.
        slot.over(false);
        // A defect of ours before the request has its slot sends nothing.
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
    // Whoever waits for a probe must learn that nobody probes any more.
    if (!heard) await hear(reply === null ? new ModelFailure("MODEL_ABORTED", "") : null).catch(() => undefined);
    throw error;
  }
}

/** A refusal is paid for like an answer, so it is recorded like one; only its outcome differs. So is an empty reply. */
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

/** White space, and characters that only steer how text is shown, say nothing. */
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
