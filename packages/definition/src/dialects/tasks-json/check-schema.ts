/** Whether a JSON Schema can be used, and with the names of types that the dialect's files have. */
import { schemaProblem as findProblem, type Json } from "@markmill/engine";

/** What is wrong with it, or null. */
export function schemaProblem(schema: Json): string | null {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return "it is not an object";
  const problem = findProblem(schema);
  if (problem === null) return null;
  return problem.path === "" ? problem.message : `${problem.path}: ${problem.message}`;
}

/** Keys below these are the author's names; values of the others are data. */
const named: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
]);
const data: ReadonlySet<string> = new Set(["const", "enum", "default", "examples"]);

/** Some makers write types in capitals (`STRING`); the standard, and the endpoints that get the schema, know small letters only. */
export function withLowerTypes(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withLowerTypes);
  if (typeof schema !== "object" || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, inner]): [string, Json] => {
      if (key === "type") return [key, lower(inner)];
      if (data.has(key)) return [key, inner];
      if (!named.has(key) || typeof inner !== "object" || inner === null || Array.isArray(inner))
        return [key, withLowerTypes(inner)];
      return [key, Object.fromEntries(Object.entries(inner).map(([name, of]) => [name, withLowerTypes(of)]))];
    }),
  );
}

function lower(type: Json): Json {
  if (Array.isArray(type)) return type.map(lower);
  return typeof type === "string" && /^[A-Z]+$/.test(type) ? type.toLowerCase() : type;
}
