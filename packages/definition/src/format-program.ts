/**
 * A program as a definition again: `parseWorkflow(formatProgram(program))` gives the same program. What a flowchart or a Markdown
 * section cannot hold (a title with line breaks, a prompt with a heading of its own) goes into the front matter.
 */
import {
  type Condition,
  initialState,
  type ModelSettings,
  type Node,
  type Operand,
  type Program,
  type SandboxNeeds,
} from "@markmill/engine";
import { BlockScanner } from "@markmill/markdown";
import { stringify } from "yaml";
import { activityKind } from "./activity-kind.ts";
import { captionPrefix, quotedPrefix } from "./compile-node.ts";
import { formatCheck } from "./expression/format-check.ts";
import { present } from "./front-matter.ts";
import { NotExpressible } from "./not-expressible.ts";
import { formatParams } from "./parse-params.ts";
import { formatDuration, formatMoney } from "./quantity.ts";
import { isSectionName, roleOf } from "./read-document.ts";
import { includeDirective } from "./read-source.ts";

export interface FormatOptions {
  /** Path of the file to be written; paths are written so that they lead from there to the same files. */
  readonly file?: string;
}

/** Double-quoted text stays on one line: folded over several it loses lines of white space alone (yaml 2.9.1). */
// Block scalars lose spaces at their ends.
const yamlStyle = { lineWidth: 0, doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER, blockQuote: false } as const;

export function formatProgram(program: Program, options: FormatOptions = {}): string {
  const lenient = isLenient(program);
  // From a folder, a path is written from the root: `/grading/essay.wf.md`.
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
  // Front matter is read first, so the order of prompts survives only if those that need it are a head of the list.
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
    submission: program.submission,
    judge: judgeMatter(program, path),
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
  const chart = ["```mermaid", "flowchart TD"];
  if (params !== null && params !== "") chart.push(`    PARAMS["${encode(params)}"]`);
  for (const [id, node] of Object.entries(program.nodes)) chart.push(...formatNode(id, node, lenient, path));
  for (const { from, to, on } of program.edges) {
    if (on !== "ok" && on !== "fail") throw new NotExpressible(`an edge on ${on}`);
    const isCheck = program.nodes[from]?.kind === "check";
    chart.push(`    ${from} -->${on === "fail" ? " |FALSE|" : isCheck ? " |TRUE|" : ""} ${to}`);
  }
  chart.push("```\n");
  parts.push(chart.join("\n"));
  if (head < prompts.length) {
    parts.push("# Prompts\n");
    for (const [id, { text }] of prompts.slice(head)) parts.push(`## ${id}\n\n${text}\n`);
  }
  return parts.join("\n");
}

/** Text that a caption or an attribute value decodes to the original: entities for whatever has a meaning there. */
function encode(text: string): string {
  const inner = (part: string) =>
    part.replace(/["#&<>`\\\u007f-\u00a0\u2028\u2029\ufeff\p{Cc}]/gu, (character) =>
      character === '"' ? "#quot;" : character === "\n" ? "<br>" : `#${character.codePointAt(0)};`,
    );
  const start = /^\s*/.exec(text)?.[0] ?? "";
  const end = start.length === text.length ? "" : (/\s*$/.exec(text)?.[0] ?? "");
  const outer = (part: string) => Array.from(part, (character) => `#${character.codePointAt(0)};`).join("");
  return outer(start) + inner(text.slice(start.length, text.length - end.length)) + outer(end);
}

function formatNode(id: string, node: Node, lenient: Lenience, path: (to: string) => string): string[] {
  if (activityKind(id) === null) throw new NotExpressible(`a node with the id ${id}`);
  const attributes = (entries: Readonly<Record<string, string | number | undefined>>) => {
    const written = Object.entries(present(entries)).map(([key, value]) => `${key}: "${encode(String(value))}"`);
    return written.length === 0 ? [] : [`    ${id}@{ ${written.join(", ")} }`];
  };
  const box = (caption: string, [open, close]: readonly [string, string] = ["[", "]"]) =>
    `    ${id}${open}"${encode(caption)}"${close}`;
  const operand = (value: Operand) => formatOperand(value, path);
  switch (node.kind) {
    case "start":
      return [node.label === undefined ? `    ${id}@{ shape: circle }` : box(node.label, ["((", "))"])];
    case "end":
      if (node.status !== undefined) throw new NotExpressible("an end with a status");
      return [node.label === undefined ? `    ${id}@{ shape: stadium }` : box(node.label, ["([", "])"])];
    case "prompt": {
      if (node.role ?? node.fresh ?? node.schema ?? node.tools ?? node.rounds)
        throw new NotExpressible(`what ${id} asks of its model`);
      const settings = settingsMatter(node.settings ?? {}) ?? {};
      const stop = node.settings?.stop?.join("|");
      return [box(`Prompt: ${operand(node.text)}`), ...attributes({ agent: node.agent, ...settings, stop })];
    }
    case "execute":
      return [
        box(node.command === null ? "Execute:" : `Execute: ${node.command}`),
        ...attributes({
          "on-failure": node.nonZero === "fail" ? "fail" : undefined,
          repeat: node.repeat === "never" ? "never" : undefined,
          session: node.session,
          start: node.clean === true ? "clean" : undefined,
        }),
      ];
    case "check": {
      const mixed = lenient === "some" && lenientChecks([node]).some((is) => is);
      return [
        box(`Check: ${formatCheck(withPaths(node.condition, path))}`, ["{", "}"]),
        ...attributes({ verdicts: mixed ? "lenient" : undefined }),
      ];
    }
    case "set": {
      const target = node.target.to === "variable" ? node.target.name : `file:${node.target.path}`;
      return [box(`Set: ${target}=${operand(node.value)}`)];
    }
    case "assign":
      return [box(`Assign: ${operand(node.value)}`)];
    case "ask":
      return [
        box(`Ask: ${node.question}`, ["[/", "/]"]),
        ...attributes({
          timeout: node.timeoutMs === undefined ? undefined : formatDuration(node.timeoutMs),
          default: node.otherwise,
        }),
      ];
    case "call": {
      const callee = path(node.program);
      const isTaken = captionPrefix.test(callee) || quotedPrefix.test(callee);
      return [box(isTaken ? `Call: ${callee}` : callee, ["[[", "]]"])];
    }
    default:
      throw new NotExpressible(`a node of kind ${node.kind}`);
  }
}

function formatOperand(operand: Operand, path: (to: string) => string): string {
  switch (operand.from) {
    case "name":
      return operand.name;
    case "template":
      return `'${operand.text}'`;
    case "file":
      return `file:${path(operand.path)}`;
    default:
      throw new NotExpressible(`an operand from ${operand.from}`);
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

/** For each comparison of verdicts, whether it is lenient. */
function lenientChecks(nodes: readonly Node[]): boolean[] {
  const of = (condition: Condition): boolean[] => {
    if (condition.op === "and" || condition.op === "or") return condition.of.flatMap(of);
    if (condition.op === "not") return of(condition.of);
    return condition.op === "equals" || condition.op === "differs" ? [condition.lenient === true] : [];
  };
  return nodes.flatMap((node) => (node.kind === "check" ? of(node.condition) : []));
}

function settingsMatter(settings: ModelSettings): Record<string, string | number> | undefined {
  const { stop, ...rest } = settings;
  const all = present({ ...rest, ...(stop === undefined ? {} : { stop }) });
  return Object.keys(all).length === 0 ? undefined : (all as Record<string, string | number>);
}

function limitsMatter({ limits }: Program): Record<string, string | number> | undefined {
  for (const key of ["nanodollars", "tokens", "characters", "timeMs"] as const)
    if (limits[key] !== null && !Number.isSafeInteger(limits[key])) throw new NotExpressible(`the limit ${key}`);
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

/** Its files are named, not written: they stand beside the workflow. */
function judgeMatter({ judge }: Program, path: (to: string) => string): object | undefined {
  if (judge === undefined) return undefined;
  const { from, files: _, of, ...needs } = judge;
  return present({
    files: from.length === 0 ? undefined : from.map(path),
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

/** Is this text, below its heading, read back as it is? */
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
  // Whatever is still open (a fence, a comment) would swallow the next heading.
  return scanner.next("") !== null && scanner.next("# next").is === "heading";
}
