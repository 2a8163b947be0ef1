import { z } from "zod";
import { runEvent } from "./event-schemas.ts";
import { named } from "./named.ts";
import {
  count,
  cursor,
  flag,
  hash,
  idPart,
  limit,
  many,
  nanodollars,
  page,
  pair,
  runId,
  startWarnings,
  text,
  time,
  whole,
} from "./values.ts";

const runStatus = named("RunStatus", z.enum(["created", "doing", "stopped", "success", "failed", "cancelled"]));

export const failure = named(
  "Failure",
  z.looseObject({ code: z.string(), message: z.string() }).describe("why a run ended, or an activity failed"),
);

export const spent = named(
  "Spent",
  z.object({
    steps: count.optional(),
    calls: count,
    promptTokens: count,
    completionTokens: count,
    nanodollars,
    unsure: z
      .object({ calls: count, tokens: count, nanodollars })
      .optional()
      .describe("calls without a reply, counted at their highest possible cost"),
  }),
);

const labels = z
  .record(text(100, 1), text(1_000))
  .refine((given) => Object.keys(given).length <= 50, "at most 50 labels");

const runSummary = named(
  "RunSummary",
  z.object({
    id: runId,
    rootId: runId,
    parentActivityId: count.nullable(),
    definition: z.string(),
    program: z.string(),
    name: z.string(),
    status: runStatus,
    queued: z
      .boolean()
      .describe("true: the tenant has reached its limit of running runs; the run starts when a slot is free"),
    phase: z.string(),
    word: z.string().nullable().describe("text of the end node"),
    rev: count.describe("grows with every event"),
    depth: count,
    labels: z.record(z.string(), z.string()),
    spent,
    reason: failure.nullable(),
    createdAt: time,
    endedAt: time.nullable(),
    deadline: time.nullable(),
  }),
);

const wait = named(
  "Wait",
  z.object({
    runId,
    node: z.string(),
    failure,
    since: time,
    tries: count,
    trouble: z.unknown().describe("the endpoint and its answer; null: the problem is not an endpoint"),
    held: z.boolean().describe("true: it waits until the run is resumed"),
    nextTry: time.nullable(),
  }),
);

const doing = named(
  "Doing",
  z.object({
    activityId: count,
    node: z.string(),
    generation: count,
    attempt: count,
    kind: z.string(),
    state: z.string(),
    since: time,
  }),
);

export const run = named(
  "Run",
  runSummary.extend({
    result: z.string().nullable().describe("RESULT"),
    report: z.string().nullable().describe("the variable REPORT"),
    doing: z.array(doing).describe("open questions, at most 100"),
    waits: z.array(wait).describe("problems of other systems that the run or its called runs wait for"),
  }),
);

/** Limits of a run; default: the limits of the workflow. */
export const caps = named(
  "Caps",
  z.strictObject({
    dollars: z.number().min(0).max(1_000_000).optional(),
    tokens: z.int().min(0).max(1e12).optional(),
    timeMs: z
      .int()
      .min(1)
      .max(366 * 86_400_000)
      .optional(),
    steps: z.int().min(1).max(1e9).optional(),
    depth: z.int().min(1).max(10_000).optional(),
    hits: z.int().min(1).max(1e9).optional(),
  }),
);

/** The operator limits a variable's text (CEILING_VALUE_CHARS). This is the limit for any request. */
const variables = z
  .record(text(200, 1), z.string().max(8 * 1024 * 1024))
  .refine((given) => Object.keys(given).length <= 500, "at most 500 variables");

export const runStart = named(
  "RunStart",
  z.strictObject({
    definition: hash,
    variables: variables.optional(),
    input: z
      .string()
      .max(8 * 1024 * 1024)
      .optional()
      .describe("the input of a workflow of tasks; the variable `__input`"),
    caps: caps.optional(),
    patienceMs: z
      .int()
      .min(0)
      .max(366 * 86_400_000)
      .optional()
      .describe("how long the run waits for a model endpoint in trouble"),
    labels: labels.optional(),
    submission: hash.optional().describe("`hash` of an uploaded submission"),
  }),
);

export const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,200}$/, "must be 1 to 200 visible ASCII characters")
  .optional();

export const idempotencyHeaders = z.object({
  "idempotency-key": idempotencyKey.describe("repeated requests with the same key start only one run"),
});

export const startedRun = named(
  "StartedRun",
  z.object({
    id: runId,
    created: z.boolean().describe("false: an earlier request with this key started the run"),
    warnings: startWarnings.optional(),
  }),
);

/** A time in microseconds and an id. */
const runCursor = z
  .string()
  .regex(/^\d{1,17}-[0-9a-f-]{36}$/)
  .describe("`next` of the page before");
export const runQuery = z.object({
  status: many(runStatus, 6).optional().describe("only runs with this status; may be repeated"),
  definition: hash.optional().describe("only runs of this definition"),
  name: text(500).optional().describe("only runs of workflows with this name"),
  label: many(pair, 20).optional().describe("KEY=VALUE; all must hold"),
  variable: many(pair, 5).optional().describe("NAME=VALUE; all must hold"),
  from: time.optional().describe("created at this time or later"),
  before: time.optional().describe("created before this time"),
  id: idPart.optional().describe("only runs whose id ends with these characters, or starts with them (8 or more)"),
  search: text(200)
    .optional()
    .describe("search text for the id, the name and the values of labels; upper and lower case are equal"),
  roots: flag.default(true).describe("only runs that no other run called"),
  limit,
  cursor: runCursor.optional(),
});
export const runParams = z.object({ id: runId.describe("the id of a run") });
export const runPage = named("RunPage", page(runSummary));

const activity = named(
  "Activity",
  z.object({
    id: count,
    node: z.string(),
    generation: count,
    item: count.nullable(),
    attempt: count,
    kind: z.string(),
    state: z.enum(["ready", "claimed", "waiting", "done", "void"]),
    work: z.unknown().describe("the input: a prompt, a command or a question"),
    seq: count.nullable().describe("the event that ended it"),
    claimedBy: z.string().nullable(),
    takeovers: count,
    createdAt: time,
    endedAt: time.nullable(),
  }),
);
export const activityPage = named("ActivityPage", page(activity));

const call = named(
  "Call",
  z.object({
    activityId: count,
    callIndex: count,
    attempt: count,
    model: z.string(),
    request: z.unknown(),
    reply: z.unknown(),
    promptTokens: count,
    completionTokens: count,
    nanodollars,
  }),
);
export const callPage = named("CallPage", page(call));

const toolCall = named(
  "ToolCall",
  z.object({
    activityId: count,
    callIndex: z
      .int()
      .describe("the model call that requested the tool; -1: a node of the workflow; -2: the list of an MCP server"),
    position: count.describe("from 0, among the tools that the same reply requested"),
    attempt: count,
    name: z.string(),
    arguments: z.string().describe("exactly as the model wrote them"),
    state: z.enum(["begun", "done", "failed"]),
    result: z.string().nullable(),
    failure: z.object({ code: z.string(), message: z.string() }).nullable(),
    ms: count.nullable(),
    createdAt: time,
  }),
);
export const toolCallPage = named("ToolCallPage", page(toolCall));

const message = named(
  "Message",
  z.object({
    id: count,
    runId,
    thread: z.string(),
    agent: z.string(),
    role: z.string(),
    text: z.string(),
    activityId: count.nullable(),
  }),
);
export const messagePage = named("MessagePage", page(message));
export const pageQuery = z.object({ limit, cursor: cursor.optional() });

export const variablesOfRun = named("Variables", z.object({ variables: z.record(z.string(), z.string()) }));
export const hitsOfRun = named("Hits", z.object({ hits: z.record(z.string(), count) }));
export const childPage = named("ChildRuns", page(runSummary));

export const cancelBody = named("Cancel", z.strictObject({ message: text(1_000).optional() }));
export const changedRun = named("ChangedRun", z.object({ id: runId, status: runStatus, rev: count }));
export const resumedRun = named(
  "ResumedRun",
  changedRun.extend({ resumed: count.describe("runs of the tree that continue") }),
);

export const retryBody = named(
  "Retry",
  z.strictObject({
    from: z
      .array(text(200, 1))
      .min(1)
      .max(100)
      .optional()
      .describe(
        "the node to start from; for a node in a called workflow, the calls that lead to it; ['START']: the whole run. Default: the node that failed",
      ),
    definition: z
      .union([z.enum(["same", "current"]), hash])
      .optional()
      .describe("current: the newest definition of the same name and root"),
    caps: caps.optional(),
  }),
);
export const retriedRun = named(
  "RetriedRun",
  z.object({
    id: runId,
    created: z.boolean(),
    from: z.array(z.string().nullable()).describe("the next activity; null if several activities were running"),
  }),
);

export const streamEnd = named(
  "StreamEnd",
  z.object({ runId, status: runStatus, rev: count }).describe("status of the run at the end of its stream"),
);
const after = whole(0, Number.MAX_SAFE_INTEGER).describe("`seq` of the last event in the stream");
export const eventQuery = z.object({
  after: after.default(0),
  limit,
  waitMs: whole(0, 30_000).default(0).describe("how long to wait for the first event"),
});
export const eventPage = named(
  "EventPage",
  z.object({
    items: z.array(runEvent),
    next: z.string().nullable().describe("`after` of the next page; null: no more events yet"),
    last: count.describe("`after` of the next request"),
    rev: count.describe("total number of events; greater than `last` if there are more pages"),
    status: runStatus,
    ended: z.boolean().describe("true: no events follow"),
  }),
);
/** The result of replaying a run's events, compared with the stored state. */
export const replay = named(
  "Replay",
  z.object({
    events: count.describe("number of replayed events"),
    identical: z.boolean(),
    differences: z
      .array(z.object({ path: z.string(), folded: z.string(), stored: z.string() }))
      .describe("at most 100; long values are cut, and values of the server's environment are hidden"),
  }),
);

export const streamQuery = z.object({
  after: after.optional().describe("like the header Last-Event-ID, which has priority"),
});
/** `12`: the client has received the 12th event; `12-end`: and the end after it. */
const lastEventId = z
  .string()
  .regex(/^\d{1,15}(-end)?$/, "must be the id of an event")
  .transform((id) => ({ after: Number.parseInt(id, 10), end: id.endsWith("-end") }));
export const streamHeaders = z.object({
  "last-event-id": lastEventId
    .optional()
    .describe("after a broken connection: the id of the last event that the client received"),
});

export const ask = named(
  "Ask",
  z.object({
    id: count,
    runId,
    rootId: runId,
    node: z.string(),
    question: z.string(),
    text: z.string(),
    createdAt: time,
    expiresAt: time.nullable(),
  }),
);
export const askQuery = z.object({
  run: runId.optional().describe("of this run and the runs it called"),
  limit,
  cursor: cursor.optional(),
});
export const askList = named("AskList", page(ask));
export const askParams = z.object({ id: whole(1, Number.MAX_SAFE_INTEGER).describe("the id of a question") });
export const answerBody = named("Answer", z.strictObject({ text: z.string().max(2 * 1024 * 1024) }));
export const answered = named("Answered", z.object({ id: count, runId }));
