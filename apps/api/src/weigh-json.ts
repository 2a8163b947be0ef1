/**
 * Checks a JSON text before it is parsed. Parsing 32 MiB of brackets blocks a process for many seconds and takes hundreds of megabytes, and
 * deep nesting later crashes code that recurses into it. The text is read once, and the check stops at the first excess; strings are
 * skipped.
 */
import { jsonExcess } from "@markmill/base/json";
import { Refusal } from "./refusal.ts";

export const mostDepth = 100;
/** The number of values in the largest part of a large class. */
export const mostValues = 500_000;

/** Throws a Refusal. Invalid JSON is left to the parser. */
export function weighJson(text: string): void {
  const excess = jsonExcess(text, { depth: mostDepth, values: mostValues });
  if (excess === "depth")
    throw new Refusal("BAD_REQUEST", { detail: `The body is nested more than ${mostDepth} levels deep.` });
  if (excess === "values")
    throw new Refusal("TOO_LARGE", {
      detail: `The body has more than ${mostValues} values. Send it in several requests.`,
    });
}
