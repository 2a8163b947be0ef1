// Reads a reply, or the arguments of a tool call, that was asked to be JSON of a given schema. zod compiles the schema (it is here anyway, and refuses a keyword it
// cannot check instead of passing it by); `pattern` is refused on top, because it would run an author's regular expression with
// backtracking over text a student can influence.
import { z } from "zod";
import { parseJson, readJsonReply } from "./json-in-reply.ts";
import type { ReplySchema } from "./model-request.ts";

interface SchemaFinding {
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
  const parsed = readJsonReply(text);
  return "value" in parsed ? fitsSchema(parsed.value, schema, "reply") : notJson("reply", parsed.why);
}

/**
 * The arguments of a tool call, checked against the tool's schema. Without any text there are none. `pattern` is not checked here: a server
 * of tools may use it, and checks it itself; the model is told of it with the schema.
 */
export function readToolArguments(
  text: string,
  schema: ReplySchema["schema"],
  uncheckable: "refuse" | "pass" = "refuse",
): StructuredReply {
  const parsed = text.trim() === "" ? { value: {} } : parseJson(text);
  if (!("value" in parsed)) return notJson("arguments", parsed.why);
  const { value } = parsed;
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    return { ok: false, findings: [{ path: "", message: "The arguments are no JSON object." }] };
  }
  return fitsSchema(value, withoutPatterns(schema) as ReplySchema["schema"], "arguments", uncheckable);
}

type Checked = "reply" | "arguments";

function notJson(what: Checked, why: string): StructuredReply {
  return { ok: false, findings: [{ path: "", message: `The ${what} ${isOf(what)} not JSON: ${why}` }] };
}

const isOf = (what: Checked) => (what === "reply" ? "is" : "are");

function fitsSchema(
  value: unknown,
  schema: ReplySchema["schema"],
  what: Checked,
  uncheckable: "refuse" | "pass" = "refuse",
): StructuredReply {
  let parsed: z.ZodSafeParseResult<unknown>;
  try {
    parsed = z.fromJSONSchema(schema).safeParse(value);
  } catch (error) {
    if (uncheckable === "pass") return { ok: true, value };
    // A schema that refers to itself, and a reply nested deeper than the stack.
    const why = error instanceof Error ? error.message : String(error);
    return { ok: false, findings: [{ path: "", message: `The ${what} cannot be checked: ${why}` }] };
  }
  // The value as it was sent: zod's output drops or adds keys.
  if (parsed.success) return { ok: true, value };
  return {
    ok: false,
    findings: parsed.error.issues.map((issue) => ({ path: issue.path.join("."), message: issue.message })),
  };
}

const NAMED = new Set(["properties", "$defs", "definitions"]);
const DATA = new Set(["const", "enum", "default", "examples"]);

function withoutPatterns(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutPatterns);
  if (schema === null || typeof schema !== "object") return schema;
  return Object.fromEntries(
    Object.entries(schema).flatMap(([key, inner]): [string, unknown][] => {
      if (key === "pattern" || key === "patternProperties") return [];
      if (DATA.has(key)) return [[key, inner]];
      if (!NAMED.has(key) || inner === null || typeof inner !== "object") return [[key, withoutPatterns(inner)]];
      return [[key, Object.fromEntries(Object.entries(inner).map(([name, of]) => [name, withoutPatterns(of)]))]];
    }),
  );
}

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
