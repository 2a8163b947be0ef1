/** Test results as a run stores them: read from a judge's file, without its nonce. */
import { z } from "zod";
import type { ReadResults } from "./test-results.ts";

const results = z.discriminatedUnion("is", [
  z.object({
    is: z.literal("read"),
    tests: z.array(
      z.object({
        name: z.string(),
        passed: z.boolean(),
        weight: z.number().min(0),
        share: z.number().min(0).max(1),
        message: z.string(),
        visibility: z.enum(["visible", "hidden", "after_due_date", "after_published"]),
        scored: z.object({ points: z.number(), most: z.number().nullable() }).exactOptional(),
        undecided: z.literal(true).exactOptional(),
      }),
    ),
    notes: z.array(z.string()),
    total: z.object({ score: z.number(), most: z.number().nullable(), sum: z.number().nullable() }).exactOptional(),
  }),
  z.object({ is: z.enum(["unusable", "forged"]), why: z.string() }),
]);

/** Returns null if there are no results. Unreadable results are a grader error. */
export function storedResults(text: string | null): ReadResults | null {
  if (text === null || text === "") return null;
  try {
    return results.parse(JSON.parse(text));
  } catch {
    return { is: "unusable", why: "the test results do not have the format in which the run stores them" };
  }
}
