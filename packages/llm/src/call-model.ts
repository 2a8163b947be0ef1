// One paid call, from the memo to the settled bill.
//
// I3: a reply that reached us is recorded under (activity, call index, request hash) before anyone sees it; the same key never
// reaches the endpoint again.
// A cap is never passed: the worst case is reserved before the request leaves, and a reservation ends only by being settled
// (with the real usage, or with the worst case when the endpoint may have billed an attempt we saw no usage of) or released
// (when it surely billed nothing).
//
// kill -9 after each numbered line, and what the next attempt of the activity finds:
//   1 find     nothing happened.
//   2 take     a rate slot passes unused.
//   3 reserve  an open reservation. The next reserve of the same call turns it into spending, because from here on nobody can
//              tell whether the request left: the budget errs to the careful side by one worst case.
//   4 complete as 3; the endpoint may bill the request twice (it gets the same idempotency key, which some honour).
//   5 record   the reply is found by 1; the reservation still open is settled with the reply's own usage.
//   6 settle   the reply is found by 1; settling again finds no open reservation and changes nothing.
import { createHash } from "node:crypto";
import { likelyPromptTokens } from "./estimate-tokens.ts";
import { findModel, type ModelCatalogue } from "./model-catalogue.ts";
import type { ModelClient } from "./model-client.ts";
import { ModelFailure } from "./model-failure.ts";
import type { ModelReply, ModelRequest } from "./model-request.ts";
import type { RateGate } from "./rate-gate.ts";
import { recordPatiently } from "./record-patiently.ts";
import { requestHash } from "./request-hash.ts";
import { readStructuredReply, type StructuredReply, schemaProblem } from "./structured-reply.ts";
import { type WorstCase, worstCaseOf } from "./worst-case.ts";

export interface CallKey {
  readonly activityId: string;
  readonly callIndex: number;
  readonly requestHash: string;
}

export interface CallLedger {
  find(call: CallKey): Promise<ModelReply | undefined>;
  /**
   * Resolves once the reply is committed. A second record of the same key changes nothing. Rejects with an error whose `transient`
   * is true where it may succeed later (a full disk, a database that is away).
   */
  record(call: CallKey, reply: ModelReply): Promise<void>;
}

export interface Spending {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly nanodollars: number;
  /** False when this is a worst case, counted because the endpoint may have billed it. */
  readonly certain: boolean;
}

export type Reserved =
  | { readonly ok: true }
  | { readonly ok: false; readonly code: "LIMIT_COST" | "LIMIT_TOKENS"; readonly message: string };

/** At most one reservation is open per (activity, call index). */
export interface BudgetGate {
  /** Atomic against all other workers. One still open for the same call was left by a killed worker: it becomes spending. */
  reserve(call: CallKey, worstCase: WorstCase): Promise<Reserved>;
  /** Closes the open reservation and adds the spending; none open: changes nothing. */
  settle(call: CallKey, spending: Spending): Promise<void>;
  /** Closes the open reservation and adds nothing; none open: changes nothing. */
  release(call: CallKey): Promise<void>;
}

export interface CallPorts {
  readonly client: ModelClient;
  readonly catalogue: ModelCatalogue;
  readonly ledger: CallLedger;
  readonly budget: BudgetGate;
  readonly gate: RateGate;
  /** A reply that is paid for could not be recorded, told once per call; it is held and tried again. */
  readonly onUnrecorded?: (error: unknown) => void;
}

export interface ModelCall {
  readonly activityId: string;
  /** From 0, in the order the activity makes its calls. */
  readonly callIndex: number;
  readonly request: ModelRequest;
  readonly signal?: AbortSignal;
  readonly onDelta?: (text: string) => void;
}

export type CallOutcome =
  | {
      readonly kind: "replied";
      readonly reply: ModelReply;
      /** Answered from the ledger; nothing was sent. */
      readonly remembered: boolean;
      /** Present when the request has a schema; asking once more after a finding is the caller's decision (call index + 1). */
      readonly structured?: StructuredReply;
    }
  | { readonly kind: "limited"; readonly code: "LIMIT_COST" | "LIMIT_TOKENS"; readonly message: string }
  | { readonly kind: "failed"; readonly failure: ModelFailure };

export async function callModel(ports: CallPorts, call: ModelCall): Promise<CallOutcome> {
  const { client, catalogue, ledger, budget, gate } = ports;
  const { request, signal } = call;
  const key = { activityId: call.activityId, callIndex: call.callIndex, requestHash: requestHash(request) };

  const known = await ledger.find(key); // 1
  if (known !== undefined) {
    await budget.settle(key, spendingOf(known));
    return outcomeOf(known, request, true);
  }

  const lookup = findModel(catalogue, request.model);
  if (!lookup.ok) return failed(new ModelFailure(lookup.code, lookup.message));
  const { model } = lookup;
  const problem = request.schema === undefined ? undefined : schemaProblem(request.schema.schema);
  if (problem !== undefined) return failed(new ModelFailure("MODEL_SCHEMA_UNUSABLE", problem));
  const worstCase = worstCaseOf(model, request);

  // Before the reservation: waiting here must not hold budget that others could use.
  try {
    await gate.take(
      model.name,
      likelyPromptTokens(request.messages) + worstCase.completionTokens,
      model.limits,
      signal,
    ); // 2
  } catch (error) {
    if (signal?.aborted) return failed(new ModelFailure("MODEL_ABORTED", "", { billed: "no" }));
    throw error;
  }

  const reserved = await budget.reserve(key, worstCase); // 3
  if (!reserved.ok) return { kind: "limited", code: reserved.code, message: reserved.message };

  let reply: ModelReply;
  try {
    reply = await client.complete(request, {
      idempotencyKey: idempotencyKeyOf(key),
      ...(signal === undefined ? {} : { signal }),
      ...(call.onDelta === undefined ? {} : { onDelta: call.onDelta }),
    }); // 4
  } catch (error) {
    if (error instanceof ModelFailure && error.billed === "no") await budget.release(key);
    else await budget.settle(key, { ...worstCase, certain: false });
    if (error instanceof ModelFailure) return failed(error);
    throw error;
  }

  await recordPatiently(() => ledger.record(key, reply), { signal, tell: ports.onUnrecorded }); // 5
  await budget.settle(key, spendingOf(reply)); // 6
  return outcomeOf(reply, request, false);
}

/** A refusal is paid for like an answer, so it is recorded like one; only its outcome differs. */
function outcomeOf(reply: ModelReply, request: ModelRequest, remembered: boolean): CallOutcome {
  if (reply.finishReason === "refused") return failed(new ModelFailure("MODEL_REFUSED", reply.text.slice(0, 500)));
  const { schema } = request;
  return {
    kind: "replied",
    reply,
    remembered,
    ...(schema === undefined ? {} : { structured: readStructuredReply(reply.text, schema.schema) }),
  };
}

function spendingOf({ usage }: ModelReply): Spending {
  const { promptTokens, completionTokens, nanodollars } = usage;
  return { promptTokens, completionTokens, nanodollars, certain: !usage.estimated };
}

function failed(failure: ModelFailure): CallOutcome {
  return { kind: "failed", failure };
}

function idempotencyKeyOf(key: CallKey): string {
  return createHash("sha256")
    .update(JSON.stringify([key.activityId, key.callIndex, key.requestHash]))
    .digest("hex");
}
