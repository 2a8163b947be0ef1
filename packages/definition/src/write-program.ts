import type { Program } from "@markmill/engine";
import type { DialectRules, Drawing, FormatOptions } from "./dialects/dialect.ts";
import { rulesOf } from "./dialects/dialects.ts";
import { NotExpressible } from "./not-expressible.ts";

/** A program as a file of its own dialect, which loads as the same program again; throws NotExpressible. */
export function formatProgram(program: Program, options: FormatOptions = {}): string {
  return rulesFor(program).format(program, options);
}

/** A program as a flowchart for people; null: its dialect has no words for it. */
export function drawProgram(program: Program): Drawing | null {
  try {
    return rulesFor(program).draw(program);
  } catch (error) {
    if (error instanceof NotExpressible) return null;
    throw error;
  }
}

function rulesFor({ dialect }: Program): DialectRules {
  const rules = rulesOf(dialect);
  if (rules === undefined) throw new NotExpressible(dialect, "a file");
  return rules;
}
