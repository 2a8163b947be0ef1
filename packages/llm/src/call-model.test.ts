import { afterEach, describe, expect, it } from "vitest";
import {
  type BudgetPort,
  type CallKey,
  type CallLedger,
  type CallPorts,
  callModel,
  type ModelCall,
  type Remembered,
} from "./call-model.ts";
import { formatFinding } from "./finding.ts";
import { builtInCatalogue, findModel } from "./model-catalogue.ts";
import { createModelClient } from "./model-client.ts";
import type { ModelReply, ModelRequest } from "./model-request.ts";
import { noLimit } from "./model-slot.ts";
import type { Passage, RatePort } from "./rate-port.ts";
import { parseScript } from "./script.ts";
import { type ScriptedModel, startScriptedModel } from "./scripted-server.ts";
import { worstCaseOf } from "./worst-case.ts";

const open: ScriptedModel[] = [];
afterEach(async () => {
  for (const model of open.splice(0)) await model.close();
});

/** The contract of the ports, implemented in memory. The implementation in Postgres has its own tests. */
function memoryBudget(cap: number): BudgetPort & { spent(): number; reserved(): number; uncertain(): number } {
  const openReservations = new Map<string, number>();
  let spent = 0;
  let uncertain = 0;
  const slot = (call: CallKey) => `${call.activityId}.${call.callIndex}`;
  const reserved = () => [...openReservations.values()].reduce((sum, amount) => sum + amount, 0);
  const charge = (amount: number, certain: boolean) => {
    spent += amount;
    if (!certain) uncertain += amount;
  };
  return {
    spent: () => spent,
    uncertain: () => uncertain,
    reserved,
    async reserve(call, worstCase) {
      charge(openReservations.get(slot(call)) ?? 0, false);
      openReservations.delete(slot(call));
      if (spent + reserved() + worstCase.nanodollars > cap)
        return { ok: false, code: "LIMIT_COST", message: "over the cap" };
      openReservations.set(slot(call), worstCase.nanodollars);
      return { ok: true };
    },
    async settle(call, spending) {
      if (openReservations.delete(slot(call))) charge(spending.nanodollars, spending.certain);
    },
    async release(call) {
      openReservations.delete(slot(call));
    },
  };
}

function memoryLedger(): CallLedger & { size(): number } {
  const replies = new Map<string, string>();
  const id = (call: CallKey) => JSON.stringify([call.activityId, call.callIndex, call.requestHash]);
  return {
    size: () => replies.size,
    async find(call) {
      const found = replies.get(id(call));
      return found === undefined ? undefined : (JSON.parse(found) as Remembered);
    },
    async record(call, remembered) {
      if (!replies.has(id(call))) replies.set(id(call), JSON.stringify(remembered));
      return (JSON.parse(replies.get(id(call)) ?? "") as Remembered).reply;
    },
  };
}

const request: ModelRequest = { model: "scripted", messages: [{ role: "user", content: "Mark this." }], settings: {} };
const call: ModelCall = { activityId: "mark.1.1", attempt: 1, callIndex: 0, request };
const go: Passage = { kind: "go", probe: null };
const openRate: RatePort = { take: async () => go, heard: async () => undefined };
const worst = (() => {
  const lookup = findModel(builtInCatalogue, "scripted");
  if (!lookup.ok) throw new Error(lookup.message);
  return worstCaseOf(lookup.model, request).nanodollars;
})();

async function start(yaml: string, cap = 1e9) {
  const reading = parseScript(yaml, "script.yaml");
  if (!reading.ok) throw new Error(reading.findings.map(formatFinding).join("\n"));
  const model = await startScriptedModel({ script: reading.script });
  open.push(model);
  const budget = memoryBudget(cap);
  const ledger = memoryLedger();
  const client = createModelClient({ baseUrl: model.url, catalogue: builtInCatalogue, timeoutMs: 5_000 });
  const ports: CallPorts = { client, catalogue: builtInCatalogue, ledger, budget, rate: openRate };
  return { model, budget, ledger, ports };
}

class Killed extends Error {}
const kill = async (): Promise<never> => {
  throw new Killed();
};

const answering = "default: { reply: Points 7, usage: { prompt: 10, completion: 5 } }";
const price = 10 * 1_000 + 5 * 2_000;

describe("a paid model call", () => {
  it("records the reply, settles its real price and returns it", async () => {
    const { ports, budget, ledger } = await start(answering);
    const outcome = await callModel(ports, call);
    expect(outcome).toMatchObject({ kind: "replied", remembered: false, reply: { text: "Points 7" } });
    expect([ledger.size(), budget.spent(), budget.reserved()]).toEqual([1, price, 0]);
  });

  it("queues for a slot before it reserves, uses the slot for the request, and always releases both", async () => {
    const cases: [string, (ports: CallPorts) => CallPorts][] = [
      [answering, (ports) => ports],
      ["default: { fault: { status: 429, retryAfter: 2 } }", (ports) => ports],
      [answering, (ports) => ({ ...ports, rate: { ...openRate, take: kill } })],
      [answering, (ports) => ({ ...ports, budget: { ...ports.budget, reserve: kill } })],
      [
        answering,
        (ports) => ({
          ...ports,
          rate: { ...openRate, take: async () => ({ kind: "paused", reason: "busy", forMs: 1_000 }) },
        }),
      ],
      [answering, (ports) => ({ ...ports, budget: memoryBudget(0) })],
    ];
    for (const [script, changed] of cases) {
      const { ports } = await start(script);
      const saw: string[] = [];
      const slot = async () => {
        saw.push("taken");
        return { ...noLimit, begin: async () => void saw.push("begin"), over: () => void saw.push("back") };
      };
      const telling: CallPorts = changed({
        ...ports,
        slot,
        budget: {
          ...ports.budget,
          reserve(...asked) {
            saw.push("reserve");
            return ports.budget.reserve(...asked);
          },
        },
        ledger: {
          ...ports.ledger,
          record(...told) {
            saw.push("record");
            return ports.ledger.record(...told);
          },
        },
      });
      await callModel(telling, call).catch((error: unknown) => expect(error).toBeInstanceOf(Killed));
      expect(saw[0]).toBe("taken");
      expect(saw).toContain("back");
      // The slot's functions may be called twice, so each is listed only once.
      const order = [...new Set(saw)];
      if (saw.includes("record")) expect(order.slice(0, 5)).toEqual(["taken", "reserve", "begin", "back", "record"]);
    }
  });

  it("sends no request when the ledger has the reply or its wait for a slot is aborted", async () => {
    const { ports, model } = await start(answering);
    await callModel(ports, call);
    expect(await callModel({ ...ports, slot: kill }, call)).toMatchObject({ kind: "replied", remembered: true });
    const controller = new AbortController();
    const slot = async (): Promise<never> => {
      controller.abort(new Error("drained"));
      throw new Error("drained");
    };
    const other = { ...call, activityId: "mark.2.1", signal: controller.signal };
    expect(await callModel({ ...ports, slot }, other)).toMatchObject({
      kind: "failed",
      booked: null,
      failure: { code: "MODEL_ABORTED" },
    });
    expect(model.requests()).toHaveLength(1);
  });

  it("sends no request and releases its reservation when it is aborted while it waits", async () => {
    const { ports, model, budget } = await start(answering);
    const controller = new AbortController();
    let over = false;
    const slot = async () => ({
      ...noLimit,
      begin: async (): Promise<never> => {
        expect(budget.reserved()).toBeGreaterThan(0);
        controller.abort(new Error("drained"));
        throw new Error("drained");
      },
      over: () => {
        over = true;
      },
    });
    expect(await callModel({ ...ports, slot }, { ...call, signal: controller.signal })).toMatchObject({
      kind: "failed",
      booked: null,
      failure: { code: "MODEL_ABORTED" },
    });
    expect([model.requests().length, budget.reserved(), budget.spent(), over]).toEqual([0, 0, 0, true]);
  });

  it("does not settle again if the ledger settles with the record", async () => {
    const { ports, budget } = await start(answering);
    const ledger: CallLedger = { ...ports.ledger, settles: true };
    const settled: CallKey[] = [];
    const counting: BudgetPort = { ...budget, settle: async (key) => void settled.push(key) };
    expect(await callModel({ ...ports, ledger, budget: counting }, call)).toMatchObject({ kind: "replied" });
    expect(settled).toHaveLength(0);
    expect(await callModel({ ...ports, ledger, budget: counting }, call)).toMatchObject({ remembered: true });
    expect(settled).toHaveLength(1);
  });

  it("is never paid twice: the same call gets its reply from the ledger", async () => {
    const { ports, budget, model } = await start(answering);
    const first = await callModel(ports, call);
    const again = await callModel(ports, call);
    expect(again).toEqual({ ...first, remembered: true });
    expect([model.requests().length, budget.spent()]).toEqual([1, price]);
  });

  it("is booked by the attempt that got the reply, and by no later attempt", async () => {
    const { ports, budget } = await start(answering);
    const first = await callModel(ports, call);
    const killed = await callModel(ports, call);
    expect([first.booked?.nanodollars, killed.booked?.nanodollars]).toEqual([price, price]);
    for (const attempt of [2, 3])
      expect(await callModel(ports, { ...call, attempt })).toMatchObject({ kind: "replied", booked: null });
    expect(budget.spent()).toBe(price);
  });

  it("with another index or request is another call", async () => {
    const { ports, model } = await start(answering);
    await callModel(ports, call);
    await callModel(ports, { ...call, callIndex: 1 });
    await callModel(ports, { ...call, request: { ...request, settings: { temperature: 0 } } });
    expect(model.requests()).toHaveLength(3);
    expect(new Set(model.requests().map(({ idempotencyKey }) => idempotencyKey)).size).toBe(3);
  });

  it("is not sent when its worst case exceeds the budget", async () => {
    const { ports, model, budget } = await start(answering, worst - 1);
    expect(await callModel(ports, call)).toMatchObject({ kind: "limited", code: "LIMIT_COST" });
    expect([model.requests().length, budget.spent(), budget.reserved()]).toEqual([0, 0, 0]);
  });

  it("keeps fifty parallel callers together under the cap", async () => {
    const cap = worst * 3;
    const { ports, model, budget } = await start(
      "default: { reply: x, delay: 20ms, usage: { prompt: 10, completion: 2000 } }",
      cap,
    );
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, index) => callModel(ports, { ...call, activityId: `mark.${index}.1` })),
    );
    const replied = outcomes.filter(({ kind }) => kind === "replied").length;
    expect(replied).toBe(3);
    expect(model.requests()).toHaveLength(3);
    expect(budget.spent()).toBeLessThanOrEqual(cap);
    expect(budget.reserved()).toBe(0);
  });

  it("releases its reservation if it certainly cost nothing", async () => {
    const { ports, budget, ledger } = await start("default: { fault: { status: 429, retryAfter: 2 } }");
    expect(await callModel(ports, call)).toMatchObject({
      kind: "failed",
      failure: { code: "MODEL_RATE_LIMITED", next: "park", retryAfterMs: 2_000 },
    });
    expect([ledger.size(), budget.spent(), budget.reserved()]).toEqual([0, 0, 0]);
  });

  it("counts its worst case as uncertain spending if it may have been billed", async () => {
    const { ports, budget } = await start("default: { reply: half a reply, fault: { cut: 4 } }");
    expect(await callModel(ports, call)).toMatchObject({ kind: "failed", failure: { code: "MODEL_CONNECTION_CUT" } });
    expect([budget.spent(), budget.uncertain(), budget.reserved()]).toEqual([worst, worst, 0]);
  });

  it.each([
    ["before it left, gives its reservation back", false, [0, 0, 0]],
    ["after it left, counts as its worst case", true, [worst, worst, 0]],
  ])("that an error of our own code ended %s", async (_, left, booked) => {
    const { ports, budget } = await start(answering);
    const client: CallPorts["client"] = {
      endpoint: "broken",
      async complete(_request, { slot } = {}) {
        if (left) await slot?.begin();
        throw new RangeError("ours");
      },
    };
    await expect(callModel({ ...ports, client }, call)).rejects.toThrow("ours");
    expect([budget.spent(), budget.uncertain(), budget.reserved()]).toEqual(booked);
  });

  it("that the model refused is paid once, recorded, and refused again from the ledger", async () => {
    const { ports, budget, model } = await start(
      "default: { reply: '', finish: content_filter, usage: { prompt: 10, completion: 5 } }",
    );
    const first = await callModel(ports, call);
    expect(first).toMatchObject({ kind: "failed", failure: { code: "MODEL_REFUSED", next: "fail" } });
    expect(await callModel(ports, call)).toMatchObject({ kind: "failed", failure: { code: "MODEL_REFUSED" } });
    expect([model.requests().length, budget.spent()]).toEqual([1, price]);
  });

  it("that is aborted while it waits for its rate slot reserves and sends nothing", async () => {
    const { ports, model, budget } = await start(answering);
    const stop = new AbortController();
    const never: CallPorts["rate"] = {
      ...openRate,
      take: (_model, _tokens, _limits, signal) =>
        new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason))),
    };
    const waiting = callModel({ ...ports, rate: never }, { ...call, signal: stop.signal });
    await new Promise((resolve) => setTimeout(resolve, 10));
    stop.abort();
    expect(await waiting).toMatchObject({ kind: "failed", failure: { code: "MODEL_ABORTED", billed: "no" } });
    expect([model.requests().length, budget.spent(), budget.reserved()]).toEqual([0, 0, 0]);
  });

  it("passes on the pieces of its reply", async () => {
    const { ports } = await start("default: { reply: a remark that is long enough for two pieces }");
    const pieces: string[] = [];
    await callModel(ports, { ...call, onDelta: (piece) => pieces.push(piece) });
    expect(pieces.join("")).toBe("a remark that is long enough for two pieces");
  });
});

describe("a model request with a schema", () => {
  it("sends the schema and returns the reply unchecked, for the caller to check", async () => {
    const { ports, model } = await start(`default: { verbatim: true, reply: '{"points": "7"}' }`);
    const schema = { name: "grade", schema: { type: "object", properties: { points: { type: "integer" } } } };
    const outcome = await callModel(ports, { ...call, request: { ...request, schema } });
    expect(outcome).toMatchObject({ kind: "replied", reply: { text: '{"points": "7"}' } });
    expect(model.requests()[0]?.body).toMatchObject({
      response_format: { type: "json_schema", json_schema: schema },
    });
  });
});

describe("the next attempt after a worker was killed in the middle of a call", () => {
  it("after the reservation: counts the reservation as spent and makes the call", async () => {
    const { ports, budget, model } = await start(answering);
    await budget.reserve(
      { activityId: call.activityId, callIndex: 0, requestHash: "of the killed attempt" },
      {
        promptTokens: 0,
        completionTokens: 0,
        nanodollars: worst,
      },
      { model: "scripted", characters: 0 },
    );
    expect(await callModel(ports, call)).toMatchObject({ kind: "replied" });
    expect([budget.spent(), budget.uncertain(), budget.reserved()]).toEqual([worst + price, worst, 0]);
    expect(model.requests()).toHaveLength(1);
  });

  it("after the record: finds the reply and settles the open reservation with its price", async () => {
    const { ports, budget, model } = await start(answering);
    const dying = { ...ports, budget: { ...budget, settle: kill } };
    await expect(callModel(dying, call)).rejects.toThrow(Killed);
    expect(budget.reserved()).toBe(worst);
    expect(await callModel(ports, call)).toMatchObject({ kind: "replied", remembered: true });
    expect([budget.spent(), budget.reserved(), model.requests().length]).toEqual([price, 0, 1]);
  });

  it("never returns a reply that is not recorded", async () => {
    const { ports, ledger } = await start(answering);
    // The signal has fired, so recording is tried only once. The client and the rate port do not receive the signal.
    const stop = new AbortController();
    stop.abort();
    const seen = callModel(
      {
        ...ports,
        client: { ...ports.client, complete: (asked) => ports.client.complete(asked) },
        ledger: { ...ledger, record: kill },
        rate: openRate,
      },
      { ...call, signal: stop.signal },
    );
    await expect(seen).rejects.toThrow(Killed);
  });

  it("does not lose the reply when the ledger is unreachable for a moment", async () => {
    const { ports, ledger, model } = await start(answering);
    let refusals = 2;
    const flaky: CallLedger = {
      ...ledger,
      async record(key, reply) {
        refusals -= 1;
        if (refusals >= 0) throw new Error("connection terminated");
        return await ledger.record(key, reply);
      },
    };
    const told: unknown[] = [];
    const telling = { ...ports, ledger: flaky, onUnrecorded: (error: unknown) => told.push(error) };
    expect(await callModel(telling, call)).toMatchObject({ kind: "replied" });
    expect([ledger.size(), model.requests().length]).toEqual([1, 1]);
    expect(told).toEqual([new Error("connection terminated")]);
  });
});

it("of two replies to one call the first recorded one counts for both, and both are booked", async () => {
  const { ports, ledger } = await start(answering);
  const late: ModelReply[] = [];
  const first: CallLedger = {
    ...ledger,
    // Another worker's reply is recorded while this one's is being recorded.
    async record(key, { reply, attempt }) {
      late.push(reply);
      await ledger.record(key, { reply: { ...reply, text: "The first reply." }, attempt });
      return await ledger.record(key, { reply, attempt });
    },
  };
  const outcome = await callModel({ ...ports, ledger: first }, call);
  expect(outcome).toMatchObject({ kind: "replied", reply: { text: "The first reply." }, booked: { calls: 1 } });
  expect(late.map(({ text }) => text)).not.toContain("The first reply.");
});

describe("an empty model reply", () => {
  const emptyFirst = `
rules:
  - { when: { nth: [1, 2] }, fault: blank, usage: { prompt: 10, completion: 5 } }
default: { reply: Points 7, usage: { prompt: 10, completion: 5 } }`;

  it("is a failed attempt with a cost, and the next attempt sends a new request", async () => {
    const { ports, budget, model } = await start(emptyFirst);
    for (const attempt of [1, 2]) {
      expect(await callModel(ports, { ...call, attempt })).toMatchObject({
        kind: "failed",
        failure: { code: "MODEL_EMPTY_REPLY", next: "retry" },
        booked: { calls: 1, promptTokens: 10, completionTokens: 5, nanodollars: price },
      });
    }
    expect(await callModel(ports, { ...call, attempt: 3 })).toMatchObject({ kind: "replied", callIndex: 2 });
    expect([budget.spent(), budget.uncertain(), model.requests().length]).toEqual([3 * price, 0, 3]);
  });

  it("that was recorded before a kill is the result of its attempt", async () => {
    const { ports, model } = await start(emptyFirst);
    const dying = { ...ports, rate: { ...openRate, heard: kill } };
    await expect(callModel(dying, call)).rejects.toThrow(Killed);
    expect(await callModel(ports, call)).toMatchObject({ kind: "failed", failure: { code: "MODEL_EMPTY_REPLY" } });
    expect(model.requests()).toHaveLength(1);
  });

  it("leads to a failure that names what the reply contained", async () => {
    const { ports } = await start("default: { fault: reasoning }");
    const outcome = await callModel(ports, call);
    expect(outcome.kind === "failed" && outcome.failure.message).toContain("only reasoning");
  });
});

describe("a paused endpoint", () => {
  it("gets no request, and the failure contains the reason and the duration of the pause", async () => {
    const { ports, model, budget } = await start(answering);
    const passage: Passage = { kind: "paused", reason: "429 slow down", forMs: 9_000 };
    expect(await callModel({ ...ports, rate: { ...openRate, take: async () => passage } }, call)).toMatchObject({
      kind: "failed",
      failure: { code: "MODEL_PAUSED", next: "park", retryAfterMs: 9_000, reason: "429 slow down" },
      booked: null,
    });
    expect([model.requests().length, budget.reserved()]).toEqual([0, 0]);
  });

  it("the rate port receives the result of every call that was allowed to start", async () => {
    const { ports } = await start("rules: [{ when: { nth: 1 }, fault: 429 }]\ndefault: { reply: Yes }");
    const heard: unknown[] = [];
    const rate: RatePort = { ...openRate, heard: async (_, __, failure) => void heard.push(failure?.code ?? null) };
    await callModel({ ...ports, rate }, call);
    await callModel({ ...ports, rate }, call);
    expect(heard).toEqual(["MODEL_RATE_LIMITED", null]);
  });

  it("the rate port receives the failure once, whether the store fails before or after the call", async () => {
    const { ports, budget, ledger } = await start(answering);
    const heard: unknown[] = [];
    const rate: RatePort = { ...openRate, heard: async (_, __, failure) => void heard.push(failure?.code ?? null) };
    await expect(callModel({ ...ports, rate, budget: { ...budget, reserve: kill } }, call)).rejects.toThrow(Killed);
    const aborted = { ...call, signal: AbortSignal.timeout(500) };
    await expect(callModel({ ...ports, rate, ledger: { ...ledger, record: kill } }, aborted)).rejects.toThrow();
    expect(heard).toEqual(["MODEL_ABORTED", null]);
  });
});

it("an attempt that may have been billed is booked with its worst case", async () => {
  const { ports, budget } = await start("default: { reply: 'Points: 7', fault: { cut: 3 } }");
  const outcome = await callModel(ports, call);
  expect(outcome.booked).toMatchObject({ calls: 1, nanodollars: worst });
  expect(budget.spent()).toBe(worst);
});
