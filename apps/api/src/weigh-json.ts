/**
 * Looks at a JSON text before it is parsed. To parse 32 MiB of brackets holds a process for many seconds and takes hundreds of megabytes,
 * and what is nested deeply ends, later, whatever goes down into it.
 */
import { jsonExcess } from "@markmill/base/json";
import { Refusal } from "./refusal.ts";

export const mostDepth = 100;
/** Values, as many as a piece of a large class has. */
export const mostValues = 500_000;

/** Throws a Refusal. What is no JSON at all is left to the parser. */
export function weighJson(text: string): void {
  const excess = jsonExcess(text, { depth: mostDepth, values: mostValues });
  if (excess === "depth")
    throw new Refusal("BAD_REQUEST", { detail: `The body is nested more than ${mostDepth} deep.` });
  if (excess === "values")
    throw new Refusal("TOO_LARGE", { detail: `The body has more than ${mostValues} values: send it in pieces.` });
}
