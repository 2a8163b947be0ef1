/**
 * Finds assertions of a test file that compare the clock or the processor's time: they fail when the machine is busy.
 *
 * C1  A clock is `performance.now()`, `Date.now()`, `new Date()`, `process.hrtime()`, `process.cpuUsage()` and their like, a property that is
 *     named as a duration (`durationMs`, `elapsed`, `tookMs`), and what arithmetic, `Math` and lists make of one. A variable, a list or a
 *     function that holds or returns a clock is one by its name, in the whole file.
 * C2  An assertion is reported if a matcher that compares sizes has a clock on either side.
 * C3  So is one whose own text compares the sizes of clocks: `expect(ms < 100).toBe(true)`, `assert(ms < 100)`.
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
  ...["process.hrtime", "process.hrtime.bigint", "process.cpuUsage", "process.threadCpuUsage", "process.resourceUsage"],
]);
const durations = /^(?:duration|elapsed|took|lasted)(?:Ms|Millis|Seconds|S)?$/;
/** What makes a clock, or a list of clocks, of a clock or a list of clocks. */
const keeping = new Set([
  ...["getTime", "valueOf", "at", "sort", "toSorted", "slice", "reverse", "toReversed", "map", "filter", "reduce"],
  ...["toFixed", "flat"],
]);
/** Of what a clock gives, and of the outcome of a command. */
const parts = new Set(["user", "system", "utilization"]);
const comparisons = /^toBe(?:Less|Greater)Than(?:OrEqual)?$|^toBeCloseTo$/;

export function findClockComparisons(file: string, text: string): readonly ClockComparison[] {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${errors[0]?.message}`);
  const assigned: (readonly [name: string, value: Expression])[] = [];
  /** Names of what was taken out of an object under the name of a duration. */
  const durable = new Set<string>();
  const assign = (to: Expression, value: Expression | null | undefined) => {
    if (value == null) return;
    if (to.type === "Identifier") assigned.push([to.name as string, value]);
    if (to.type === "ObjectPattern")
      for (const { key, value: name } of to.properties as readonly Record<string, Expression>[])
        if (key?.type === "Identifier" && name?.type === "Identifier" && durations.test(key.name as string))
          durable.add(name.name as string);
    if (to.type !== "ArrayPattern" || value.type !== "ArrayExpression") return;
    const values = value.elements as readonly (Expression | null)[];
    for (const [index, one] of (to.elements as readonly (Expression | null)[]).entries())
      if (one !== null) assign(one, values[index]);
  };
  const asserted: Expression[] = [];
  const claimed: Expression[] = [];
  /** The functions around the place that is visited, from the outside. Empty: it has no name. */
  const within: string[] = [];
  const called = new Map<number, string>();
  const name = (to: unknown, value: unknown) => {
    const key = to as Expression | null;
    const made = value as Expression | null;
    if (key?.type === "Identifier" && made?.type.endsWith("FunctionExpression"))
      called.set(made.start, key.name as string);
  };
  new Visitor({
    VariableDeclarator(node) {
      name(node.id, node.init);
      assign(node.id as unknown as Expression, node.init as unknown as Expression | null);
    },
    AssignmentExpression(node) {
      assign(node.left as unknown as Expression, node.right as unknown as Expression);
    },
    Property(node) {
      name(node.key, node.value);
      // `{ at: Date.now() }` makes no clock of every `at`.
      if (node.value.type.endsWith("FunctionExpression"))
        assign(node.key as unknown as Expression, node.value as unknown as Expression);
    },
    FunctionDeclaration: (node) => void within.push(node.id?.name ?? ""),
    "FunctionDeclaration:exit": () => void within.pop(),
    FunctionExpression: (node) => void within.push(called.get(node.start) ?? ""),
    "FunctionExpression:exit": () => void within.pop(),
    ArrowFunctionExpression: (node) => void within.push(called.get(node.start) ?? ""),
    "ArrowFunctionExpression:exit": () => void within.pop(),
    ReturnStatement(node) {
      const of = within.at(-1) ?? "";
      if (of !== "" && node.argument !== null) assigned.push([of, node.argument as unknown as Expression]);
    },
    CallExpression(node) {
      const call = node as unknown as Expression;
      const callee = nameOf(node.callee as unknown as Expression);
      if (/^expect(?:\.(?:soft|poll))?$|^assert(?:\.ok|\.equal|\.strictEqual)?$/.test(callee)) claimed.push(call);
      if (node.callee.type !== "MemberExpression" || node.callee.computed) return;
      if (comparisons.test(node.callee.property.name)) asserted.push(call);
      const { object, property } = node.callee;
      if ((property.name === "push" || property.name === "add") && object.type === "Identifier")
        for (const one of call.arguments as readonly Expression[]) assigned.push([object.name, one]);
    },
  }).visit(program);

  const named = new Set<string>(durable);
  for (let before = -1; before < named.size; ) {
    before = named.size;
    for (const [name, value] of assigned) if (isClock(value, named)) named.add(name);
  }
  const compared = asserted.filter((call) => {
    const wanted = call.arguments as readonly Expression[];
    return [...expectedIn(call), ...wanted].some((one) => isClock(one, named));
  });
  const told = claimed.filter((call) =>
    (call.arguments as readonly Expression[]).some((one) => hasComparison(one, named)),
  );
  return [...compared, ...told]
    .sort((a, b) => a.start - b.start)
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

const orders = new Set(["<", ">", "<=", ">="]);

/** C3. */
function hasComparison(node: unknown, named: ReadonlySet<string>): boolean {
  if (Array.isArray(node)) return node.some((one) => hasComparison(one, named));
  if (typeof node !== "object" || node === null) return false;
  const { type, operator, left, right } = node as Expression;
  if (type === "BinaryExpression" && orders.has(operator as string))
    if ([left, right].some((side) => isClock(side as Expression, named))) return true;
  return Object.values(node).some((part) => hasComparison(part, named));
}

function isClock(node: Expression, named: ReadonlySet<string>): boolean {
  const is = (part: unknown) => part != null && isClock(part as Expression, named);
  switch (node.type) {
    case "Identifier":
      return named.has(node.name as string);
    case "CallExpression": {
      const callee = node.callee as Expression;
      const name = nameOf(callee);
      const through = /^(?:Number|BigInt)$/.test(name) || name.startsWith("Math.");
      if (clocks.has(name) || named.has(name.split(".").at(-1) ?? "")) return true;
      if (through && (node.arguments as readonly unknown[]).some(is)) return true;
      return (
        callee.type === "MemberExpression" && keeping.has(nameOf(callee.property as Expression)) && is(callee.object)
      );
    }
    case "NewExpression":
      return nameOf(node.callee as Expression) === "Date" && (node.arguments as readonly unknown[]).length === 0;
    case "MemberExpression": {
      if (node.computed === true) return is(node.object);
      const name = nameOf(node.property as Expression);
      return durations.test(name) || (parts.has(name) && is(node.object));
    }
    case "ArrayExpression":
      return (node.elements as readonly unknown[]).some(is);
    case "SpreadElement":
      return is(node.argument);
    case "ConditionalExpression":
      return is(node.consequent) || is(node.alternate);
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
