import { evaluateCondition } from "../evaluate-condition.ts";
import type { CheckNode } from "../program.ts";
import { type NodeRule, scopeOf, warn } from "../turn.ts";
import { filesOf } from "./authored-value.ts";

/** True goes on with ok, false with fail; RESULT is left alone. */
export const check: NodeRule<CheckNode> = {
  begin: () => ({ do: "work", work: { kind: "check" } }),
  finish(turn, node, active, outcome) {
    const verdict = evaluateCondition(node.condition, scopeOf(turn, active.reads, filesOf(outcome)));
    for (const doubt of verdict.doubts) warn(turn, doubt.code, doubt.message, active.ref.node);
    return { go: "on", on: verdict.holds ? "ok" : "fail", writes: [] };
  },
};
