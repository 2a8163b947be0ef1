/** Compiles one vertex of the flowchart to one node of the program, from its id, caption and attributes. */
import {
  type Condition,
  type Json,
  looksNumeric,
  type ModelSettings,
  type Node,
  type NumberReading,
  type Operand,
  readNumber,
  runStatuses,
  settingProblem,
} from "@markmill/engine";
import type { Place } from "../../finding.ts";
import { duration, readAmount } from "../../quantity.ts";
import type { ActivityKind } from "./activity-kind.ts";
import { parseCheck } from "./expression/parse-check.ts";
import { isTypographicQuote } from "./expression/tokenize.ts";
import { camelCase, present, settingNumber, settingsSchema } from "./front-matter.ts";
import { invisibleCharacter, invisibleIn } from "./invisible-characters.ts";
import type { Vertex } from "./mermaid/flowchart.ts";
import { isParamName } from "./parse-params.ts";
import type { WorkflowReport } from "./workflow-codes.ts";

export interface NodeContext {
  readonly report: WorkflowReport;
  readonly lenient: boolean;
  /** Names of the workflow's tools. */
  readonly tools: readonly string[];
  /** Ids that have a caption, for "did you mean" at a vertex without a caption. */
  readonly defined: () => Iterable<string>;
  /** Returns the key of the program that a CALL names. */
  readonly callee: (node: string, written: string, at: Place) => string;
  /** Returns the path of a file operand below the root; null, with a finding, if the path leaves the root. */
  readonly file: (written: string, at: Place) => string | null;
  /** Returns the JSON Schema, by its name or from a file; null, with a finding, if it cannot be used. */
  readonly schema: (written: string, at: Place) => Json | null;
  /** Returns the path of a file that the node writes; null, with a finding, if the path leaves the root. */
  readonly target: (written: string, at: Place) => string | null;
}

type Activity = Exclude<ActivityKind, "PARAMS">;

/** Attributes that concern only the drawing. */
const drawing = new Set([
  "shape",
  "label",
  "labeltype",
  "icon",
  "form",
  "pos",
  "w",
  "h",
  "img",
  "constraint",
  "animate",
  "animation",
  "curve",
]);
const settingNames = Object.keys(settingsSchema.shape);
const attributesOf: Partial<Record<Activity, readonly string[]>> = {
  PROMPT: ["agent", "tools", "rounds", "schema", ...settingNames],
  GRADE: ["agent", ...settingNames],
  EXECUTE: ["onFailure", "repeat", "session", "start"],
  ASK: ["timeout", "default"],
  CHECK: ["verdicts", "number", "decimal"],
};

/** Activities whose captions should begin with a word of their own. */
const wantsPrefix = new Set<Activity>(["PROMPT", "EXECUTE"]);
export const captionPrefix = /^\s*(prompt|execute|grade|assign|set|check|ask|call)\s*:/i;
/** Matches the rest of `["Execute: echo "hi""]`. The inner quotes end the caption, so its outer quotes became part of it. */
export const quotedPrefix = /^\s*"\s*(prompt|execute|grade|assign|set|check|ask|call)\s*:/i;

interface Caption {
  /** Without the prefix and outer white space. */
  readonly text: string;
  readonly at: Place;
}

export function compileNode(vertex: Vertex, kind: Activity, context: NodeContext): Node | null {
  checkAttributes(vertex, kind, context.report);
  switch (kind) {
    case "START":
    case "ON":
      return present({ kind: "start", label: labelOf(vertex) }) as Node;
    case "SUCCESS":
    case "FAILED":
      return present({
        kind: "end",
        outcome: kind === "SUCCESS" ? "success" : "failed",
        label: labelOf(vertex),
      }) as Node;
    default:
      return compileActivity(vertex, kind, readCaption(vertex, kind, context.report), context);
  }
}

function labelOf(vertex: Vertex): string | undefined {
  const text = vertex.caption?.trim() ?? "";
  return text === "" ? undefined : text;
}

function compileActivity(
  vertex: Vertex,
  kind: Exclude<Activity, "START" | "ON" | "SUCCESS" | "FAILED">,
  caption: Caption,
  context: NodeContext,
): Node | null {
  switch (kind) {
    case "EXECUTE":
      if (vertex.captionBreakAt !== null) {
        context.report.warn(
          "EXECUTE_LINE_BREAK",
          vertex.captionBreakAt,
          `\\n in the command of ${vertex.id} became a line break.`,
          "Write #92;n for a backslash and an n, and <br> for a line break.",
        );
      }
      return {
        kind: "execute",
        command: caption.text === "" ? null : caption.text,
        nonZero: choice(vertex, "onFailure", { fail: "fail", continue: "ok" }, "ok", context.report),
        repeat: choice(vertex, "repeat", { safe: "safe", never: "never" }, "safe", context.report),
        ...sessionOf(vertex, caption, context.report),
        ...(startsClean(vertex, context.report) ? { clean: true as const } : {}),
      };
    case "ASK":
      return compileAsk(vertex, caption, context.report);
    case "PROMPT": {
      if (!hasCaption(vertex, caption, "Prompt: User Task", context)) return null;
      const text = operand(caption.text, caption.at, context);
      if (text === null) return null;
      const agent = attribute(vertex, "agent")?.text.trim();
      const settings = nodeSettings(vertex, context.report);
      const named = attribute(vertex, "schema");
      const schema = named === undefined ? undefined : (context.schema(named.text.trim(), named.at) ?? undefined);
      return present({ kind: "prompt", text, agent, settings, ...offered(vertex, context), schema }) as Node;
    }
    case "GRADE": {
      const words = { from: "template", text: "" } as const;
      const task = caption.text === "" ? words : operand(caption.text, caption.at, context);
      if (task === null) return null;
      const agent = attribute(vertex, "agent")?.text.trim();
      return present({ kind: "grade", task, agent, settings: nodeSettings(vertex, context.report) }) as Node;
    }
    case "ASSIGN": {
      if (!hasCaption(vertex, caption, "Assign: 'text'", context)) return null;
      const value = operand(caption.text, caption.at, context);
      return value === null ? null : { kind: "assign", value };
    }
    case "CALL": {
      if (!hasCaption(vertex, caption, "other.wf.md", context)) return null;
      return { kind: "call", program: context.callee(vertex.id, caption.text, caption.at) };
    }
    case "SET":
      return hasCaption(vertex, caption, "NAME=value", context) ? compileSet(caption, context) : null;
    case "CHECK":
      return hasCaption(vertex, caption, "RESULT == 'SUCCESS'", context)
        ? compileCheck(vertex, caption, context)
        : null;
  }
}

/** Commands of a reply may repeat a student's words, so they never run in the session that decides the grade. */
function sessionOf(vertex: Vertex, caption: Caption, report: WorkflowReport): { session?: "judge" } {
  const session = choice(vertex, "session", { judge: "judge", student: "student" }, "student", report);
  if (session === "student") return {};
  if (caption.text === "") {
    report.error(
      "JUDGE_FROM_REPLY",
      caption.at,
      `${vertex.id} would run commands from a model's reply in the judge session.`,
      "Write the command into the caption, or remove the attribute session.",
    );
  }
  return { session };
}

function hasCaption(vertex: Vertex, caption: Caption, example: string, context: NodeContext): boolean {
  if (caption.text !== "") return true;
  const near = vertex.caption === null ? context.report.didYouMean(vertex.id, context.defined) : "";
  context.report.error(
    "CAPTION_MISSING",
    caption.at,
    `${vertex.id} has no action: its caption is ${vertex.caption === null ? "missing" : "empty"}.`,
    `${near}Give it a caption, such as ${vertex.id}["${example}"].`,
  );
  return false;
}

function readCaption(vertex: Vertex, kind: Activity, report: WorkflowReport): Caption {
  const at = vertex.captionAt ?? vertex.at;
  const written = withoutOuterQuotes(vertex, kind, at, report);
  const found = captionPrefix.exec(written);
  const word = found?.[1]?.toUpperCase() ?? null;
  const strips = found !== null && (kind === "ASK" ? word === "ASK" : true);
  if (strips && word !== kind) {
    report.warn(
      "CAPTION_PREFIX",
      at,
      `${vertex.id} is of kind ${kind}, but its caption starts with "${found[0].trim()}".`,
      `Start the caption with "${titleCase(kind)}:", or rename the node.`,
    );
  } else if (found === null && wantsPrefix.has(kind) && (written.trim() !== "" || kind === "EXECUTE")) {
    const shown = written.trim().slice(0, 40).replaceAll('"', "#quot;").replaceAll("\n", "<br>");
    report.warn(
      "CAPTION_PREFIX",
      at,
      `The caption of ${vertex.id} does not start with "${titleCase(kind)}:".`,
      `Write ${vertex.id}["${titleCase(kind)}: ${shown}"].`,
    );
  }
  const rest = strips ? written.slice(found[0].length) : written;
  const text = rest.trim();
  const skipped = written.length - rest.length + (rest.length - rest.trimStart().length);
  return { text, at: vertex.captionAt === null ? at : shift(at, skipped) };
}

/** Returns the caption. If inner quotes broke it, returns the most likely intended text, so that the rest is checked, too. */
function withoutOuterQuotes(vertex: Vertex, kind: Activity, at: Place, report: WorkflowReport): string {
  const written = vertex.caption ?? "";
  const word = quotedPrefix.exec(written)?.[1]?.toUpperCase();
  // A question may begin with such a word in quotes.
  if (word === undefined || (kind === "ASK" && word !== "ASK")) return written;
  report.error(
    "CAPTION_QUOTES",
    at,
    `The caption of ${vertex.id} is in double quotes and contains double quotes.`,
    "Inside a quoted caption write #quot; for a double quote, or use '…'.",
  );
  return written.trim().replace(/^"|"$/g, "");
}

function titleCase(kind: Activity): string {
  return kind.charAt(0) + kind.slice(1).toLowerCase();
}

function shift(at: Place, columns: number): Place {
  return { ...at, column: at.column + columns };
}

/**
 * Reads `'constant'`, `"constant"` (a doubled quote means one quote, as in CHECK), `file:path`, or a name. Returns null for a path that
 * leaves the root.
 */
function operand(text: string, at: Place, context: NodeContext): Operand | null {
  const constant = unquote(text);
  if (constant !== null) return { from: "template", text: constant };
  if (isTypographicQuote(text.charAt(0))) {
    context.report.warn(
      "QUOTE_TYPOGRAPHIC",
      at,
      `${text.charAt(0)} is a typographic quote. It is part of the text and does not quote.`,
      "Write '…' with straight quotes.",
    );
  }
  if (!text.startsWith("file:")) {
    const code = text.length > 100 ? null : invisibleCharacter(text);
    if (code !== null) reportInvisible(context.report, `The name "${text.slice(0, 40)}"`, code, at);
    return { from: "name", name: text };
  }
  const path = context.file(text.slice(5).trim(), shift(at, 5));
  return path === null ? null : { from: "file", path };
}

function unquote(text: string): string | null {
  const mark = text.charAt(0);
  const quoted = text.length > 1 && (mark === "'" || mark === '"') && text.endsWith(mark);
  return quoted ? text.slice(1, -1).replaceAll(mark + mark, mark) : null;
}

export function reportInvisible(report: WorkflowReport, what: string, code: string, at: Place): void {
  const kind = code === "U+00A0" ? "a no-break space" : "an invisible character";
  report.warn(
    "NAME_INVISIBLE",
    at,
    `${what} holds ${kind} (${code}), so it differs from the same name with a plain space or without it.`,
    "Type the name again, with plain spaces.",
  );
}

function compileSet(caption: Caption, context: NodeContext): Node | null {
  const { text, at } = caption;
  const sign = text.indexOf("=");
  const left = (sign < 0 ? text : text.slice(0, sign)).trim();
  const right = sign < 0 ? "" : text.slice(sign + 1);
  if (sign < 0 || left === "") {
    context.report.error(
      "SET_SYNTAX",
      at,
      sign < 0 ? `"${text.slice(0, 40)}" sets no variable, because = is missing.` : "The name before = is missing.",
      "Write NAME=value, such as SCORE=RESULT or COUNT='0'.",
    );
    return null;
  }
  const valueAt = shift(at, sign + 1 + right.length - right.trimStart().length);
  if (right.trimStart().startsWith("=")) {
    context.report.warn(
      "SET_EQUALS",
      valueAt,
      `The value of ${left.slice(0, 40)} starts with =.`,
      "Write one = to set a value, and a CHECK to compare; quote the value if the sign belongs to it.",
    );
  }
  const value =
    right.trim() === "" ? ({ from: "template", text: "" } as const) : operand(right.trim(), valueAt, context);
  if (left.startsWith("file:")) {
    const path = context.target(left.slice(5).trim(), shift(at, 5));
    return path === null || value === null ? null : { kind: "set", target: { to: "file", path }, value };
  }
  if (!isParamName(left)) {
    context.report.error(
      "SET_NAME",
      at,
      `"${left.slice(0, 40)}" is not a name for a variable${invisibleIn(left)}.`,
      "Use letters, digits and underscores, and start with a letter.",
    );
    return null;
  }
  if (left === "STATUS" && value !== null) checkStatus(value, valueAt, context.report);
  if (value !== null) checkSetting(left, value, valueAt, context.report);
  return value === null ? null : { kind: "set", target: { to: "variable", name: left }, value };
}

/** Returns the text of a value that is certainly constant, or null. A name may be a variable. */
function constantOf(value: Operand): string | null {
  const text =
    value.from === "template" ? value.text : value.from === "name" && !isParamName(value.name) ? value.name : null;
  return text === null || text.includes("{{") ? null : text;
}

/** Checks a constant like the default of a parameter. The run checks a value that is known only then. */
function checkSetting(name: string, value: Operand, at: Place, report: WorkflowReport): void {
  const constant = constantOf(value);
  const problem = constant === null ? null : settingProblem(name, constant);
  if (problem === null || constant === null) return;
  report.error(
    "SET_NUMBER",
    at,
    `${name} cannot be "${constant.slice(0, 40)}": ${problem.expected}.`,
    `Write ${name}=${problem.example}, or remove the node.`,
  );
}

/** A name may be a variable that contains a status. A constant must be a valid status. */
function checkStatus(value: Operand, at: Place, report: WorkflowReport): void {
  const constant = constantOf(value);
  if (constant === null || runStatuses.includes(constant.trim())) return;
  report.error(
    "SET_STATUS",
    at,
    `STATUS cannot be "${constant.slice(0, 40)}".`,
    `${report.didYouMean(constant, runStatuses)}Valid values: ${runStatuses.join(", ")}.`,
  );
}

function compileCheck(vertex: Vertex, caption: Caption, context: NodeContext): Node | null {
  const exactness = { lenient: "lenient", exact: "exact" } as const;
  const verdicts = choice(vertex, "verdicts", exactness, context.lenient ? "lenient" : "exact", context.report);
  const parsed = parseCheck(caption.text, verdicts === "lenient");
  if (!parsed.ok) {
    context.report.error(parsed.code, shift(caption.at, parsed.offset), `${vertex.id}: ${parsed.message}`, parsed.fix);
    return null;
  }
  const located = locateFiles(parsed.condition, (path) => context.file(path, caption.at) ?? path);
  return {
    kind: "check",
    condition: withNumbers(located, numbersOf(vertex, context.report), vertex, caption, context),
  };
}

/** Reads which number a CHECK compares, and which sign separates its decimals. */
function numbersOf(vertex: Vertex, report: WorkflowReport): NumberReading {
  const which = attribute(vertex, "number");
  const word = which?.text.trim().toLowerCase();
  const position = word === "first" || word === "last" ? word : Number(word);
  const isPosition = typeof position === "string" || (/^[1-9][0-9]?$/.test(word ?? "") && position >= 1);
  if (which !== undefined && !isPosition) {
    report.error(
      "ATTRIBUTE_VALUE",
      which.at,
      `number of ${vertex.id} is "${which.text.slice(0, 40)}".`,
      "Write first, last, or a position from 1 to 99: which number of the first line is compared.",
    );
  }
  const signs = { point: "point", ".": "point", comma: "comma", ",": "comma" } as const;
  const decimal =
    attribute(vertex, "decimal") === undefined ? undefined : choice(vertex, "decimal", signs, "point", report);
  return {
    ...(which === undefined || !isPosition ? {} : { which: position }),
    ...(decimal === undefined ? {} : { decimal }),
  };
}

const ordered: ReadonlySet<string> = new Set(["greater", "greaterEqual", "less", "lessEqual"]);

/** Adds to each comparison of numbers the way in which its numbers are read. A number that the author wrote must have one reading. */
function withNumbers(
  condition: Condition,
  numbers: NumberReading,
  vertex: Vertex,
  caption: Caption,
  { report }: NodeContext,
): Condition {
  let compares = false;
  const inside = (one: Condition): Condition => {
    if (one.op === "and" || one.op === "or") return { ...one, of: one.of.map(inside) };
    if (one.op === "not") return { ...one, of: inside(one.of) };
    if (!ordered.has(one.op) || !("right" in one)) return one;
    compares = true;
    const { decimal } = numbers;
    const written = one.right.from === "literal" && looksNumeric(one.right.text) ? one.right.text : null;
    if (written !== null && readNumber(written, decimal === undefined ? {} : { decimal }).is !== "number") {
      report.error(
        "CHECK_NUMBER",
        caption.at,
        `${vertex.id}: ${written.slice(0, 40)} can be read as two different numbers.`,
        "Write it with a point and without separators of thousands, such as 1500 or 2.5; or set decimal: comma on the CHECK.",
      );
    }
    return Object.keys(numbers).length === 0 ? one : { ...one, numbers };
  };
  const read = inside(condition);
  for (const name of ["number", "decimal"]) {
    const given = attribute(vertex, name);
    if (compares || given === undefined) continue;
    const why = `${name} has no effect on ${vertex.id}, which compares no numbers.`;
    report.warn("ATTRIBUTE_UNKNOWN", given.at, why, "Remove it, or compare with > >= < <=.");
  }
  return read;
}

function locateFiles(condition: Condition, locate: (path: string) => string): Condition {
  const one = (operand: Operand): Operand =>
    operand.from === "file" ? { from: "file", path: locate(operand.path) } : operand;
  switch (condition.op) {
    case "and":
    case "or":
      return { ...condition, of: condition.of.map((inner) => locateFiles(inner, locate)) };
    case "not":
      return { ...condition, of: locateFiles(condition.of, locate) };
    case "empty":
      return { ...condition, left: one(condition.left) };
    case "in":
      return { ...condition, left: one(condition.left), of: condition.of.map(one) };
    case "hits":
      return condition;
    default:
      return { ...condition, left: one(condition.left), right: one(condition.right) };
  }
}

function compileAsk(vertex: Vertex, caption: Caption, report: WorkflowReport): Node {
  const timeout = attribute(vertex, "timeout");
  const wait = timeout === undefined ? undefined : readAmount(duration, timeout.text);
  if (timeout !== undefined && wait?.ok === false) {
    report.error(
      "ATTRIBUTE_VALUE",
      timeout.at,
      `"${timeout.text.slice(0, 40)}" is not a time to wait: ${wait.problem}.`,
      `Write something like ${duration.like}.`,
    );
  }
  const otherwise = attribute(vertex, "default")?.text;
  return present({
    kind: "ask",
    question: caption.text,
    timeoutMs: wait?.ok ? wait.value : undefined,
    otherwise,
  }) as Node;
}

function attribute(vertex: Vertex, name: string): { readonly text: string; readonly at: Place } | undefined {
  for (const [key, value] of Object.entries(vertex.attributes)) if (camelCase(key) === name) return value;
  return undefined;
}

function startsClean(vertex: Vertex, report: WorkflowReport): boolean {
  return choice(vertex, "start", { clean: "clean", continue: "continue" }, "continue", report) === "clean";
}

function choice<Value extends string>(
  vertex: Vertex,
  name: string,
  values: Readonly<Record<string, Value>>,
  otherwise: Value,
  report: WorkflowReport,
): Value {
  const given = attribute(vertex, name);
  if (given === undefined) return otherwise;
  const word = given.text.trim().toLowerCase();
  const value = Object.hasOwn(values, word) ? values[word] : undefined;
  if (value !== undefined) return value;
  const known = Object.keys(values);
  report.error(
    "ATTRIBUTE_VALUE",
    given.at,
    `"${given.text.slice(0, 40)}" is not a value of ${name} on ${vertex.id}.`,
    `${report.didYouMean(word, known)}Use ${known.join(" or ")}.`,
  );
  return otherwise;
}

/** Returns all tools of the workflow, or the named ones; `none` means no tools. */
function offered(
  vertex: Vertex,
  { tools, report }: NodeContext,
): { readonly tools?: readonly string[] | undefined; readonly rounds?: number | undefined } {
  const named = attribute(vertex, "tools");
  const rounds = attribute(vertex, "rounds");
  const words = named?.text.split(",").map((word) => word.trim()) ?? tools;
  const chosen = words.length === 1 && words[0] === "none" ? [] : words;
  for (const unknown of chosen.filter((word) => !tools.includes(word))) {
    report.error(
      "ATTRIBUTE_VALUE",
      named?.at ?? vertex.at,
      `${vertex.id} offers the tool "${unknown.slice(0, 64)}", which is not in the front matter.`,
      `${report.didYouMean(unknown, tools)}Describe it under tools or mcp in the front matter, or write none.`,
    );
  }
  const times = rounds === undefined ? undefined : settingNumber(rounds.text);
  if (times !== undefined && (times === null || !Number.isInteger(times) || times < 1 || times > 100)) {
    report.error(
      "ATTRIBUTE_VALUE",
      rounds?.at ?? vertex.at,
      `rounds of ${vertex.id} is "${rounds?.text.slice(0, 40)}".`,
      "Give it a whole number from 1 to 100: how often results of tools are given back.",
    );
  }
  return { tools: chosen.length === 0 ? undefined : chosen, rounds: times ?? undefined };
}

function nodeSettings(vertex: Vertex, report: WorkflowReport): ModelSettings | undefined {
  const raw: Record<string, unknown> = {};
  const places = new Map<string, Place>();
  for (const [key, { text, at }] of Object.entries(vertex.attributes)) {
    const name = camelCase(key);
    if (!settingNames.includes(name)) continue;
    places.set(name, at);
    raw[name] = name === "stop" ? text.split("|") : name === "model" ? text : (settingNumber(text) ?? text);
  }
  if (places.size === 0) return undefined;
  const parsed = settingsSchema.safeParse(raw);
  if (parsed.success) return present(parsed.data);
  for (const issue of parsed.error.issues) {
    const name = String(issue.path[0] ?? "");
    report.error(
      "ATTRIBUTE_VALUE",
      places.get(name) ?? vertex.at,
      `${name} of ${vertex.id}: ${issue.message}.`,
      "Give the setting a value of the expected kind, or remove it.",
    );
  }
  return undefined;
}

function checkAttributes(vertex: Vertex, kind: Activity, report: WorkflowReport): void {
  const known = attributesOf[kind] ?? [];
  for (const [key, { at }] of Object.entries(vertex.attributes)) {
    if (drawing.has(key.toLowerCase()) || known.includes(camelCase(key))) continue;
    report.warn(
      "ATTRIBUTE_UNKNOWN",
      at,
      `${vertex.id} does not support ${key}.`,
      `${report.didYouMean(key, known)}${known.length === 0 ? "Remove it." : `Known on ${kind} nodes: ${known.join(", ")}.`}`,
    );
  }
}
