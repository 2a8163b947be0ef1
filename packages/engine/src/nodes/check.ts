import type { Condition } from "../condition.ts";
import { evaluateCondition } from "../evaluate-condition.ts";
import type { Operand } from "../operand.ts";
import type { CheckNode } from "../program.ts";
import { type NodeRule, scopeOf, warn } from "../turn.ts";
import { filesOf, fileToRead } from "./authored-value.ts";

/** True goes on with ok, false with fail; RESULT is left alone. */
export const check: NodeRule<CheckNode> = {
  begin(turn, node) {
    const read = operandsOf(node.condition).flatMap((operand) => fileToRead(turn, operand) ?? []);
    return { do: "work", work: { kind: "check", read: [...new Set(read)] } };
  },
  finish(turn, node, active, outcome) {
    const verdict = evaluateCondition(node.condition, scopeOf(turn, active.reads, filesOf(outcome)));
    for (const doubt of verdict.doubts) warn(turn, doubt.code, doubt.message, active.ref.node);
    turn.checked.push({ activity: active.ref, holds: verdict.holds });
    return { go: "on", on: verdict.holds ? "ok" : "fail", writes: [] };
  },
};

function operandsOf(condition: Condition): readonly Operand[] {
  switch (condition.op) {
    case "and":
    case "or":
      return condition.of.flatMap(operandsOf);
    case "not":
      return operandsOf(condition.of);
    case "empty":
      return [condition.left];
    case "in":
      return [condition.left, ...condition.of];
    case "hits":
      return [];
    default:
      return [condition.left, condition.right];
  }
}
