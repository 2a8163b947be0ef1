/**
 * Finds assertions of a test file that compare the clock or the processor's time: they fail when the machine is busy.
 *
 * C1  A clock is `performance.now()`, `Date.now()`, `process.hrtime()`, `process.cpuUsage()` and their like, a property `durationMs`, and
 *     what arithmetic and `Math` make of one. A variable, or a function of one expression, that holds a clock is one by its name, in the
 *     whole file.
 * C2  An assertion is reported if a matcher that compares sizes has a clock on either side.
 */
import { parseSync, Visitor } from "oxc-parser";

interface ClockComparison {
  readonly text: string;
  readonly line: number;
}

/** As much of a syntax tree as is read here. */
interface Expression {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

const clocks = new Set([
  ...["performance.now", "Date.now", "performance.eventLoopUtilization", "process.uptime"],
  ...["process.hrtime", "process.hrtime.bigint", "process.cpuUsage", "process.threadCpuUsage"],
]);
/** Of what a clock gives, and of the outcome of a command. */
const parts = new Set(["user", "system", "utilization"]);
const comparisons = /^toBe(?:Less|Greater)Than(?:OrEqual)?$|^toBeCloseTo$/;

export function findClockComparisons(file: string, text: string): readonly ClockComparison[] {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${errors[0]?.message}`);
  const assigned: (readonly [name: string, value: Expression])[] = [];
  const assign = (to: Expression, value: Expression | null | undefined) => {
    if (value == null) return;
    if (to.type === "Identifier") assigned.push([to.name as string, value]);
    if (to.type !== "ArrayPattern" || value.type !== "ArrayExpression") return;
    const values = value.elements as readonly (Expression | null)[];
    for (const [index, one] of (to.elements as readonly (Expression | null)[]).entries())
      if (one !== null) assign(one, values[index]);
  };
  const asserted: Expression[] = [];
  new Visitor({
    VariableDeclarator(node) {
      assign(node.id as unknown as Expression, node.init as unknown as Expression | null);
    },
    AssignmentExpression(node) {
      assign(node.left as unknown as Expression, node.right as unknown as Expression);
    },
    CallExpression(node) {
      if (
        node.callee.type === "MemberExpression" &&
        !node.callee.computed &&
        comparisons.test(node.callee.property.name)
      )
        asserted.push(node as unknown as Expression);
    },
  }).visit(program);

  const named = new Set<string>();
  for (let before = -1; before < named.size; ) {
    before = named.size;
    for (const [name, value] of assigned) if (isClock(value, named)) named.add(name);
  }
  return asserted
    .filter((call) => {
      const wanted = call.arguments as readonly Expression[];
      return [...expectedIn(call), ...wanted].some((one) => isClock(one, named));
    })
    .map(({ start, end }) => ({
      text: text.slice(start, end).replaceAll(/\s+/g, " "),
      line: text.slice(0, start).split("\n").length,
    }));
}

/** The arguments of `expect`, `expect.poll` or `expect.soft` at the head of a chain of matchers. */
function expectedIn(node: Expression): readonly Expression[] {
  if (node.type === "MemberExpression") return expectedIn(node.object as Expression);
  if (node.type !== "CallExpression") return [];
  const callee = node.callee as Expression;
  return /^expect(?:\.\w+)?$/.test(nameOf(callee)) ? (node.arguments as readonly Expression[]) : expectedIn(callee);
}

/** `a.b.c`; empty for anything else. */
function nameOf(node: Expression): string {
  if (node.type === "Identifier") return node.name as string;
  if (node.type !== "MemberExpression" || node.computed === true) return "";
  return `${nameOf(node.object as Expression)}.${nameOf(node.property as Expression)}`;
}

function isClock(node: Expression, named: ReadonlySet<string>): boolean {
  const is = (part: unknown) => part != null && isClock(part as Expression, named);
  switch (node.type) {
    case "Identifier":
      return named.has(node.name as string);
    case "CallExpression": {
      const name = nameOf(node.callee as Expression);
      const through = name === "Number" || name.startsWith("Math.");
      return clocks.has(name) || named.has(name) || (through && (node.arguments as readonly unknown[]).some(is));
    }
    case "MemberExpression": {
      const name = nameOf(node.property as Expression);
      return name === "durationMs" || (parts.has(name) && is(node.object));
    }
    case "BinaryExpression":
      return ["+", "-", "*", "/"].includes(node.operator as string) && (is(node.left) || is(node.right));
    case "LogicalExpression":
      return is(node.left) || is(node.right);
    case "ArrowFunctionExpression":
      return node.expression === true && is(node.body);
    case "AwaitExpression":
    case "UnaryExpression":
      return is(node.argument);
    case "ChainExpression":
    case "ParenthesizedExpression":
    case "TSAsExpression":
    case "TSNonNullExpression":
      return is(node.expression);
    default:
      return false;
  }
}
