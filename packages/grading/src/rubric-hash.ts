import { createHash } from "node:crypto";
import type { Rubric } from "./rubric.ts";

/** Two rubrics that say the same have the same. */
export function rubricHash(rubric: Rubric): string {
  return createHash("sha256")
    .update(JSON.stringify(sorted(rubric)))
    .digest("hex");
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, member]) => [name, sorted(member)] as const)
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}
