/** Reads the JSON Schema that a PROMPT names, with the place of each mistake in it. */
import { type Json, schemaProblem } from "@markmill/engine";
import type { Place } from "../../finding.ts";
import { type JsonValue, parseJson, plainJson } from "../../parse-json.ts";
import type { WorkflowReport } from "./workflow-codes.ts";

const mostCharacters = 64 * 1024;
const fix = 'Write one JSON Schema, such as { "type": "object", "properties": { "points": { "type": "integer" } } }.';

/** `at`: the place of the first character. Returns null, with a finding, if the schema cannot be used. */
export function readSchema(text: string, name: string, at: Place, report: WorkflowReport): Json | null {
  const wrong = (offset: number, why: string): null => {
    report.error("PROMPT_SCHEMA", placeIn(text, offset, at), `The schema ${name} cannot be used: ${why}`, fix);
    return null;
  };
  if (text.length > mostCharacters) return wrong(0, `it is longer than ${mostCharacters} characters.`);
  const parsed = parseJson(text);
  if (!parsed.ok) return wrong(parsed.at, parsed.message);
  const { value } = parsed;
  if (value.is !== "object") return wrong(value.at, "it is not an object.");
  const schema = plainJson(value);
  const problem = schemaProblem(schema);
  if (problem === null) return schema;
  return wrong(offsetOf(value, problem.path), `${problem.path}: ${problem.message}.`);
}

/** Keys may contain dots, so the longest matching key is used. */
function offsetOf(value: JsonValue, path: string): number {
  if (path === "") return value.at;
  if (value.is === "array") {
    const [index = ""] = path.split(".", 1);
    const item = value.items[Number(index)];
    return item === undefined ? value.at : offsetOf(item, path.slice(index.length + 1));
  }
  if (value.is !== "object") return value.at;
  const member = value.members
    .filter(({ key }) => path === key || path.startsWith(`${key}.`))
    .toSorted((one, other) => other.key.length - one.key.length)[0];
  return member === undefined ? value.at : offsetOf(member.value, path.slice(member.key.length + 1));
}

function placeIn(text: string, offset: number, { file, line, column }: Place): Place {
  const before = text.slice(0, offset);
  const lines = before.split("\n");
  const last = lines.at(-1) ?? "";
  return { file, line: line + lines.length - 1, column: lines.length === 1 ? column + last.length : last.length + 1 };
}
