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

/** How the parts of a condition are spelt for which CodeMentor has no words; these may throw. */
interface Foreign {
  readonly comparison: (op: Comparison) => string;
  readonly operand: (operand: Operand) => string;
  readonly hits: (condition: Extract<Condition, { op: "hits" }>) => string;
}

const refused: Foreign = {
  comparison(op) {
    throw new NotExpressible(`the comparison ${op}`);
  },
  operand({ from }) {
    throw new NotExpressible(`an operand from ${from} in a check`);
  },
  hits() {
    throw new NotExpressible("a condition on hits");
  },
};

const inWords: Foreign = {
  comparison: (op) => (op === "isNot" ? "IS NOT" : op.toUpperCase()),
  operand(operand) {
    if (operand.from === "template") return quote(operand.text);
    return "list" in operand ? `${operand.from} ${operand.list}` : "name" in operand ? operand.name : operand.from;
  },
  hits: ({ node, is, count }) => `hits of ${node} ${is === "less" ? "<" : ">="} ${count}`,
};

/** The text that parseCheck reads back as this condition; throws NotExpressible where there is none. */
export function formatCheck(condition: Condition): string {
  return write(condition, refused);
}

/** A condition of any dialect as text for people. Where formatCheck has a text, it is that text. */
export function describeCheck(condition: Condition): string {
  return write(condition, inWords);
}

function write(condition: Condition, foreign: Foreign): string {
  const side = (operand: Operand) => formatOperand(operand, foreign);
  switch (condition.op) {
    case "and":
    case "or":
      return condition.of
        .map((inner) => (isChain(inner) ? `(${write(inner, foreign)})` : write(inner, foreign)))
        .join(` ${condition.op} `);
    case "not":
      return `not (${write(condition.of, foreign)})`;
    case "empty":
      return `${side(condition.left)} IS EMPTY`;
    case "in":
      return `${side(condition.left)} IN (${condition.of.map(side).join(", ")})`;
    case "hits":
      return foreign.hits(condition);
    default:
      return `${side(condition.left)} ${spelling[condition.op] ?? foreign.comparison(condition.op)} ${side(condition.right)}`;
  }
}

function isChain(condition: Condition): boolean {
  return condition.op === "and" || condition.op === "or";
}

function formatOperand(operand: Operand, foreign: Foreign): string {
  switch (operand.from) {
    case "name":
      return operand.name;
    case "literal":
      return quote(operand.text);
    case "file":
      return `file:${operand.path}`;
    default:
      return foreign.operand(operand);
  }
}

function quote(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  return mark + text.replaceAll(mark, mark + mark) + mark;
}
