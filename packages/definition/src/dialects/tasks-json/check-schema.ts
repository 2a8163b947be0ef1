/** Whether a JSON Schema can be used: it compiles, its references lead somewhere, and it holds no pattern. */
import type { Json } from "@markmill/engine";
import { z } from "zod";

/** What is wrong with it, or null. */
export function schemaProblem(schema: Json): string | null {
  if (!isRecord(schema)) return "it is no object";
  const problem = referenceProblem(schema);
  if (problem !== null) return problem;
  if (usesPattern(schema)) return '"pattern" is not supported, because it would run over text that a student can write';
  try {
    z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function isRecord(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A reference may lead back to where it stands only through something that holds a value. */
function referenceProblem(root: Json): string | null {
  const pending: Json[] = [root];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (Array.isArray(next)) pending.push(...next);
    if (!isRecord(next)) continue;
    const seen = new Set<Json>();
    for (let at: Json | undefined = next; isRecord(at) && typeof at.$ref === "string"; ) {
      const reference: string = at.$ref;
      if (seen.has(at)) return `the reference ${reference} leads back to itself`;
      seen.add(at);
      at = lookUp(root, reference);
      if (at === undefined) return `the reference ${reference.slice(0, 100)} leads nowhere inside the schema`;
    }
    pending.push(...Object.values(next));
  }
  return null;
}

function lookUp(root: Json, reference: string): Json | undefined {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  let at: Json | undefined = root;
  for (const part of reference.slice(2).split("/")) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(at)) at = at[Number(key)];
    else at = isRecord(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  }
  return at;
}

/** Under these the keys are the author's names, or data, and no keywords. */
const named: ReadonlySet<string> = new Set(["properties", "$defs", "definitions"]);
const data: ReadonlySet<string> = new Set(["const", "enum", "default", "examples"]);

function usesPattern(schema: Json): boolean {
  if (Array.isArray(schema)) return schema.some(usesPattern);
  if (!isRecord(schema)) return false;
  return Object.entries(schema).some(([key, inner]) => {
    if (key === "pattern" || key === "patternProperties") return true;
    if (data.has(key)) return false;
    if (named.has(key)) return isRecord(inner) && Object.values(inner).some(usesPattern);
    return usesPattern(inner);
  });
}
