/** Writes conditions as text. All dialects use the spelling of CodeMentor where it has one, so that people read one language of checks. */
import type { Comparison, Condition, Operand } from "@markmill/engine";

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

/** Writes the parts of a condition that have no usual spelling. These functions may throw. */
export interface Unusual {
  readonly comparison: (op: Comparison) => string;
  readonly operand: (operand: Operand) => string;
  readonly hits: (condition: Extract<Condition, { op: "hits" }>) => string;
}

/** The nearest words for people. CodeMentor's own words have a slightly different meaning. */
const inOtherDialects: Partial<Record<Comparison, string>> = {
  isNot: "IS NOT",
  includes: "CONTAINS",
  above: ">",
  atLeast: ">=",
  below: "<",
  atMost: "<=",
};

const inWords: Unusual = {
  comparison: (op) => inOtherDialects[op] ?? op.toUpperCase(),
  operand(operand) {
    if (operand.from === "template") return quote(operand.text);
    return "list" in operand ? `${operand.from} ${operand.list}` : "name" in operand ? operand.name : operand.from;
  },
  hits: ({ node, is, count }) => `hits of ${node} ${is === "less" ? "<" : ">="} ${count}`,
};

/** Writes a condition of any dialect as text for people. */
export function describeCondition(condition: Condition): string {
  return writeCondition(condition, inWords);
}

export function writeCondition(condition: Condition, unusual: Unusual): string {
  const side = (operand: Operand) => formatOperand(operand, unusual);
  switch (condition.op) {
    case "and":
    case "or":
      return condition.of
        .map((inner) => (isChain(inner) ? `(${writeCondition(inner, unusual)})` : writeCondition(inner, unusual)))
        .join(` ${condition.op} `);
    case "not":
      return `not (${writeCondition(condition.of, unusual)})`;
    case "empty":
      return `${side(condition.left)} IS EMPTY`;
    case "in":
      return `${side(condition.left)} IN (${condition.of.map(side).join(", ")})`;
    case "hits":
      return unusual.hits(condition);
    default:
      return `${side(condition.left)} ${spelling[condition.op] ?? unusual.comparison(condition.op)} ${side(condition.right)}`;
  }
}

function isChain(condition: Condition): boolean {
  return condition.op === "and" || condition.op === "or";
}

function formatOperand(operand: Operand, unusual: Unusual): string {
  switch (operand.from) {
    case "name":
      return operand.name;
    case "literal":
      return quote(operand.text);
    case "file":
      return `file:${operand.path}`;
    default:
      return unusual.operand(operand);
  }
}

function quote(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  return mark + text.replaceAll(mark, mark + mark) + mark;
}
