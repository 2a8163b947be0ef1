// Reads a reply that was asked to be JSON of a given schema. zod compiles the schema (it is here anyway, and refuses a keyword it
// cannot check instead of passing it by); `pattern` is refused on top, because it would run an author's regular expression with
// backtracking over text a student can influence.
import { z } from "zod";
import type { ReplySchema } from "./model-request.ts";

export interface SchemaFinding {
  /** Into the reply, `grades.0.points`; empty for the whole. */
  readonly path: string;
  readonly message: string;
}

export type StructuredReply =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly findings: readonly SchemaFinding[] };

/** Why the schema cannot be used, or undefined when it can. */
export function schemaProblem(schema: ReplySchema["schema"]): string | undefined {
  if (usesPattern(schema)) return '"pattern" is not supported; describe the form and check it in the workflow.';
  try {
    z.fromJSONSchema(schema);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

export function readStructuredReply(text: string, schema: ReplySchema["schema"]): StructuredReply {
  let value: unknown;
  try {
    value = JSON.parse(withoutFence(text));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { ok: false, findings: [{ path: "", message: `The reply is not JSON: ${why}` }] };
  }
  let parsed: z.ZodSafeParseResult<unknown>;
  try {
    parsed = z.fromJSONSchema(schema).safeParse(value);
  } catch (error) {
    // A schema that refers to itself, and a reply nested deeper than the stack.
    const why = error instanceof Error ? error.message : String(error);
    return { ok: false, findings: [{ path: "", message: `The reply cannot be checked: ${why}` }] };
  }
  // The value as it was sent: zod's output drops or adds keys.
  if (parsed.success) return { ok: true, value };
  return {
    ok: false,
    findings: parsed.error.issues.map((issue) => ({ path: issue.path.join("."), message: issue.message })),
  };
}

/** Models like to wrap JSON in a Markdown fence even when told not to. */
function withoutFence(text: string): string {
  return /^\s*```(?:json)?\s*\n([\s\S]*)\n\s*```\s*$/.exec(text)?.[1] ?? text;
}

const NAMED = new Set(["properties", "$defs", "definitions"]);
const DATA = new Set(["const", "enum", "default", "examples"]);

function usesPattern(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(usesPattern);
  if (schema === null || typeof schema !== "object") return false;
  return Object.entries(schema).some(([key, inner]) => {
    if (key === "pattern" || key === "patternProperties") return true;
    if (DATA.has(key)) return false;
    // Under these the keys are the author's names, not keywords.
    if (NAMED.has(key)) return inner !== null && typeof inner === "object" && Object.values(inner).some(usesPattern);
    return usesPattern(inner);
  });
}
