/**
 * Finds the regular expressions of a source file: literals, `RegExp("…")` and `text.match("…")` with constant text.
 *
 * F1  Constant text is a string, a number, or what `+`, templates, `join` and `replaceAll` make of constants of the same file.
 * F2  A `RegExp` made from anything else is reported as computed: nobody can check it without running the program.
 */
import { parseSync, Visitor } from "oxc-parser";

interface Pattern {
  readonly source: string;
  readonly flags: string;
  readonly line: number;
}

export interface FoundPatterns {
  readonly constant: readonly Pattern[];
  /** The text of the call. */
  readonly computed: readonly { readonly text: string; readonly line: number }[];
}

export function findPatterns(file: string, text: string): FoundPatterns {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${errors[0]?.message}`);
  const constant: Pattern[] = [];
  const computed: { text: string; line: number }[] = [];
  const constants = constantsOf(program);
  const lineOf = (offset: number) => text.slice(0, offset).split("\n").length;

  const made = (node: { start: number; end: number }, args: readonly unknown[]) => {
    const [pattern, flags] = args as [Expression | undefined, Expression | undefined];
    // A pattern that is made from a literal is checked as that literal.
    if (pattern === undefined || isLiteralPattern(pattern)) return;
    const source = constantText(pattern, constants);
    const given = flags === undefined ? "" : constantText(flags, constants);
    if (source === undefined || given === undefined)
      computed.push({ text: text.slice(node.start, node.end), line: lineOf(node.start) });
    else constant.push({ source, flags: given, line: lineOf(node.start) });
  };

  new Visitor({
    Literal(node) {
      if ("regex" in node)
        constant.push({ source: node.regex.pattern, flags: node.regex.flags, line: lineOf(node.start) });
    },
    NewExpression(node) {
      if (node.callee.type === "Identifier" && node.callee.name === "RegExp") made(node, node.arguments);
    },
    CallExpression(node) {
      const { callee } = node;
      if (callee.type === "Identifier" && callee.name === "RegExp") made(node, node.arguments);
      const method = callee.type === "MemberExpression" && !callee.computed ? callee.property.name : "";
      if (!["match", "matchAll", "search"].includes(method)) return;
      const source = constantText(node.arguments[0] as Expression | undefined, constants);
      if (source !== undefined) constant.push({ source, flags: "", line: lineOf(node.start) });
    },
  }).visit(program);
  return { constant, computed };
}

/** As much of a syntax tree as is read here. */
interface Expression {
  readonly type: string;
  readonly [key: string]: unknown;
}

function isLiteralPattern(node: Expression): boolean {
  return node.type === "Literal" && "regex" in node;
}

/** The constants of the file's top level, by name. */
type Constants = ReadonlyMap<string, Expression>;

function constantsOf(program: { readonly body: readonly unknown[] }): Constants {
  const constants = new Map<string, Expression>();
  for (const statement of program.body as readonly Expression[]) {
    const declaration = (statement.type === "ExportNamedDeclaration" ? statement.declaration : statement) as Expression;
    if (declaration?.type !== "VariableDeclaration" || declaration.kind !== "const") continue;
    for (const { id, init } of declaration.declarations as readonly { id: { name?: string }; init: Expression }[])
      if (id.name !== undefined) constants.set(id.name, init);
  }
  return constants;
}

function constantText(node: Expression | undefined, constants: Constants): string | undefined {
  if (node === undefined) return undefined;
  const text = (part: unknown) => constantText(part as Expression | undefined, constants);
  switch (node.type) {
    case "Literal":
      return typeof node.value === "string" || typeof node.value === "number" ? String(node.value) : undefined;
    case "Identifier":
      return text(constants.get(node.name as string));
    case "TemplateLiteral":
      return templateText(node, "cooked", text);
    case "TaggedTemplateExpression": {
      const tag = node.tag as { object?: { name?: string }; property?: { name?: string } };
      const isRaw = tag.object?.name === "String" && tag.property?.name === "raw";
      return isRaw ? templateText(node.quasi as Expression, "raw", text) : undefined;
    }
    case "BinaryExpression":
      return node.operator === "+" ? joined([text(node.left), text(node.right)], "") : undefined;
    case "MemberExpression": {
      const { object, property } = node as unknown as { object: { name?: string }; property: { name?: string } };
      const literal = constants.get(object.name ?? "");
      const isSource = property.name === "source" && literal !== undefined && isLiteralPattern(literal);
      return isSource ? (literal.regex as { pattern: string }).pattern : undefined;
    }
    case "CallExpression":
      return calledText(node, text);
    default:
      return undefined;
  }
}

type TextOf = (part: unknown) => string | undefined;

/** `[…].join("|")` and `text.replaceAll(a, b)`. */
function calledText(node: Expression, text: TextOf): string | undefined {
  const { object, property } = node.callee as { object?: Expression; property?: { name?: string } };
  const args = node.arguments as readonly unknown[];
  if (property?.name === "join" && object?.type === "ArrayExpression") {
    const between = text(args[0]);
    return between === undefined ? undefined : joined((object.elements as readonly unknown[]).map(text), between);
  }
  const [whole, from, to] = [text(object), text(args[0]), text(args[1])];
  const isKnown = property?.name === "replaceAll" && whole !== undefined && from !== undefined && to !== undefined;
  return isKnown ? whole.replaceAll(from, to) : undefined;
}

function templateText(node: Expression, form: "cooked" | "raw", text: TextOf): string | undefined {
  const quasis = node.quasis as readonly { readonly value: Record<"cooked" | "raw", string> }[];
  const places = (node.expressions as readonly unknown[]).map(text);
  return joined(
    quasis.flatMap((quasi, index) => (index === 0 ? [quasi.value[form]] : [places[index - 1], quasi.value[form]])),
    "",
  );
}

function joined(parts: readonly (string | undefined)[], between: string): string | undefined {
  return parts.every((part) => part !== undefined) ? parts.join(between) : undefined;
}
