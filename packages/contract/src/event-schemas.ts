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
    generation: count.describe("number of earlier visits of the node"),
    item: count.nullable().describe("index of the list item; null: the node does not repeat over a list"),
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
        .describe(
          "the kind of result: a model replied, commands were executed, a person answered, a called run returned",
        ),
      text: z.string().optional().describe("the result as text"),
      exitCode: z.int().optional().describe("for executed: the exit code of the last command"),
      status: z
        .enum(["success", "failed", "cancelled"])
        .optional()
        .describe("for returned: the status of the called run"),
      result: z.string().optional().describe("for returned: the RESULT of the called run"),
    })
    .describe("the result of an activity"),
);

const warning = named("Warning", z.object({ code: z.string(), message: z.string(), node: z.string().nullable() }));

const fields = {
  seq: count.describe("its number in the run, from 1, without gaps; used as `Last-Event-ID` and `after`"),
  runId,
  at: time.describe("time of the event"),
  warnings: z.array(warning).describe("warnings of the event"),
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
    event("run.started", "The run was created with its inputs.", {
      variables: z.record(z.string(), z.string()).describe("the inputs of the run"),
      caller: z.unknown().describe("data shared with the calling run; null: no run called it"),
    }),
    event(
      "activity.succeeded",
      "A step succeeded: a model replied, commands ran, a check was evaluated, a person answered.",
      {
        ...ofActivity,
        outcome,
        usage: usageOf.nullable().describe("the cost; null: no model was called"),
      },
    ),
    event("activity.failed", "A step failed; `next` contains the next action.", {
      ...ofActivity,
      failure: failureOf.describe("why"),
      next: z
        .enum(["retry", "park", "hold", "fail", "unknown"])
        .describe(
          "retry: the step is retried after a wait; park: it waits for an endpoint in trouble; hold: it waits until the run is resumed; fail: the run takes the failure edge; unknown: it is unknown whether the step was done",
        ),
      retryAfterMs: count.nullable().describe("waiting time requested by the endpoint"),
      usage: usageOf.nullable().describe("the cost; null: no model was called"),
    }),
    event("ask.expired", "A question expired without an answer.", ofActivity),
    event("run.limited", "A limit was reached; the run ends.", { code: z.string(), message: z.string() }),
    event("run.cancelled", "A person cancelled the run.", { message: z.string() }),
    event("run.broken", "A defect in Markmill ended the run.", { message: z.string() }),
    event("run.stopped", "A person stopped the run; it can be resumed.", {}),
    event("run.resumed", "The run was resumed.", {}),
    event("run.admitted", "A queued run with a time limit started; the waiting time does not count.", {}),
    event("run.forked", "The run copied the events of another run; the events before this one belong to that run.", {
      from: z.string().describe("the id of the other run"),
      seq: count.describe("the last copied event"),
    }),
  ]),
);
