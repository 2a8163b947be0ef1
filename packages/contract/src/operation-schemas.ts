import { z } from "zod";
import { named } from "./named.ts";
import { count, hash, many, nanodollars, page, pair, runId, text, time, whole } from "./values.ts";

const model = named(
  "Model",
  z.object({
    name: z.string(),
    aliases: z.array(z.string()),
    priced: z.boolean(),
    promptPrice: nanodollars.describe("per million tokens, in 1e-9 US dollars"),
    completionPrice: nanodollars.describe("per million tokens, in 1e-9 US dollars"),
    contextTokens: count,
    maxOutputTokens: count,
    requestsPerMinute: count.nullable(),
    tokensPerMinute: count.nullable(),
  }),
);
export const modelList = named(
  "ModelList",
  page(model).extend({
    default: z.string().nullable(),
    pauses: z.array(z.object({ model: z.string(), reason: z.string(), since: time, until: time })),
  }),
);

const usageBy = ["run", "definition", "model", "label", "day"] as const;
export const usageQuery = z.object({
  by: z.enum(usageBy).default("day").describe("what each row of the answer counts"),
  key: text(100, 1).optional().describe("the name of the label; for by=label"),
  label: many(pair, 20).optional().describe("KEY=VALUE; all must match"),
  definition: hash.optional().describe("only runs of this definition"),
  model: text(200).optional().describe("only calls of this model"),
  run: runId.optional().describe("only this run and the runs it called"),
  from: time.optional().describe("spent at this time or later"),
  before: time.optional().describe("spent before this time"),
  limit: whole(1, 1_000).default(200).describe("maximum number of rows per page"),
  cursor: z
    .string()
    .regex(/^\d{1,9}$/)
    .optional()
    .describe("`next` of the previous page"),
});
const usageRow = named(
  "UsageRow",
  z.object({
    key: z
      .string()
      .describe(
        "a run, a definition, a model, a label's value, or a day (UTC); empty: runs without the label, or deleted runs by run and label",
      ),
    runs: count.describe("root runs that made the calls, without deleted runs; the cost of deleted runs is included"),
    calls: count,
    promptTokens: count,
    completionTokens: count,
    nanodollars,
    unsure: z.object({ calls: count, tokens: count, nanodollars }).optional(),
  }),
);
export const usage = named("Usage", page(usageRow).extend({ by: z.enum(usageBy) }));

const worker = named(
  "Worker",
  z.object({
    id: z.string(),
    host: z.string(),
    info: z.unknown(),
    startedAt: time,
    heartbeatAt: time,
    alive: z.boolean(),
  }),
);
export const workerList = named("WorkerList", page(worker));
export const queueList = named(
  "QueueList",
  page(z.object({ name: z.string(), counts: z.record(z.string(), count) })).extend({
    reachable: z.boolean().describe("false: the queue's server is unreachable; runs are accepted and wait"),
  }),
);
const componentHealth = named(
  "ComponentHealth",
  z.object({
    ok: z.boolean(),
    needed: z.boolean().describe("false: the server works without this component; only runs that need it wait"),
    code: z.string().optional().describe("code of the problem; docs/codes.md lists all codes"),
    means: z.string().optional().describe("description of the code"),
    fix: z.string().optional().describe("how to solve the problem"),
  }),
);
export const health = named(
  "Health",
  z.object({
    ok: z.boolean().describe("false: answered with 503"),
    components: z
      .record(z.string(), componentHealth)
      .describe(
        "components by name, such as `database`, `queue`, `workers` and `sandbox` (a running worker can run commands)",
      ),
    version: z.string().optional(),
  }),
);
