import type { Program } from "@markmill/engine";
import type { DialectRules, Drawing, FormatOptions } from "./dialects/dialect.ts";
import { rulesOf } from "./dialects/dialects.ts";
import { NotExpressible } from "./not-expressible.ts";

/** Writes a program as a file of its own dialect that loads as the same program. Throws NotExpressible. */
export function formatProgram(program: Program, options: FormatOptions = {}): string {
  return rulesFor(program).format(program, options);
}

/** Draws a program as a flowchart for people. Returns null if its dialect cannot express it. */
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
