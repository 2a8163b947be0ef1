/**
 * Values in requests and answers. Postgres stores neither NUL nor half a surrogate pair, so texts for searches and names may contain
 * neither. The input of a run (variables, answers) may contain them, and the store neutralises it.
 */
import { z } from "zod";

export function text(most: number, least = 0) {
  return z
    .string()
    .min(least)
    .max(most)
    .refine((value) => value.isWellFormed() && !value.includes("\0"), "must be well-formed Unicode without NUL");
}

export const runId = z
  .string()
  .regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
  .meta({ examples: ["0199b2f4-7c1e-7d3a-9f10-5b6c7d8e9f01"] });
export const idPart = z
  .string()
  .regex(/^[0-9a-fA-F-]{4,36}$/)
  .meta({ examples: ["5b6c7d8e9f01"] });
/** A SHA-256 in hex. */
export const hash = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .meta({ examples: ["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"] });
/** Postgres and JSON support the years 1 to 9999, and an offset may exceed this range. */
export const time = z.iso.datetime({ offset: true }).refine((value) => {
  const year = new Date(value).getUTCFullYear();
  return year >= 1 && year <= 9_999;
}, "must be in the years 1 to 9999, in UTC");
/** Ids and counters stay below 2^53. */
export const count = z.int().min(0);
export const nanodollars = z.int().describe("1e-9 US dollars");

/** A whole number in a query string or a path. */
export function whole(least: number, most: number) {
  return z.preprocess(
    (value) => (typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value),
    z.int().min(least).max(most),
  );
}

/** Accepts `a=1&a=2`, and also `a=1`. */
export function many<S extends z.ZodType>(item: S, most: number) {
  return z.preprocess(
    (value) => (value === undefined || Array.isArray(value) ? value : [value]),
    z.array(item).max(most),
  );
}

export const flag = z.preprocess(
  (value) => (value === "true" ? true : value === "false" ? false : value),
  z.boolean("must be true or false"),
);

/** Warnings about a start that is accepted but must wait. */
export const startWarnings = z
  .array(z.object({ code: z.string(), message: z.string() }))
  .describe("missing parts that the run will wait for, such as a worker that can run commands; empty: none known");

/** `KEY=VALUE`. */
export const pair = text(4_300).regex(/^[^=]+=/, "must be KEY=VALUE");

export const limit = whole(1, 200).default(50).describe("maximum number of items per page");
export const cursor = text(200).describe("`next` of the previous page");

/** For a list that is usually short: one page contains all of it. */
export const listQuery = z.object({
  limit: whole(1, 200).default(200).describe("maximum number of items per page"),
  cursor: text(600).optional().describe("`next` of the previous page"),
});

export function page<S extends z.ZodType>(items: S) {
  return z.object({
    items: z.array(items),
    next: z.string().nullable().describe("cursor of the next page; null: this is the last page"),
  });
}
