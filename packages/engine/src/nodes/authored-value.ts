/** Reads the value that an author names for SET and ASSIGN, and names the file that must be read for it. */
import type { Outcome } from "../event.ts";
import { type Failure, failure } from "../failure.ts";
import type { Operand } from "../operand.ts";
import { own } from "../own-value.ts";
import { resolve } from "../resolve.ts";
import type { Active } from "../state.ts";
import { change, scopeOf, type Turn, tellUnknown } from "../turn.ts";

/** A file that was missing when the definition was loaded may be part of the submission. */
export function fileToRead(turn: Turn, operand: Operand): string | null {
  return operand.from === "file" && own(turn.program.files, operand.path) === undefined ? operand.path : null;
}

export function filesOf(outcome: Outcome): Readonly<Record<string, string>> {
  return outcome.kind === "done" ? (outcome.files ?? {}) : {};
}

export function authoredValue(turn: Turn, operand: Operand, active: Active, outcome: Outcome): string | Failure {
  const value = resolve(operand, scopeOf(turn, active.reads, filesOf(outcome)));
  tellUnknown(turn, value.unknown, active.ref.node);
  if (value.lists !== null) change(turn, { lists: value.lists });
  return value.text ?? missing(operand);
}

export function missing(operand: Operand): Failure {
  if (operand.from !== "file") return failure("READ_MISSING");
  const where = "below the workflow's or the submission's folder";
  return failure("FILE_MISSING", `The file '${operand.path}' was not found ${where}.`);
}
