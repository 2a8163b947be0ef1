/** Checks whether a JSON Schema can be used, and normalises the spelling of types in the dialect's files. */
import { isRecord } from "@markmill/base/json";
import { schemaProblem as findProblem, type Json } from "@markmill/engine";

/** Returns the problem of the schema, or null. */
export function schemaProblem(schema: Json): string | null {
  if (!isRecord(schema)) return "it is not an object";
  const problem = findProblem(schema);
  if (problem === null) return null;
  return problem.path === "" ? problem.message : `${problem.path}: ${problem.message}`;
}

/** Keys below `named` are the author's names. Values of `data` are plain data. */
const named: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
]);
const data: ReadonlySet<string> = new Set(["const", "enum", "default", "examples"]);

/** Some authors write types in capitals (`STRING`). The standard, and the endpoints that receive the schema, accept only lower case. */
export function withLowerTypes(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withLowerTypes);
  if (typeof schema !== "object" || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, inner]): [string, Json] => {
      if (key === "type") return [key, lower(inner)];
      if (data.has(key)) return [key, inner];
      if (!named.has(key) || !isRecord(inner)) return [key, withLowerTypes(inner)];
      return [key, Object.fromEntries(Object.entries(inner).map(([name, of]) => [name, withLowerTypes(of)]))];
    }),
  );
}

function lower(type: Json): Json {
  if (Array.isArray(type)) return type.map(lower);
  return typeof type === "string" && /^[A-Z]+$/.test(type) ? type.toLowerCase() : type;
}
