/**
 * Writes a program as a definition: `parseWorkflow(formatWorkflow(program))` gives the same program. Text that a flowchart or a Markdown
 * section cannot contain (a title with line breaks, a prompt with a heading of its own) goes into the front matter.
 */
import {
  type Condition,
  initialState,
  type Json,
  type ModelSettings,
  type Node,
  type NumberReading,
  type Operand,
  type Program,
  type SandboxNeeds,
} from "@markmill/engine";
import { type Rubric, readRubric, writeRubric } from "@markmill/grading";
import { stringify } from "yaml";
import { BlockScanner } from "../../markdown/block-scanner.ts";
import { formatDuration, formatMoney } from "../../quantity.ts";
import type { Drawing, FormatOptions } from "../dialect.ts";
import { activityKind } from "./activity-kind.ts";
import { captionPrefix, quotedPrefix } from "./compile-node.ts";
import { formatCheck } from "./expression/format-check.ts";
import { present } from "./front-matter.ts";
import { writeMcp } from "./mcp-matter.ts";
import { noWords } from "./no-words.ts";
import { formatParams } from "./parse-params.ts";
import { isSectionName, roleOf } from "./read-document.ts";
import { includeDirective } from "./read-source.ts";
import { writeTools } from "./tools-matter.ts";

/** Double-quoted text stays on one line. If it were folded over several, it would lose lines that contain only white space (yaml 2.9.1). */
// Block scalars are off, because they lose spaces at their ends.
const yamlStyle = { lineWidth: 0, doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER, blockQuote: false } as const;

export function formatWorkflow(program: Program, options: FormatOptions = {}): string {
  const lenient = isLenient(program);
  // In a file inside a folder, paths are written from the root: `/grading/essay.wf.md`.
  const path = (to: string) => (options.file?.includes("/") ? `/${to}` : to);
  const title = survivesAsTitle(program.name) ? program.name : null;
  const description = title !== null && survives(program.description, false) ? program.description : null;
  const params = formatParams(program.params);
  const prompts = Object.entries(program.prompts);
  const inSection = new Set(
    prompts
      .filter(([id, { text }], index) => survivesAsPrompt(id, text, index === prompts.length - 1))
      .map(([id]) => id),
  );
  // The front matter is read first. The order of prompts is kept only if the prompts in the front matter come first in the list.
  let head = prompts.length;
  while (head > 0 && inSection.has(prompts[head - 1]?.[0] ?? "")) head--;

  const matter = present({
    name: title === null ? program.name : undefined,
    description: description === null ? program.description : undefined,
    settings: settingsMatter(program.settings),
    agents:
      Object.keys(program.agents).length === 0
        ? undefined
        : Object.fromEntries(Object.entries(program.agents).map(([name, own]) => [name, settingsMatter(own) ?? {}])),
    limits: limitsMatter(program),
    sandbox: sandboxMatter(program),
    tools: writeTools(program.tools, path),
    mcp: writeMcp(program.mcp, program.tools),
    submission: program.submission,
    judge: judgeMatter(program, path),
    grade: gradeMatter(program),
    verdicts: lenient === "all" ? "lenient" : undefined,
    trouble: program.trouble,
    patience: program.patienceMs === undefined ? undefined : `${program.patienceMs}ms`,
    params:
      params !== null ? undefined : Object.fromEntries(program.params.map((param) => [param.name, param.default])),
    prompts: head === 0 ? undefined : Object.fromEntries(prompts.slice(0, head).map(([id, { text }]) => [id, text])),
  });

  const parts: string[] = [];
  if (Object.keys(matter).length > 0) parts.push(`---\n${stringify(matter, yamlStyle)}---\n`);
  if (title !== null) parts.push(`# ${title}\n`);
  if (description !== null && description !== "") parts.push(`${description}\n`);
  parts.push("# Workflow\n");
  parts.push(["```mermaid", ...chartOf(program, params, path).lines, "```\n"].join("\n"));
  const schemas = schemasOf(program);
  if (schemas.size > 0) {
    parts.push("# Schemas\n");
    for (const [text, name] of schemas) parts.push(`## ${name}\n\n\`\`\`json\n${text}\n\`\`\`\n`);
  }
  if (program.rubric !== undefined) parts.push("# Rubric\n", `${rubricLines(program.rubric).join("\n")}\n`);
  if (head < prompts.length) {
    parts.push("# Prompts\n");
    for (const [id, { text }] of prompts.slice(head)) parts.push(`## ${id}\n\n${text}\n`);
  }
  return parts.join("\n");
}

/** The text of each schema, with the id of the first node that uses it. */
function schemasOf({ nodes }: Program): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const [id, node] of Object.entries(nodes)) {
    if (node.kind !== "prompt" || node.schema === undefined) continue;
    const text = schemaText(node.schema);
    if (!names.has(text)) names.set(text, id);
  }
  return names;
}

function schemaText(schema: Json): string {
  return JSON.stringify(schema, null, 2);
}

/** Writes only the flowchart of `formatWorkflow`. */
export function drawWorkflow(program: Program): Drawing {
  return chartOf(program, formatParams(program.params), (to) => to);
}

function chartOf(program: Program, params: string | null, path: (to: string) => string): Drawing {
  const lenient = isLenient(program);
  const schemas = schemasOf(program);
  const lines = ["flowchart TD"];
  const captions = new Map<string, string>();
  if (params !== null && params !== "") lines.push(`    PARAMS["${encode(params)}"]`);
  for (const [id, node] of Object.entries(program.nodes)) {
    const { caption, written } = formatNode(id, node, lenient, path, Object.keys(program.tools ?? {}), schemas);
    if (caption !== undefined) captions.set(id, caption);
    lines.push(...written);
  }
  for (const { from, to, on } of program.edges) {
    if (on !== "ok" && on !== "fail") throw noWords(`an edge on ${on}`);
    const isCheck = program.nodes[from]?.kind === "check";
    lines.push(`    ${from} -->${on === "fail" ? " |FALSE|" : isCheck ? " |TRUE|" : ""} ${to}`);
  }
  return { lines, captions };
}

/** Writes text for a caption or an attribute so that decoding gives the original. Characters with a special meaning become entities. */
function encode(text: string): string {
  const inner = (part: string) =>
    part.replace(/["#&<>`\\\u007f-\u00a0\u2028\u2029\ufeff\p{Cc}]/gu, (character) =>
      character === '"' ? "#quot;" : character === "\n" ? "<br>" : `#${character.codePointAt(0)};`,
    );
  const start = /^\s*/.exec(text)?.[0] ?? "";
  const end = start.length === text.length ? "" : text.slice(text.trimEnd().length);
  const outer = (part: string) => Array.from(part, (character) => `#${character.codePointAt(0)};`).join("");
  return outer(start) + inner(text.slice(start.length, text.length - end.length)) + outer(end);
}

interface WrittenNode {
  /** undefined: the node is drawn without a caption. */
  readonly caption: string | undefined;
  readonly written: readonly string[];
}

function formatNode(
  id: string,
  node: Node,
  lenient: Lenience,
  path: (to: string) => string,
  tools: readonly string[],
  schemas: ReadonlyMap<string, string>,
): WrittenNode {
  if (activityKind(id) === null) throw noWords(`a node with the id ${id}`);
  const box = (
    caption: string | undefined,
    [open, close]: readonly [string, string] = ["[", "]"],
    attributes: Readonly<Record<string, string | number | undefined>> = {},
  ): WrittenNode => {
    const drawn = caption === undefined ? [] : [`    ${id}${open}"${encode(caption)}"${close}`];
    const own = Object.entries(present(attributes)).map(([key, value]) => `${key}: "${encode(String(value))}"`);
    return { caption, written: own.length === 0 ? drawn : [...drawn, `    ${id}@{ ${own.join(", ")} }`] };
  };
  const bare = (shape: string): WrittenNode => ({ caption: undefined, written: [`    ${id}@{ shape: ${shape} }`] });
  const operand = (value: Operand) => formatOperand(value, path);
  switch (node.kind) {
    case "start":
      return node.label === undefined ? bare("circle") : box(node.label, ["((", "))"]);
    case "end":
      if (node.status !== undefined) throw noWords("an end with a status");
      return node.label === undefined ? bare("stadium") : box(node.label, ["([", "])"]);
    case "prompt": {
      if (node.role ?? node.fresh ?? node.toolUse ?? node.opening) throw noWords(`what ${id} asks of its model`);
      const settings = settingsMatter(node.settings ?? {}) ?? {};
      const stop = node.settings?.stop?.join("|");
      return box(`Prompt: ${operand(node.text)}`, ["[", "]"], {
        agent: node.agent,
        tools: writtenTools(node.tools ?? [], tools),
        rounds: node.rounds,
        schema: node.schema === undefined ? undefined : schemas.get(schemaText(node.schema)),
        ...settings,
        stop,
      });
    }
    case "grade": {
      const settings = settingsMatter(node.settings ?? {}) ?? {};
      const stop = node.settings?.stop?.join("|");
      const task = node.task.from === "template" && node.task.text === "" ? "" : ` ${operand(node.task)}`;
      return box(`Grade:${task}`, ["[", "]"], { agent: node.agent, ...settings, stop });
    }
    case "execute":
      return box(node.command === null ? "Execute:" : `Execute: ${node.command}`, ["[", "]"], {
        "on-failure": node.nonZero === "fail" ? "fail" : undefined,
        repeat: node.repeat === "never" ? "never" : undefined,
        session: node.session,
        start: node.clean === true ? "clean" : undefined,
      });
    case "check": {
      const mixed = lenient === "some" && lenientChecks([node]).some((is) => is);
      const check = formatCheck(withPaths(node.condition, path));
      const { which, decimal } = numbersIn(node.condition);
      return box(`Check: ${check}`, ["{", "}"], { verdicts: mixed ? "lenient" : undefined, number: which, decimal });
    }
    case "set": {
      const target = node.target.to === "variable" ? node.target.name : `file:${node.target.path}`;
      return box(`Set: ${target}=${operand(node.value)}`);
    }
    case "assign":
      return box(`Assign: ${operand(node.value)}`);
    case "ask":
      return box(`Ask: ${node.question}`, ["[/", "/]"], {
        timeout: node.timeoutMs === undefined ? undefined : formatDuration(node.timeoutMs),
        default: node.otherwise,
      });
    case "call": {
      const callee = path(node.program);
      const isTaken = captionPrefix.test(callee) || quotedPrefix.test(callee);
      return { ...box(isTaken ? `Call: ${callee}` : callee, ["[[", "]]"]), caption: `Call: ${node.program}` };
    }
    default:
      throw noWords(`a node of kind ${node.kind}`);
  }
}

/** undefined means all tools. */
function writtenTools(offered: readonly string[], all: readonly string[]): string | undefined {
  if (offered.join() === all.join()) return undefined;
  return offered.length === 0 ? "none" : offered.join(", ");
}

function formatOperand(operand: Operand, path: (to: string) => string): string {
  switch (operand.from) {
    case "name":
      return operand.name;
    case "template":
      return `'${operand.text.replaceAll("'", "''")}'`;
    case "file":
      return `file:${path(operand.path)}`;
    default:
      throw noWords(`an operand from ${operand.from}`);
  }
}

function withPaths(condition: Condition, path: (to: string) => string): Condition {
  return JSON.parse(JSON.stringify(condition), (_, value: unknown) => {
    const file = value as { from?: unknown; path?: unknown } | null;
    return file?.from === "file" && typeof file.path === "string" ? { from: "file", path: path(file.path) } : value;
  }) as Condition;
}

type Lenience = "none" | "some" | "all";

function isLenient(program: Program): Lenience {
  const checks = lenientChecks(Object.values(program.nodes));
  if (!checks.includes(true)) return "none";
  return checks.includes(false) ? "some" : "all";
}

/** For each comparison of verdicts: whether it is lenient. */
function lenientChecks(nodes: readonly Node[]): boolean[] {
  const of = (condition: Condition): boolean[] => {
    if (condition.op === "and" || condition.op === "or") return condition.of.flatMap(of);
    if (condition.op === "not") return of(condition.of);
    return condition.op === "equals" || condition.op === "differs" ? [condition.lenient === true] : [];
  };
  return nodes.flatMap((node) => (node.kind === "check" ? of(node.condition) : []));
}

/** All comparisons of a node read numbers in the same way. */
function numbersIn(condition: Condition): NumberReading {
  if (condition.op === "and" || condition.op === "or")
    return condition.of.map(numbersIn).find((one) => Object.keys(one).length > 0) ?? {};
  if (condition.op === "not") return numbersIn(condition.of);
  return "numbers" in condition ? (condition.numbers ?? {}) : {};
}

function settingsMatter(settings: ModelSettings): Record<string, string | number> | undefined {
  const { stop, ...rest } = settings;
  const all = present({ ...rest, ...(stop === undefined ? {} : { stop }) });
  return Object.keys(all).length === 0 ? undefined : (all as Record<string, string | number>);
}

function limitsMatter({ limits }: Program): Record<string, string | number> | undefined {
  for (const key of ["nanodollars", "tokens", "characters", "timeMs"] as const)
    if (limits[key] !== null && !Number.isSafeInteger(limits[key])) throw noWords(`the limit ${key}`);
  const usual = initialState.limits;
  const matter = present({
    hits: limits.hits === usual.hits ? undefined : limits.hits,
    steps: limits.steps === usual.steps ? undefined : limits.steps,
    depth: limits.depth === usual.depth ? undefined : limits.depth,
    cost: limits.nanodollars === null ? undefined : formatMoney(limits.nanodollars),
    tokens: limits.tokens ?? undefined,
    characters: limits.characters ?? undefined,
    time: limits.timeMs === null ? undefined : formatDuration(limits.timeMs),
  });
  return Object.keys(matter).length === 0 ? undefined : matter;
}

function sandboxMatter({ sandbox }: Program): object | undefined {
  const matter = sessionMatter(sandbox);
  return Object.keys(matter).length === 0 ? undefined : matter;
}

function gradeMatter({ grading }: Program): object | undefined {
  if (grading === undefined) return undefined;
  const { twice, panel, review } = grading;
  return { twice, panel, review: present({ ...review, pass: review.pass ?? undefined }) };
}

function rubricLines(rubric: Json): readonly string[] {
  const lines = writeRubric(rubric as unknown as Rubric);
  const at = { file: "", line: 1, column: 1 };
  const read = readRubric(
    lines.map((text, index) => ({ text, file: "", line: index + 1 })),
    at,
    { error() {}, warn() {}, didYouMean: () => "" },
  );
  if (JSON.stringify(read) !== JSON.stringify(rubric)) throw noWords("a rubric that no table can hold");
  return lines;
}

/** The judge's files are named but not written, because they are stored beside the workflow. */
function judgeMatter({ judge }: Program, path: (to: string) => string): object | undefined {
  if (judge === undefined) return undefined;
  const { from, files: _, of, autograder, ...needs } = judge;
  const grader = autograder === undefined ? undefined : path(autograder.from);
  return present({
    files: from.length === 0 ? undefined : from.map(path),
    autograder: autograder?.setup === "skip" ? { from: grader, setup: "skip" } : grader,
    of: of === "submission" ? undefined : of,
    ...sessionMatter(needs),
  });
}

function sessionMatter(needs: SandboxNeeds): object {
  const { memoryBytes, diskBytes, outputBytes, fileBytes, wallMs, cpuMs, silenceMs, ...rest } = needs;
  const time = (value: number | undefined) => (value === undefined ? undefined : formatDuration(value));
  return present({
    ...rest,
    memory: memoryBytes,
    disk: diskBytes,
    output: outputBytes,
    file: fileBytes,
    wall: time(wallMs),
    cpu: time(cpuMs),
    silence: time(silenceMs),
  });
}

function survivesAsTitle(name: string): boolean {
  const read = new BlockScanner().next(`# ${name}`);
  return read.is === "heading" && read.text === name && name !== "" && !isSectionName(name) && !name.includes("\n");
}

function survivesAsPrompt(id: string, text: string, isLast: boolean): boolean {
  const read = new BlockScanner().next(`## ${id}`);
  return (
    read.is === "heading" &&
    read.text === id &&
    roleOf(id) !== null &&
    !id.includes("\n") &&
    survives(text, isLast, true)
  );
}

/** Returns whether this text, below its heading, is read back unchanged. */
function survives(text: string, mayStayOpen: boolean, inPrompt = false): boolean {
  if (text !== text.trim() || /[\r\0]/.test(text)) return false;
  const scanner = new BlockScanner();
  scanner.next("");
  for (const line of text.split("\n")) {
    if (!scanner.inFence && includeDirective(line) !== null) return false;
    const block = scanner.next(line);
    if (block.is !== "heading") continue;
    if (block.level === 1 || (inPrompt && block.level === 2 && roleOf(block.text) !== null)) return false;
  }
  if (mayStayOpen) return true;
  // An open fence or comment would include the next heading.
  return scanner.next("") !== null && scanner.next("# next").is === "heading";
}
