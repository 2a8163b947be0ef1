/** Facts of a class for its reports, stored with its batch: the deadline, unmatched files, similar submissions. */
import type { Json } from "@markmill/engine";
import { z } from "zod";

const table = z.object({
  /** The number of words that a result should have. null: not checked. */
  expectedLength: z.number().nullable(),
  expectedFacts: z.array(z.union([z.string(), z.array(z.string())])),
});

/** The checks that a table of runs applies to its results. */
export type TableFacts = z.infer<typeof table>;

const schema = z.object({
  deadline: z.number().nullable().default(null),
  /** File names. */
  unmatched: z.array(z.string()).default([]),
  /** Pairs of similar submissions, by key. null: they were not compared. */
  similar: z
    .array(z.object({ one: z.string(), other: z.string(), similarity: z.number() }))
    .nullable()
    .default(null),
  /** Keys of submissions that were compared only in part, because they are too long or too many. */
  comparedPartly: z.array(z.string()).default([]),
  /** The number of submissions that are not in the batch, because only a sample was requested. */
  left: z.number().default(0),
  /** Keys of the students of those submissions. */
  unsampled: z.array(z.string()).default([]),
  /** Keys of the students whose repositories could not be fetched. */
  unfetched: z.array(z.string()).default([]),
  /** Keys of the students who may own an ambiguous file. */
  candidates: z.array(z.string()).default([]),
  /** Which submission counts for a student, as a teacher chose (counting-choices.ts). */
  choices: z
    .array(
      z.object({
        student: z.string(),
        label: z.string(),
        /** Labels of the student's submissions at the time of the choice. */
        among: z.array(z.string()),
        by: z.string(),
        at: z.string(),
      }),
    )
    .default([]),
  /** Where the results were last written. */
  out: z.string().nullable().default(null),
  /** Set for a table of runs. null: it is a class. */
  table: table.nullable().default(null),
});

export type ClassFacts = z.infer<typeof schema>;

export function writeClassFacts(facts: ClassFacts): Json {
  return {
    ...facts,
    similar: facts.similar?.map((pair) => ({ ...pair })) ?? null,
    choices: facts.choices.map((choice) => ({ ...choice, among: [...choice.among] })),
    table: facts.table === null ? null : { ...facts.table },
  };
}

export function readClassFacts(json: Json | undefined): ClassFacts {
  const read = schema.safeParse(json ?? {});
  return read.success ? read.data : schema.parse({});
}
