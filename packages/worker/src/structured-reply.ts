/** Reads a reply, or the arguments of a tool call, as JSON of a given schema. The value stays as it was sent. */
import { isRecord } from "@markmill/base/json";
import { findMisfits, type SchemaFinding, schemaProblem } from "@markmill/engine";
import { parseJson, readJsonReply } from "@markmill/llm";

export type StructuredReply =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly findings: readonly SchemaFinding[] };

export type StructuredText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly findings: readonly SchemaFinding[] };

export function readStructuredReply(text: string, schema: unknown): StructuredReply {
  const parsed = readJsonReply(text);
  return "value" in parsed ? fitting(parsed.value, schema) : notJson("The reply is", parsed.why);
}

/** Does the same and returns the JSON as text, without a fence or words around it, so that the next step can read it. */
export function readStructuredText(text: string, schema: unknown): StructuredText {
  const read = readStructuredReply(text, schema);
  if (!read.ok) return read;
  return { ok: true, text: "value" in parseJson(text) ? text : JSON.stringify(read.value) };
}

/**
 * Reads the arguments of a tool call and checks them against the tool's schema. An empty text means no arguments. `uncheckable: "pass"`:
 * the tool itself also checks, so a schema that cannot be used here refuses nothing.
 */
export function readToolArguments(
  text: string,
  schema: unknown,
  uncheckable: "refuse" | "pass" = "refuse",
): StructuredReply {
  const parsed = text.trim() === "" ? { value: {} } : parseJson(text);
  if (!("value" in parsed)) return notJson("The arguments are", parsed.why);
  const { value } = parsed;
  if (!isRecord(value)) {
    return { ok: false, findings: [{ path: "", message: "The arguments are not a JSON object." }] };
  }
  const problem = schemaProblem(schema, { pattern: "any" });
  if (problem === null) return fitting(value, schema);
  if (uncheckable === "pass") return { ok: true, value };
  return { ok: false, findings: [{ path: "", message: `The schema cannot be used: ${tellFinding(problem)}.` }] };
}

/** Includes the place of the finding. */
export function tellFinding({ path, message }: SchemaFinding): string {
  return path === "" ? message : `${path}: ${message}`;
}

function fitting(value: unknown, schema: unknown): StructuredReply {
  const findings = findMisfits(schema, value);
  return findings.length === 0 ? { ok: true, value } : { ok: false, findings };
}

function notJson(what: string, why: string): StructuredReply {
  return { ok: false, findings: [{ path: "", message: `${what} not JSON: ${why}` }] };
}
