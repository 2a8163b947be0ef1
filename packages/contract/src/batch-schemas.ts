import { z } from "zod";
import { named } from "./named.ts";
import { caps, failure, idempotencyKey, spent } from "./run-schemas.ts";
import {
  count,
  cursor,
  flag,
  hash,
  idPart,
  limit,
  listQuery,
  many,
  nanodollars,
  page,
  runId,
  startWarnings,
  text,
  time,
} from "./values.ts";

export const batchParams = z.object({ id: runId.describe("the id of a batch") });

const key = text(500, 1);
const consent = z.enum(["none", "local", "any"]);
const short = text(2_000);
const amounts = z.object({ nanodollars: nanodollars.nullable(), tokens: count.nullable() });
const most = z.int().min(0).max(1e15).nullable();
const capAmounts = z.strictObject({ nanodollars: most, tokens: most }).describe("null: no cap");
const concurrency = z.int().min(1).max(10_000);
const reason = text(2_000, 1);

const level = z.strictObject({ name: short, points: z.number() });
const rubric = named(
  "Rubric",
  z.strictObject({
    criteria: z
      .array(
        z.strictObject({
          id: text(200, 1),
          title: short,
          points: z.number().min(-1e6).max(1e6),
          scale: z.discriminatedUnion("is", [
            z.strictObject({ is: z.literal("binary") }),
            z.strictObject({ is: z.literal("levels"), levels: z.array(level).min(1).max(100) }),
            z.strictObject({ is: z.literal("points"), step: z.number().min(0.001).max(1e6) }),
          ]),
          evidence: z.union([z.boolean(), z.literal("comments")]),
          source: z.discriminatedUnion("is", [
            z.strictObject({ is: z.literal("tests"), patterns: z.array(short).max(1_000) }),
            z.strictObject({ is: z.literal("llm") }),
            z.strictObject({ is: z.literal("human") }),
          ]),
          guidance: text(100_000),
        }),
      )
      .max(500)
      .describe("none: nothing is graded"),
  }),
);

const person = {
  key,
  name: short,
  sortableName: short.optional(),
  id: short.optional(),
  participant: short.optional(),
  sisId: short.optional(),
  login: short.optional(),
  email: short.optional(),
  handle: short.optional(),
  section: short.optional(),
  group: short.optional(),
  language: short.optional(),
  aiConsent: consent.optional(),
  submittedAt: short.optional(),
};
const newMember = z.strictObject({
  ...person,
  was: key
    .nullable()
    .optional()
    .describe(
      "stored key of the same person, if a person has decided this; null: the student is new; absent: Markmill compares the known data",
    ),
});
const member = named("Member", z.object({ ...person, pseudonym: z.string() }));

const lateness = z.discriminatedUnion("is", [
  z.object({ is: z.literal("unknown") }),
  z.object({ is: z.literal("on time") }),
  z.object({ is: z.literal("late"), byMs: z.number().nullable() }),
]);

const paths = z.array(z.string().max(4_096)).max(100_000);
const variables = z
  .record(text(200, 1), z.string().max(1024 * 1024))
  .refine((given) => Object.keys(given).length <= 500, "at most 500 variables");
/** A submission with a workflow of its own, like a row of a table. */
const start = named("WorkStart", z.strictObject({ definition: hash, variables }));
const commit = named(
  "WorkCommit",
  z.object({
    hash: z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, "must be the hash of a commit"),
    at: short.nullable().describe("the committer's date; null: the date is impossible"),
    doubts: z.array(z.string().max(4_096)).max(100).describe("why the date may be wrong"),
  }),
);
const content = named(
  "WorkContent",
  z.discriminatedUnion("is", [
    z.object({
      is: z.literal("taken"),
      hash: hash.describe("a file that was uploaded before"),
      files: count,
      bytes: count,
      paths,
      notes: z.array(z.string().max(4_096)).max(10_000),
      start: start
        .optional()
        .describe(
          "start settings of this run that differ from the batch; these variables override the batch's variables",
        ),
      commit: commit.optional().describe("only for a repository"),
    }),
    z.object({ is: z.literal("refused"), code: short, message: text(10_000), fix: text(10_000) }),
    z.object({ is: z.literal("empty") }),
    z.object({
      is: z
        .literal("undecided")
        .describe("one of several submissions without an order: not graded until a person decides"),
      hash: hash.nullable(),
      message: text(10_000),
      fix: text(10_000),
    }),
    z.object({
      is: z.literal("incomplete"),
      missing: paths,
      message: text(10_000),
      paths,
      commit: commit.optional().describe("only for a repository"),
    }),
  ]),
);

const workFields = {
  key,
  by: z.array(key).max(1_000).describe("keys of students"),
  group: short.nullable(),
  attempt: z.int().min(1).max(1e6),
  counts: z.boolean().describe("false: the submission counts for no student and is not graded"),
  countsFor: z
    .array(key)
    .max(1_000)
    .optional()
    .describe(
      "keys of the students for whom it counts; for the others, another submission counts; absent: all or none of them",
    ),
  label: short,
  sources: z.array(z.string().max(4_096)).max(1_000),
  submittedAt: short.nullable(),
  lateness,
  content,
};

const settings = {
  late: z
    .object({ percentPerDay: z.number().min(0).max(100), mostPercent: z.number().min(0).max(100) })
    .nullable()
    .describe("the penalty for lateness"),
  aiConsent: consent.describe("default for students without their own answer"),
  language: short.nullable(),
  facts: z.unknown().optional().describe("free data of the client; the server does not read it"),
};

export const batchSave = named(
  "BatchSave",
  z.strictObject({
    key: key.describe("identifies the batch: a request with the same key continues the same batch"),
    name: short,
    definition: hash,
    rubric: rubric.optional().describe("default: the rubric of the definition"),
    confirmedVoids: text(200)
      .optional()
      .describe("`confirm` of the problem RUBRIC_VOIDS: confirms that a person has read what the changed rubric voids"),
    concurrency: concurrency.optional(),
    budget: capAmounts.optional().describe("for all runs together; absent: no change"),
    ...settings,
    variables: variables.optional(),
    caps: caps.optional().describe("for each run"),
    patienceMs: z
      .int()
      .min(0)
      .max(366 * 86_400_000)
      .optional(),
    members: z.array(newMember).max(5_000),
    works: z
      .array(z.strictObject(workFields))
      .max(1_000)
      .describe("all or some submissions: missing ones do not change"),
    whole: z
      .array(key)
      .max(20_000)
      .optional()
      .describe(
        "with the last request: keys of all submissions. Stored submissions that are not in the list no longer count; nothing is deleted",
      ),
    span: z
      .strictObject({ after: key.nullable(), upTo: key.nullable() })
      .optional()
      .describe(
        "with `whole`, if it has more than 20,000 keys: the range of keys in this request, after the first key and up to the second, in the order of their UTF-8 bytes (null: no limit). Only submissions in this range can stop counting",
      ),
  }),
);

export const savedBatch = named(
  "SavedBatch",
  z.object({
    id: runId,
    created: z.boolean(),
    added: count,
    changed: count,
    otherDefinition: count,
    restarted: count.describe("submissions without a paid reply that restart with the current settings of the batch"),
    kept: count.describe("running submissions that keep their old settings, because they have paid replies"),
    dropped: count.optional().describe("submissions that no longer count; only if `whole` was sent"),
    warnings: startWarnings.optional(),
  }),
);

const batchState = named(
  "BatchState",
  z.discriminatedUnion("is", [
    z.object({ is: z.literal("open") }),
    z
      .object({ is: z.literal("ended") })
      .describe("every submission has ended; added or retried submissions open the batch again"),
    z.object({ is: z.literal("paused"), by: z.enum(["person", "budget"]), reason: z.string() }),
    z.object({ is: z.literal("cancelled"), reason: z.string() }),
  ]),
);

export const batchSummary = named(
  "BatchSummary",
  z.object({
    id: runId,
    key: z.string(),
    name: z.string(),
    definition: z.string(),
    state: batchState,
    concurrency: count,
    createdAt: time,
    endedAt: time
      .nullable()
      .describe(
        "when its last submission ended, was withdrawn or was refused, or when the batch was cancelled; null: a submission runs or waits",
      ),
    counts: z.object({
      works: count,
      waiting: count,
      running: count,
      parked: count.describe("running submissions that wait for an endpoint, or to be resumed"),
      succeeded: count,
      failed: count,
      ungradable: count,
      notCounted: count,
      deleted: count,
    }),
  }),
);

export const batch = named(
  "Batch",
  batchSummary.extend({
    rubric: z.looseObject({ criteria: z.array(z.looseObject({ id: z.string() })) }),
    rubricHash: z.string(),
    settings: z.object({
      ...settings,
      model: short.nullable().describe("the model of its runs; null: the default model"),
    }),
    members: count,
    budget: z.object({ cap: amounts, spent: amounts, reserved: amounts }).nullable().describe("null in cap: no limit"),
    budgetNearlySpent: z.boolean(),
    spent,
    runMs: z.array(z.number()).describe("durations of ended runs, newest last"),
    troubles: z.array(z.object({ reason: z.string(), works: count, held: z.boolean() })),
  }),
);

export const batchQuery = z.strictObject({
  key: key.optional().describe("only the batch with this key"),
  id: idPart.optional().describe("only batches whose id ends with these characters, or starts with them (8 or more)"),
  state: many(z.enum(["open", "ended", "paused", "cancelled"]), 4)
    .optional()
    .describe("only batches in this state"),
  limit,
  cursor: cursor.optional(),
});
export const batchStreamHeaders = z.object({
  "last-event-id": z.literal("end").optional().describe("`end`: the client has received the end of the stream"),
});
export const batchPage = named("BatchPage", page(batchSummary));

const tryStandings = ["waiting", "running", "succeeded", "failed", "refused", "deleted"] as const;
const standings = [...tryStandings, "not counted", "ungradable"] as const;
const outcomes = ["graded", "ungradable", "grader error", "needs human"] as const;

const standing = named(
  "WorkStanding",
  z.looseObject({ is: z.enum(standings), failure: failure.nullable().optional() }),
);

const grade = named(
  "Grade",
  z.looseObject({
    outcome: z.looseObject({ is: z.enum(outcomes) }),
    criteria: z.array(z.looseObject({ is: z.enum(["scored", "not graded"]), id: z.string() })),
    points: z.number().nullable(),
    most: z.number(),
    penalty: z.object({ points: z.number(), why: z.string() }).nullable(),
    total: z.number().nullable(),
    flags: z.array(z.looseObject({ kind: z.string(), message: z.string() })),
    nextSteps: z.array(z.string()),
  }),
);
const finalGrade = named(
  "FinalGrade",
  grade.extend({
    proposed: grade.nullable().describe("the points that Markmill proposed"),
    overrides: z.array(z.looseObject({ criterion: z.string(), points: z.number(), by: z.string() })),
    reviewed: z.object({ id: count, by: z.string(), at: z.string() }).nullable(),
    released: z
      .object({
        by: z.string(),
        at: z.string(),
        total: z.number().nullable(),
        students: z
          .array(z.string())
          .optional()
          .describe("keys of the students concerned; absent: all students of the submission"),
      })
      .nullable(),
  }),
);

export const gradeEvent = named(
  "GradeEvent",
  z.object({
    id: count,
    work: z.string(),
    at: time,
    by: z.string(),
    kind: z.enum(["override", "reviewed", "released", "withdrawn"]),
    criterion: z.string().nullable(),
    from: z.number().nullable(),
    to: z.number().nullable(),
    reason: z.string(),
    comment: z.string(),
    rubricHash: z.string(),
    content: z.string().nullable(),
    try: count,
    takesBack: count.nullable().describe("for an override without points: the id of the event that it takes back"),
    students: z
      .array(z.string())
      .readonly()
      .nullable()
      .optional()
      .describe("for a release: keys of the students concerned"),
  }),
);

const personMark = named(
  "PersonMark",
  z.looseObject({
    id: count.describe("id of the grade event"),
    criterion: z.string(),
    points: z.number(),
    by: z.string(),
    at: z.string(),
    fate: z
      .looseObject({ is: z.enum(["stands", "replaced", "taken back", "other content", "no criterion"]) })
      .describe("state of the mark; `by`: the id of the event that replaced it or took it back"),
  }),
);

const lastTry = {
  try: count,
  runId,
  definition: z.string(),
  why: z.enum(["first", "content", "retry", "regrade"]),
  startedAt: time.nullable(),
  endedAt: time.nullable(),
};

const work = named(
  "Work",
  z.object({
    ...workFields,
    pseudonym: z.string(),
    standing,
    try: z.object(lastTry).nullable(),
    tries: count,
    proposal: z.object({ grade, try: count }).nullable(),
    grade: finalGrade.nullable().describe("the current grade, with marks by people; null: no grade yet"),
    events: z.array(gradeEvent),
    marks: z.array(personMark).describe("every mark by a person, with its state"),
    etag: z
      .string()
      .describe(
        "version of the current grade: send it in quotes as If-Match to change exactly the grade that you have read",
      ),
    spent,
  }),
);

export const workQuery = z.strictObject({
  key: many(key, 500).optional().describe("only submissions with these keys"),
  standing: many(z.enum(standings), standings.length).optional().describe("only submissions in this state"),
  outcome: many(z.enum(outcomes), outcomes.length).optional().describe("only submissions whose grade has this outcome"),
  released: flag.optional().describe("true: only submissions with a released grade; false: only the others"),
  counts: flag.optional().describe("true: only submissions that count for a student; false: only the others"),
  limit,
  cursor: text(600).optional().describe("`next` of the previous page"),
});
export const workPage = named("WorkPage", page(work));

export const tryQuery = listQuery.extend({ work: key.describe("the key of a submission") });
export const tryList = named(
  "TryList",
  page(z.object({ ...lastTry, content: z.string(), standing, grade: grade.nullable(), spent })),
);

export const memberQuery = z.strictObject({
  limit,
  cursor: text(600).optional().describe("`next` of the previous page"),
});
export const memberPage = named("MemberPage", page(member));

export const gradeQuery = z.strictObject({
  work: key.optional().describe("only for the submission with this key"),
  limit,
  cursor: cursor.optional(),
});
export const gradePage = named("GradePage", page(gradeEvent));

export const reasonBody = z.strictObject({ reason });
export const batchChange = named(
  "BatchChange",
  z.strictObject({
    concurrency: concurrency.optional(),
    budget: capAmounts.optional(),
    model: text(500, 1)
      .optional()
      .describe("the model from now on; running submissions without a paid reply restart with it"),
  }),
);
export const changedBatch = named(
  "ChangedBatch",
  z.object({
    id: runId,
    state: batchState,
    runs: count,
    restarted: count.optional().describe("with `model`: submissions without a paid reply that restart with it"),
    kept: count
      .optional()
      .describe("with `model`: running submissions that keep their model, because they have paid replies"),
  }),
);
const keys = z.array(key).max(10_000);
export const retryWorksBody = z.strictObject({ keys: keys.optional() });
export const regradeBody = z.strictObject({
  keys: keys.min(1),
  definition: hash.optional().describe("default: the definition of the batch"),
});
export const gradeHeaders = z.object({
  "idempotency-key": idempotencyKey.describe("repeated requests with the same key add only one event to the batch"),
  "if-match": z
    .string()
    .max(2_000)
    .regex(
      /^\s*(?:\*|(?:W\/)?"[\x21\x23-\x7e]*"(?:\s*,\s*(?:W\/)?"[\x21\x23-\x7e]*")*)\s*$/,
      'must be * or quoted tags such as "x1y2"',
    )
    .optional()
    .describe(
      "`etag` of the submission that you read, in quotes; needed to replace or take back a mark of another person",
    ),
});
export const retriedWorks = named("RetriedWorks", z.object({ works: z.array(z.string()) }));
export const gradeBody = named(
  "GradeSaid",
  z.strictObject({
    work: key,
    kind: z.enum(["override", "reviewed", "released", "withdrawn"]),
    criterion: text(200, 1).optional().describe("for an override"),
    points: z.number().nullable().optional().describe("for an override; null takes one mark back"),
    takesBack: z
      .int()
      .min(1)
      .optional()
      .describe(
        "for an override without points: the id of the mark to take back; default: your own last mark. For a review: the id of the review to take back",
      ),
    students: z
      .array(key)
      .max(1_000)
      .optional()
      .describe("for a release: keys of the students concerned; default: every student for whom the submission counts"),
    reason: text(10_000).optional().describe("needed for an override and a withdrawal"),
    comment: text(100_000).optional().describe("a comment for the student"),
    try: z
      .int()
      .min(0)
      .optional()
      .describe("the grading attempt whose proposal you have read; refused if there is a newer one"),
  }),
);
