/**
 * Remembers where the results and exports of a class were written on this machine, so that a later command can keep them up to date.
 * One file per class below the home of the project. If it is lost, the folder that the class itself names (`out` of its facts) is left.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { put } from "./put-file.ts";

export const paperKinds = ["md", "html", "pdf"] as const;

const place = z.object({
  /** Absolute. */
  out: z.string(),
  /** Formats of the students' reports. */
  kinds: z.array(z.enum(paperKinds)),
  /** Reports of unreleased grades are written too, and marked as drafts. */
  draft: z.boolean(),
  /** Hash of what the teacher's files were written from; null: none were written yet. */
  sheet: z.string().nullable().default(null),
  /** By the student's key, the hash of what the report was written from. */
  students: z.record(z.string(), z.string()).default({}),
});

const exported = z.object({
  /** Absolute. */
  file: z.string(),
  draft: z.boolean(),
  /** Hash of the grades that it was made from. */
  sheet: z.string(),
});

const schema = z.object({
  version: z.literal(1).default(1),
  places: z.array(place).default([]),
  exports: z.array(exported).default([]),
});

export type ResultsPlace = z.infer<typeof place>;
export type ResultsRegister = z.infer<typeof schema>;

export async function readRegister(home: string, batchId: string): Promise<ResultsRegister> {
  const text = await readFile(fileOf(home, batchId), "utf8").catch(() => "{}");
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    return schema.parse({});
  }
}

export async function writeRegister(home: string, batchId: string, register: ResultsRegister): Promise<void> {
  await put(fileOf(home, batchId), `${JSON.stringify(register)}\n`);
}

function fileOf(home: string, batchId: string): string {
  return join(home, "results", `${batchId}.json`);
}
