/**
 * Reads a task's `schema`: a JSON Schema, its text, or base64 of a schema or of an instruction in words. The model receives the
 * instruction.
 */
import { isRecord } from "@markmill/base/json";
import type { Json } from "@markmill/engine";
import { plainJson } from "../../parse-json.ts";
import { schemaProblem, withLowerTypes } from "./check-schema.ts";
import { type Fields, type Reading, wrong } from "./json-fields.ts";
import type { ReplyForm } from "./task-file.ts";

export function readReplyForm(fields: Fields, what: string, reading: Reading): ReplyForm | null {
  const value = fields.get("schema");
  if (value === undefined) return null;
  const invalid = (why: string): null => {
    const message = `The schema of ${what} cannot be used: ${why}.`;
    wrong(reading, "SCHEMA_INVALID", value.at, message, "Write a JSON Schema with type and properties.");
    return null;
  };
  if (value.is !== "object" && value.is !== "string") return invalid("it is neither an object nor text");
  const schema = value.is === "object" ? withLowerTypes(plainJson(value)) : objectIn(value.text);
  if (schema !== null) {
    const problem = schemaProblem(schema);
    return problem === null ? { is: "schema", schema } : invalid(problem);
  }
  if (value.is !== "string") return invalid("it is not an object");
  const decoded = fromBase64(value.text);
  if (decoded === null) return invalid("it is neither JSON nor base64");
  const inner = objectIn(decoded);
  if (inner === null) return { is: "instruction", text: decoded };
  const problem = schemaProblem(inner);
  return problem === null ? { is: "schema", schema: inner } : invalid(problem);
}

function objectIn(text: string): Json | null {
  try {
    const value = JSON.parse(text) as Json;
    return isRecord(value) ? withLowerTypes(value) : null;
  } catch {
    return null;
  }
}

function fromBase64(text: string): string | null {
  const bare = text.replace(/\s/g, "");
  if (bare === "" || bare.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(bare)) return null;
  try {
    const decoded = new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(bare, "base64"));
    return decoded.trim() === "" || decoded.includes("\0") ? null : decoded;
  } catch {
    return null;
  }
}
