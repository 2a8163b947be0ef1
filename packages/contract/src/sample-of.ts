/**
 * Generates a value that matches a JSON Schema, for the examples of the OpenAPI document: the first of several alternatives, one item per
 * list, and texts that match the field's name.
 */
type Json = { readonly [key: string]: unknown };

const hex = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const id = "0199b2f4-7c1e-7d3a-9f10-5b6c7d8e9f01";
/** By the name of the field. */
const texts: Readonly<Record<string, string>> = {
  name: "Lab 3",
  email: "ada@example.edu",
  key: "ada@example.edu",
  work: "ada@example.edu",
  by: "grace",
  code: "LIMIT_COST",
  message: "what happened, in one sentence",
  reason: "why, in one sentence",
  node: "START",
  model: "gpt-5-mini",
  definition: hex,
  path: "main.wf.md",
  root: "main.wf.md",
  program: "main.wf.md",
  file: "main.wf.md",
  version: "1.0.0",
};

export function sampleOf(schema: Json, components: Json, field = "", depth = 0): unknown {
  const { $ref, examples, anyOf, oneOf, allOf, type, properties, items, required } = schema;
  if (Array.isArray(examples) && examples.length > 0) return examples[0];
  if ("const" in schema) return schema.const;
  if ("default" in schema) return schema.default;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (typeof $ref === "string") {
    const found = components[$ref.slice($ref.lastIndexOf("/") + 1)];
    return depth > 12 ? null : sampleOf((found ?? {}) as Json, components, field, depth + 1);
  }
  const [first] = [anyOf, oneOf, allOf].flatMap((forms) => (Array.isArray(forms) ? (forms as Json[]) : []));
  if (first !== undefined) return sampleOf(first, components, field, depth + 1);
  if (type === "object" || properties !== undefined) {
    const known = Object.entries((properties ?? {}) as Record<string, Json>).filter(
      ([name]) => Array.isArray(required) && required.includes(name),
    );
    return Object.fromEntries(known.map(([name, one]) => [name, sampleOf(one, components, name, depth + 1)]));
  }
  if (type === "array") return depth > 12 ? [] : [sampleOf((items ?? {}) as Json, components, field, depth + 1)];
  if (type === "integer" || type === "number") return Math.max(1, Number(schema.minimum ?? 1));
  if (type === "boolean") return true;
  if (type === "null") return null;
  return type === "string" ? textOf(schema, field) : null;
}

function textOf({ format, pattern }: Json, field: string): string {
  if (format === "date-time") return "2026-11-13T17:16:00.000Z";
  if (typeof pattern === "string") {
    const fits = [id, hex, "1", "default", "a1b2c3d4e5f6a7b8c9d0", texts[field] ?? ""];
    return fits.find((one) => new RegExp(pattern, "u").test(one)) ?? "";
  }
  return texts[field] ?? field;
}
