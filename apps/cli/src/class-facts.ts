/** Facts of a class for its reports, kept with its batch: the deadline, unmatched files, similar submissions. */
import type { Json } from "@markmill/engine";
import { z } from "zod";

const table = z.object({
  /** Words that a result should have; null: not asked. */
  expectedLength: z.number().nullable(),
  expectedFacts: z.array(z.union([z.string(), z.array(z.string())])),
});

/** What a table of runs asks of its results. */
export type TableFacts = z.infer<typeof table>;

const schema = z.object({
  deadline: z.number().nullable().default(null),
  /** Names of files. */
  unmatched: z.array(z.string()).default([]),
  /** Keys of works; null: nobody compared them. */
  similar: z
    .array(z.object({ one: z.string(), other: z.string(), similarity: z.number() }))
    .nullable()
    .default(null),
  /** Keys of works too long, or too many, to be compared as a whole and with all others. */
  comparedPartly: z.array(z.string()).default([]),
  /** Works of the class that are not in the batch, since only a sample was asked for. */
  left: z.number().default(0),
  /** Keys of the members whose works those are. */
  unsampled: z.array(z.string()).default([]),
  /** Keys of the members whose repositories could not be asked. */
  unfetched: z.array(z.string()).default([]),
  /** Keys of the members to whom an ambiguous file may belong. */
  candidates: z.array(z.string()).default([]),
  /** Which submission counts for a student, as a teacher chose (counting-choices.ts). */
  choices: z
    .array(
      z.object({
        student: z.string(),
        label: z.string(),
        /** Labels of the student's submissions when it was made. */
        among: z.array(z.string()),
        by: z.string(),
        at: z.string(),
      }),
    )
    .default([]),
  /** Where the results were written last. */
  out: z.string().nullable().default(null),
  /** It is a table of runs, and no class; null: it is a class. */
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
