/**
 * Evidence: the variables EXIT_CODE, TEST_RESULTS, OUTCOME and POINTS. The run writes them, and checks and grades rely on them.
 *
 * V1  EXIT_CODE belongs to the latest EXECUTE, TEST_RESULTS to the latest judge, OUTCOME and POINTS to the latest GRADE.
 * V2  A node empties its own evidence when it begins. A node that fails leaves it empty, so no earlier value decides anything.
 * V3  Evidence that a called workflow wrote or emptied replaces the caller's evidence, at any depth. A callee that wrote none changes
 *     nothing.
 * V4  A handler's evidence stays in its run. The caller gets the values from before the handler.
 * V5  Items of a map run at the same time, and none of them is the latest. Evidence that any of their callees wrote becomes empty. If two
 *     branches of a flow make calls, the callee that returns last counts.
 * V6  Workflows that a model calls as tools return no evidence, because a model must not be able to write it.
 *
 * Every change is part of the step that begins or ends the activity. On kill -9 before the step is committed, none of it happened.
 */
import { own } from "./own-value.ts";
import type { Node } from "./program.ts";
import type { RunState } from "./state.ts";
import { applyWrites, type Turn } from "./turn.ts";

const names = ["EXIT_CODE", "TEST_RESULTS", "OUTCOME", "POINTS"] as const;

/** The names of the evidence that a node writes. */
function writtenBy(node: Node): readonly string[] {
  if (node.kind === "grade") return ["OUTCOME", "POINTS"];
  if (node.kind !== "execute") return [];
  return node.session === "judge" ? ["EXIT_CODE", "TEST_RESULTS"] : ["EXIT_CODE"];
}

/** Applies V2. */
export function emptyEvidence(turn: Turn, node: Node): void {
  empty(turn, writtenBy(node));
}

/** Applies V5. */
export function emptyReturnedEvidence(turn: Turn, returned: Readonly<Record<string, string>>): void {
  empty(
    turn,
    names.filter((name) => Object.hasOwn(returned, name)),
  );
}

/** Skips evidence that is absent or already empty. */
function empty(turn: Turn, which: readonly string[]): void {
  for (const name of which) {
    if ((own(turn.state.variables, name) ?? "") === "") continue;
    applyWrites(turn, null, [{ to: "variable", name, text: "", assigned: true }]);
  }
}

/** The evidence that the run would return to its caller now. */
export function evidenceOf({ variables, assigned }: RunState): Readonly<Record<string, string>> {
  const written = names.filter((name) => assigned.includes(name));
  return Object.fromEntries(written.map((name) => [name, own(variables, name) ?? ""]));
}

/** The variables that a caller receives (V3, V4). */
export function returnedVariables({ variables, assigned, phase }: RunState): Record<string, string> {
  const before = phase.is === "handling" ? phase.ended.evidence : undefined;
  const returned: [string, string][] = [];
  for (const name of assigned) {
    const kept = before === undefined || !isEvidence(name) ? own(variables, name) : own(before, name);
    if (kept !== undefined || before === undefined || !isEvidence(name)) returned.push([name, kept ?? ""]);
  }
  return Object.fromEntries(returned);
}

function isEvidence(name: string): boolean {
  return (names as readonly string[]).includes(name);
}
