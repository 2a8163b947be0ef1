/**
 * Reports a CHECK that relies on output of a student's program.
 *
 * F1  RESULT is traced from the EXECUTE that wrote it, through the flow, into called workflows and back, and into variables.
 * F2  After an EXECUTE that may run the student's code, files of the session count as the student's: both the output of `cat` and the
 *     content of file: operands.
 * F3  A model that received such output may answer as the output asks. So may its later replies in the same conversation. A model receives
 *     such output also from its tools that run commands, and from workflows that it calls.
 * F4  Shell variables count as the student's, too, after the shell has read one of the student's files (`source`) or has run a model's
 *     commands.
 * F5  All operands of a CHECK count: both sides, and the values of IN.
 *
 * Each round is linear in nodes and edges. The rounds end when nothing is added.
 */
import { actsInSession, conditionOperands, type Node, type Operand, type Program } from "@markmill/engine";
import type { FindingReport } from "./finding-codes.ts";
import type { LoadedFile } from "./loaded-file.ts";
import { placesIn } from "./template-places.ts";

/** Ids of the EXECUTE nodes whose output may be part of a value. */
type Origins = ReadonlySet<string>;
const none: Origins = new Set();

/** The channels that may carry such output: RESULT, the files of the session, the variables of its shell, the conversation. */
const channels = ["result", "session", "shell", "talk"] as const;
type Flow = Readonly<Record<(typeof channels)[number], Set<string>>>;
type Passing = Readonly<Record<(typeof channels)[number], Origins>>;
const newFlow = (): Flow => ({ result: new Set(), session: new Set(), shell: new Set(), talk: new Set() });

export function checkEvidence(parsed: ReadonlyMap<string, LoadedFile>, report: FindingReport): void {
  const flows = new Map<string, ResultFlow>();
  for (const [file, { program }] of parsed) if (program !== null) flows.set(file, new ResultFlow(program));
  const variables = new Map<string, Set<string>>();
  for (let grown = true; grown; ) {
    grown = false;
    for (const flow of flows.values()) if (flow.round(flows, variables)) grown = true;
  }
  for (const [file, flow] of flows) {
    for (const [id, origins] of flow.believed(variables)) {
      const at = parsed.get(file)?.sources.nodes[id];
      if (at === undefined) continue;
      report.warn(
        "CHECK_FORGEABLE",
        at,
        `${id} decides by output or files of ${[...origins].slice(0, 3).join(", ")}, or by a reply to them. A submission that runs there can produce the same.`,
        "Check EXIT_CODE, or let the command decide in a judge session: docs/workflow-files.md#judging.",
      );
    }
  }
}

function entryOf(map: Map<string, Set<string>>, key: string): Set<string> {
  const found = map.get(key) ?? new Set<string>();
  map.set(key, found);
  return found;
}

class ResultFlow {
  readonly #program: Program;
  readonly #entry = newFlow();
  readonly #before = new Map<string, Flow>();
  readonly #exit = newFlow();
  /** Whether only one agent speaks in the program. Then every System prompt begins a new conversation. */
  readonly #oneAgent: boolean;

  constructor(program: Program) {
    this.#program = program;
    const named = Object.values(program.nodes).some((node) => "agent" in node && node.agent !== undefined);
    const systems = Object.keys(program.prompts).filter((id) => program.prompts[id]?.role === "system");
    this.#oneAgent = !named && systems.every((id) => id.toLowerCase() === "system");
  }

  /** Makes one pass over all edges. Returns whether anything was added. */
  round(flows: ReadonlyMap<string, ResultFlow>, variables: Map<string, Set<string>>): boolean {
    let grown = false;
    const add = (to: Set<string>, from: Origins) => {
      for (const one of from) if (to.size < to.add(one).size) grown = true;
    };
    const addFlow = (to: Flow, from: Passing) => {
      for (const channel of channels) add(to[channel], from[channel]);
    };
    const { nodes, edges, entry, handlers } = this.#program;
    for (const id of entry) addFlow(this.#of(id), this.#entry);
    for (const [id, node] of Object.entries(nodes)) {
      const before = this.#of(id);
      if (node.kind === "call") {
        const callee = flows.get(node.program);
        if (callee !== undefined) addFlow(callee.#entry, before);
      }
      if (node.kind === "set" && node.target.to === "variable") {
        add(entryOf(variables, node.target.name), this.#valueOf(node.value, before, variables));
      }
      const after = this.#after(id, node, before, flows, variables);
      addFlow(this.#exit, after);
      for (const handler of [handlers.success, handlers.failed])
        if (handler !== null) addFlow(this.#of(handler), after);
    }
    for (const { from, to } of edges) {
      const node = nodes[from];
      if (node !== undefined) addFlow(this.#of(to), this.#after(from, node, this.#of(from), flows, variables));
    }
    return grown;
  }

  *believed(variables: ReadonlyMap<string, Origins>): Generator<readonly [string, Origins]> {
    for (const [id, node] of Object.entries(this.#program.nodes)) {
      if (node.kind !== "check") continue;
      const origins = new Set<string>();
      for (const operand of conditionOperands(node.condition))
        for (const one of this.#valueOf(operand, this.#of(id), variables)) origins.add(one);
      if (origins.size > 0) yield [id, origins];
    }
  }

  #of(id: string): Flow {
    const found = this.#before.get(id) ?? newFlow();
    this.#before.set(id, found);
    return found;
  }

  /** The output that may be in each channel when the workflow ends. */
  get exit(): Flow {
    return this.#exit;
  }

  #after(
    id: string,
    node: Node,
    before: Flow,
    flows: ReadonlyMap<string, ResultFlow>,
    variables: ReadonlyMap<string, Origins>,
  ): Passing {
    switch (node.kind) {
      case "execute": {
        if (inJudge(node)) return { ...before, result: none };
        const { command } = node;
        if (runsForeignCode(command)) {
          const shell = setsVariables(command) ? new Set([...before.shell, id]) : before.shell;
          return { ...before, result: new Set([id]), session: new Set([...before.session, id]), shell };
        }
        const files = showsFiles(command ?? "") ? before.session : none;
        return { ...before, result: showsVariables(command ?? "") ? new Set([...files, ...before.shell]) : files };
      }
      case "assign":
        return { ...before, result: this.#valueOf(node.value, before, variables) };
      case "prompt": {
        const acts = this.#actsOf(id, node.tools ?? [], before, flows);
        const told = new Set([...this.#told(node.text, before, variables), ...acts.told]);
        const session = new Set([...before.session, ...acts.wrote]);
        const role = node.text.from === "name" ? this.#program.prompts[node.text.name]?.role : undefined;
        const talk = role === "system" && this.#oneAgent ? told : new Set([...before.talk, ...told]);
        // System and Assistant texts do not call the model.
        return role === "system" || role === "assistant"
          ? { ...before, talk }
          : { ...before, talk, session, result: talk };
      }
      case "call":
        return flows.get(node.program)?.exit ?? { ...before, result: none };
      case "start":
      case "set":
      case "check":
      case "end":
      case "join":
        return before;
      default:
        return { ...before, result: none };
    }
  }

  /** Returns the origins of the text that the tools give to the model, and of the files that may be written through them. */
  #actsOf(
    id: string,
    tools: readonly string[],
    { session }: Flow,
    flows: ReadonlyMap<string, ResultFlow>,
  ): { readonly told: Origins; readonly wrote: Origins } {
    const told = new Set<string>();
    const wrote = new Set<string>();
    for (const name of tools) {
      const tool = Object.hasOwn(this.#program.tools ?? {}, name) ? this.#program.tools?.[name] : undefined;
      if (tool === undefined) continue;
      if (actsInSession(tool, this.#program.mcp)) for (const one of session) told.add(one);
      if (tool.kind === "sandbox" && runsForeignCode(tool.command)) wrote.add(id);
      const exit = tool.kind === "workflow" ? flows.get(tool.program)?.exit : undefined;
      for (const one of exit?.result ?? none) told.add(one);
      for (const one of exit?.session ?? none) wrote.add(one);
    }
    return { told: new Set([...told, ...wrote]), wrote };
  }

  /** Returns the origins of the text that a prompt sends to its model. */
  #told(text: Operand, before: Flow, variables: ReadonlyMap<string, Origins>): Origins {
    const prompt = text.from === "name" ? this.#program.prompts[text.name] : undefined;
    return this.#valueOf(prompt === undefined ? text : { from: "template", text: prompt.text }, before, variables);
  }

  #valueOf(operand: Operand, { result, session }: Flow, variables: ReadonlyMap<string, Origins>): Origins {
    // The author wrote the files of the definition. Any other file is read in the session, where programs write.
    if (operand.from === "file") return Object.hasOwn(this.#program.files, operand.path) ? none : session;
    if (operand.from !== "name" && operand.from !== "template") return none;
    const text = operand.from === "name" ? operand.name : operand.text;
    const names =
      operand.from === "name"
        ? [text, ...placesIn(text).map(({ name }) => name)]
        : placesIn(text).map(({ name }) => name);
    const origins = new Set<string>();
    for (const name of names) {
      const from = name === "RESULT" || name === "CONTENT" ? result : (variables.get(name) ?? none);
      for (const one of from) origins.add(one);
    }
    return origins;
  }
}

function inJudge(node: Node): boolean {
  return "session" in node && node.session === "judge";
}

/** Programs that only show, compare or move files. Any other program in a command may run the student's code. */
const harmless = new Set(
  "[ [[ : basename cat cd chmod cmp comm cp cut date diff dirname du echo egrep exit export expr false fgrep file find fold grep head hostname id join ln ls md5sum mkdir mktemp mv nl od paste printf pwd realpath rev rm rmdir seq set sha1sum sha256sum sleep sort stat tac tail tee test touch tr tree true tsort uname uniq wc which whoami".split(
    " ",
  ),
);
/** Those of the harmless programs whose output does not depend on a file. */
const blind = new Set(
  ": basename cd chmod cp date dirname echo exit export expr false hostname id ln mkdir mktemp mv printf pwd rm rmdir seq set sleep touch true uname whoami".split(
    " ",
  ),
);
const keywords = /^(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|in|\{|\}|!|time|function)$/;

/** `command` is null for the commands of a reply. */
export function runsForeignCode(command: string | null): boolean {
  if (command === null) return true;
  // A here-document may run commands, too.
  if (/`|\$\(|<\(|\beval\b|-exec|-delete/.test(withoutQuoted(command))) return true;
  return programsIn(withoutTexts(command)).some((name) => !harmless.has(name));
}

/** Whether a harmless command prints the content of a file or the names of files. */
function showsFiles(command: string): boolean {
  const plain = withoutTexts(command);
  return /[<*?]/.test(plain) || programsIn(plain).some((name) => !blind.has(name));
}

/** Whether the shell itself reads a student's file or commands of a model. */
function setsVariables(command: string | null): boolean {
  return command === null || /(?:^|[\s;&|(])(?:\.|source|eval)[ \t]/.test(withoutTexts(command));
}

function showsVariables(command: string): boolean {
  return /\$\{?[A-Za-z_]/.test(command);
}

/** Removes text in quotes, here-documents and comments, because they name no command. Substitutions inside quotes are not analysed. */
function withoutTexts(command: string): string {
  const lines: string[] = [];
  let until: string | null = null;
  for (const line of command.split("\n")) {
    if (until !== null) {
      if (line.trim() === until) until = null;
      continue;
    }
    lines.push(line);
    until = /<<-?[ \t]*["']?([A-Za-z_][A-Za-z0-9_]*)/.exec(line)?.[1] ?? null;
  }
  return withoutQuoted(lines.join("\n"))
    .replaceAll(/(^|\s)#[^\n]*/g, "$1")
    .replaceAll(redirection, " ");
}

/** Matches a redirection and its word: `2>&1`, `>&2`, `&> log`, `2>/dev/null`, `<<EOF`. Input from a file stays visible as `<`. */
const redirection = /(?:&>>?|[0-9]{0,4}>>?[&|]?)[ \t]*[^\s;&|<>()]*|[0-9]{0,4}<<-?[ \t]*[^\s;&|<>()]*/g;

function programsIn(plain: string): string[] {
  return plain.split(/[;&|\n()]+/).flatMap((part) => {
    const words = part
      .trim()
      .split(/\s+/)
      .filter((word) => word !== "");
    const isLoop = words[0] === "for" || words[0] === "case";
    if (isLoop) return [];
    return words.find((word) => !keywords.test(word) && !/^\w+=/.test(word) && !/^\d*</.test(word)) ?? [];
  });
}

/**
 * Removes text in quotes, because it names no command. At a substitution inside quotes, or at an unclosed quote, the rest stays unchanged,
 * because it is not analysed.
 */
function withoutQuoted(command: string): string {
  const quoted = /'[^']*'|"(?:[^"\\`$]|\\.|\$(?![(]))*"/sy;
  let plain = "";
  for (let at = 0; ; ) {
    const quote = /['"]/g;
    quote.lastIndex = at;
    const from = quote.exec(command)?.index ?? command.length;
    plain += command.slice(at, from);
    if (from === command.length) return plain;
    quoted.lastIndex = from;
    if (!quoted.test(command)) return plain + command.slice(from);
    plain += "_";
    at = quoted.lastIndex;
  }
}
