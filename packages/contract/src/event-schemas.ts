/**
 * The events of a run, by type. Bodies may gain fields: a client reads the fields it knows. A client ignores events of an unknown type, so
 * events from a stream are parsed as `anyEvent`.
 */
import { z } from "zod";
import { named } from "./named.ts";
import { count, nanodollars, runId, time } from "./values.ts";

const failureOf = z.looseObject({ code: z.string(), message: z.string() });
const activityRef = named(
  "ActivityRef",
  z.looseObject({
    node: z.string().describe("the node's name in the flowchart"),
    generation: count.describe("how often the run had come to the node before"),
    item: count.nullable().describe("which item of a list; null: the node is visited once"),
    attempt: count.describe("from 0; grows with every retry"),
  }),
);
const usageOf = named(
  "EventUsage",
  z.looseObject({ calls: count, promptTokens: count, completionTokens: count, nanodollars }),
);
const outcome = named(
  "Outcome",
  z
    .looseObject({
      kind: z
        .enum(["done", "replied", "executed", "graded", "answered", "produced", "called", "planned", "returned"])
        .describe("what was done: a model replied, commands were executed, a person answered, a called run returned"),
      text: z.string().optional().describe("what came of it, as text"),
      exitCode: z.int().optional().describe("of executed: the exit code of the last command"),
      status: z.enum(["success", "failed", "cancelled"]).optional().describe("of returned: how the called run ended"),
      result: z.string().optional().describe("of returned: the called run's RESULT"),
    })
    .describe("what an activity brought back"),
);

const warning = named("Warning", z.object({ code: z.string(), message: z.string(), node: z.string().nullable() }));

const fields = {
  seq: count.describe("its place in the run; from 1, without gaps. `Last-Event-ID` and `after` take it"),
  runId,
  at: time.describe("when it happened"),
  warnings: z.array(warning).describe("what was warned of with it"),
};

/** @public An event of any type. */
export const anyEvent = z.object({ ...fields, type: z.string(), body: z.record(z.string(), z.unknown()) });

function event<Type extends string, Body extends z.ZodRawShape>(type: Type, means: string, body: Body) {
  const name = `${type.replace(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase())}Event`;
  return named(name, z.object({ ...fields, type: z.literal(type), body: z.looseObject(body) }).describe(means));
}

const ofActivity = { activity: activityRef, epoch: count };

export const runEvent = named(
  "RunEvent",
  z.discriminatedUnion("type", [
    event("run.started", "The run was created, with what it was given.", {
      variables: z.record(z.string(), z.string()).describe("what the run was given"),
      caller: z.unknown().describe("what it shares with the run that called it; null: nobody called it"),
    }),
    event("activity.succeeded", "A step was done: a model replied, commands ran, a check held, a person answered.", {
      ...ofActivity,
      outcome,
      usage: usageOf.nullable().describe("what it cost; null: nothing was asked of a model"),
    }),
    event("activity.failed", "A step failed; `next` says what follows.", {
      ...ofActivity,
      failure: failureOf.describe("why"),
      next: z
        .enum(["retry", "park", "hold", "fail", "unknown"])
        .describe(
          "retry: it is tried again after a wait; park: it waits for an endpoint in trouble; hold: it waits until the run is resumed; fail: the run takes the edge for failures; unknown: nobody knows whether it was done",
        ),
      retryAfterMs: count.nullable().describe("how long the endpoint asked to wait"),
      usage: usageOf.nullable().describe("what it cost; null: nothing was asked of a model"),
    }),
    event("ask.expired", "Nobody answered a question in time.", ofActivity),
    event("run.limited", "A limit was reached; the run ends.", { code: z.string(), message: z.string() }),
    event("run.cancelled", "Somebody ended the run.", { message: z.string() }),
    event("run.broken", "A defect in Markmill ended the run.", { message: z.string() }),
    event("run.stopped", "Somebody halted the run; it can be resumed.", {}),
    event("run.resumed", "The run goes on.", {}),
    event("run.admitted", "A run with a limit of time was queued and begins; the wait counts for no limit.", {}),
    event("run.forked", "The run takes over what another one did; the events before this one are that run's.", {
      from: z.string().describe("the id of the other run"),
      seq: count.describe("the last event that was taken over"),
    }),
  ]),
);
