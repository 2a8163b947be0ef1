import { allow } from "../bounds.ts";
import type { Outcome } from "../event.ts";
import { failure } from "../failure.ts";
import { fillCommand } from "../fill-command.ts";
import type { ExecuteNode } from "../program.ts";
import { placeValue } from "../resolve.ts";
import { type NodeRule, scopeOf, tellUnknown, type Write, warn } from "../turn.ts";
import { unfit } from "./passed.ts";

/**
 * Runs the author's command, or the commands that a reply proposes. RESULT becomes the transcript, EXIT_CODE the last non-zero code or 0,
 * and TEST_RESULTS the results of a judge's tests. `evidence.ts` defines how long the last two keep their values and how they reach a
 * caller.
 */
export const execute: NodeRule<ExecuteNode> = {
  begin(turn, node, visit) {
    if (node.command === null) {
      const text = turn.state.variables.RESULT ?? "";
      return { do: "work", work: { kind: "execute", source: "reply", text, ...cleanOf(node) } };
    }
    const scope = scopeOf(turn, visit.reads);
    let length = node.command.length;
    const fits = () => allow(length, turn.state.bounds, "The command with its places filled");
    const command = fillCommand(node.command, (name) => {
      const value = placeValue(name, scope);
      length += value?.length ?? 0;
      fits();
      return value;
    });
    if (!command.ok) {
      return { do: "fail", failure: failure("VALUE_INVALID", `{{${command.name}}} in the command: ${command.why}.`) };
    }
    // Quoting makes the text longer, at most four times.
    length = command.text.length;
    fits();
    tellUnknown(turn, command.unknown, visit.id);
    const where = node.session === undefined ? {} : { session: node.session };
    const work = { kind: "execute", source: "literal", text: command.text, ...where, ...cleanOf(node) } as const;
    return { do: "work", work };
  },
  finish(turn, node, active, outcome) {
    if (outcome.kind !== "executed") return unfit;
    const writes: Write[] = [
      { to: "variable", name: "RESULT", text: outcome.text },
      { to: "variable", name: "EXIT_CODE", text: exitCodeOf(outcome), assigned: true },
    ];
    if (node.session === "judge" && outcome.tests !== undefined) {
      writes.push({ to: "variable", name: TEST_RESULTS, text: outcome.tests, assigned: true });
    }
    if (outcome.commands === 0) {
      warn(turn, "NO_COMMANDS", "RESULT contained no code block with commands.", active.ref.node);
      const drawn = turn.graph.out.get(active.ref.node)?.some(({ edge }) => edge.on === "fail") ?? false;
      return { go: "on", on: drawn ? "fail" : "ok", writes, failure: failure("NO_COMMANDS") };
    }
    if (node.nonZero === "fail" && outcome.exitCode !== 0) {
      return {
        go: "on",
        on: "fail",
        writes,
        failure: failure("NON_ZERO_EXIT", `A command ended with exit code ${outcome.exitCode}.`),
      };
    }
    return { go: "on", on: "ok", writes };
  },
};

const TEST_RESULTS = "TEST_RESULTS";

/** If no command ran, there is no exit code, not even 0. */
function exitCodeOf({ commands, exitCode }: Extract<Outcome, { kind: "executed" }>): string {
  return commands === 0 ? "" : String(exitCode);
}

const cleanOf = ({ clean }: ExecuteNode) => (clean === undefined ? {} : { clean });
