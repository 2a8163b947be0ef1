/** Lists the operands of a condition, from left to right. */
import type { Condition } from "./condition.ts";
import type { Operand } from "./operand.ts";

export function conditionOperands(condition: Condition): readonly Operand[] {
  switch (condition.op) {
    case "and":
    case "or":
      return condition.of.flatMap(conditionOperands);
    case "not":
      return conditionOperands(condition.of);
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
