import { conditionOperands } from "../condition-operands.ts";
import { evaluateCondition } from "../evaluate-condition.ts";
import type { CheckNode } from "../program.ts";
import { type NodeRule, scopeOf, warn } from "../turn.ts";
import { filesOf, fileToRead } from "./authored-value.ts";

/** True leads to ok, false to fail. RESULT does not change. */
export const check: NodeRule<CheckNode> = {
  begin(turn, node) {
    const read = conditionOperands(node.condition).flatMap((operand) => fileToRead(turn, operand) ?? []);
    return { do: "work", work: { kind: "check", read: [...new Set(read)] } };
  },
  finish(turn, node, active, outcome) {
    const verdict = evaluateCondition(node.condition, scopeOf(turn, active.reads, filesOf(outcome)));
    for (const doubt of verdict.doubts) warn(turn, doubt.code, doubt.message, active.ref.node);
    turn.checked.push({ activity: active.ref, holds: verdict.holds });
    return { go: "on", on: verdict.holds ? "ok" : "fail", writes: [] };
  },
};
