import type { Comparison, Condition, Operand } from "@markmill/engine";
import { NotExpressible } from "../not-expressible.ts";

const spelling: Partial<Record<Comparison, string>> = {
  equals: "==",
  differs: "!=",
  contains: "CONTAINS",
  matches: "MATCHES",
  greater: ">",
  greaterEqual: ">=",
  less: "<",
  lessEqual: "<=",
};

/** The text that parseCheck reads back as this condition. */
export function formatCheck(condition: Condition): string {
  switch (condition.op) {
    case "and":
    case "or":
      return condition.of
        .map((inner) => (isChain(inner) ? `(${formatCheck(inner)})` : formatCheck(inner)))
        .join(` ${condition.op} `);
    case "not":
      return `not (${formatCheck(condition.of)})`;
    case "empty":
      return `${formatOperand(condition.left)} IS EMPTY`;
    case "in":
      return `${formatOperand(condition.left)} IN (${condition.of.map(formatOperand).join(", ")})`;
    case "hits":
      throw new NotExpressible("a condition on hits");
    default: {
      const operator = spelling[condition.op];
      if (operator === undefined) throw new NotExpressible(`the comparison ${condition.op}`);
      return `${formatOperand(condition.left)} ${operator} ${formatOperand(condition.right)}`;
    }
  }
}

function isChain(condition: Condition): boolean {
  return condition.op === "and" || condition.op === "or";
}

function formatOperand(operand: Operand): string {
  switch (operand.from) {
    case "name":
      return operand.name;
    case "literal":
      return quote(operand.text);
    case "file":
      return `file:${operand.path}`;
    default:
      throw new NotExpressible(`an operand from ${operand.from} in a check`);
  }
}

function quote(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  return mark + text.replaceAll(mark, mark + mark) + mark;
}
