/**
 * Grades the submission. The task is the author's text. Values of placeholders in it may contain a student's words, so they are sent
 * separately, by name, and the model sees them as data. RESULT becomes a short summary, and a check can use OUTCOME and POINTS.
 */
import { allow } from "../bounds.ts";
import { failure } from "../failure.ts";
import { usualGrading } from "../grading.ts";
import type { Operand } from "../operand.ts";
import { own } from "../own-value.ts";
import type { GradeNode } from "../program.ts";
import { placesOf, render } from "../render.ts";
import { placeValue } from "../resolve.ts";
import { settingsFor } from "../settings.ts";
import { type NodeRule, scopeOf, type Turn, tellUnknown, type Write } from "../turn.ts";
import { unfit } from "./passed.ts";
import { aside } from "./prompt.ts";

/** An EXECUTE in a judge session writes this variable from results that contained its nonce. */
const TEST_RESULTS = "TEST_RESULTS";

export const grade: NodeRule<GradeNode> = {
  begin(turn, node, visit) {
    const { program, state } = turn;
    if (program.rubric === undefined) return { do: "fail", failure: failure("RUBRIC_ABSENT") };
    const written = writtenTask(turn, node.task);
    if (written === null) return { do: "fail", failure: failure("FILE_MISSING") };
    const scope = scopeOf(turn, visit.reads);
    const given: Record<string, string> = {};
    const unknown: string[] = [];
    for (const name of placesOf(written)) {
      const value = placeValue(name, scope);
      if (value === null) unknown.push(name);
      else given[name] = value;
    }
    tellUnknown(turn, unknown, visit.id);
    const fits = (length: number) => allow(length, state.bounds, "The task");
    const { text: task } = render(written, (name) => (own(given, name) === undefined ? null : `[${name}]`), fits);
    return {
      do: "work",
      work: {
        kind: "grade",
        rubric: program.rubric,
        task,
        given,
        authored: Object.keys(given).filter((name) => isAuthored(turn, name)),
        tests: own(state.variables, TEST_RESULTS) ?? null,
        settings: settingsFor(turn, node.agent ?? "", node.settings ?? {}),
        grading: program.grading ?? usualGrading,
        ...aside(turn),
      },
    };
  },

  finish(_turn, _node, _active, outcome) {
    if (outcome.kind !== "graded") return unfit;
    const { is, points, text } = outcome;
    const writes: Write[] = [
      { to: "variable", name: "RESULT", text },
      { to: "variable", name: "OUTCOME", text: is, assigned: true },
      { to: "variable", name: "POINTS", text: points === null ? "" : String(points), assigned: true },
    ];
    if (is !== "grader error") return { go: "on", on: "ok", writes };
    return { go: "on", on: "fail", writes, failure: failure("GRADER_ERROR", text) };
  },
};

/**
 * Returns whether the value comes from the author: a prompt of the workflow, an environment variable, a parameter's default, or a parameter
 * of the root run that no node has written. A node of the caller may have written a callee's variables, so those do not count.
 */
function isAuthored({ program, state }: Turn, name: string): boolean {
  const value = own(state.variables, name);
  if (value === undefined) return true;
  const param = program.params.find((one) => one.name === name);
  if (param === undefined) return false;
  return param.default === value || (state.depth === 0 && !state.assigned.includes(name));
}

/** Returns null for a file that did not come with the definition. */
function writtenTask({ program }: Turn, task: Operand): string | null {
  switch (task.from) {
    case "name":
      return own(program.prompts, task.name)?.text ?? task.name;
    case "template":
    case "literal":
      return task.text;
    case "file":
      return own(program.files, task.path) ?? null;
    default:
      return null;
  }
}
