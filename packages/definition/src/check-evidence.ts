/**
 * A CHECK that believes what a student's program printed. RESULT is followed from the EXECUTE that wrote it through the flow, into called
 * workflows and back, and into variables. Linear in nodes and edges for each round, and rounds end when nothing is added.
 */
import type { Condition, Node, Operand, Program } from "@markmill/engine";
import type { FindingReport } from "./finding-codes.ts";
import type { LoadedFile } from "./loaded-file.ts";
import { placesIn } from "./template-places.ts";

/** Ids of the EXECUTE nodes whose output a value may be. */
type Origins = ReadonlySet<string>;
const none: Origins = new Set();

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
        `${id} judges by what was printed in ${[...origins].slice(0, 3).join(", ")}: a submission that runs there can print the same.`,
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
  readonly #entry = new Set<string>();
  readonly #before = new Map<string, Set<string>>();
  readonly #exit = new Set<string>();

  constructor(program: Program) {
    this.#program = program;
  }

  /** One pass over all edges; whether anything was added. */
  round(flows: ReadonlyMap<string, ResultFlow>, variables: Map<string, Set<string>>): boolean {
    let grown = false;
    const add = (to: Set<string>, from: Origins) => {
      for (const one of from) if (to.size < to.add(one).size) grown = true;
    };
    const { nodes, edges, entry, handlers } = this.#program;
    for (const id of entry) add(this.#of(id), this.#entry);
    for (const [id, node] of Object.entries(nodes)) {
      const before = this.#of(id);
      if (node.kind === "call") {
        const callee = flows.get(node.program);
        if (callee !== undefined) add(callee.#entry, before);
      }
      if (node.kind === "set" && node.target.to === "variable") {
        add(entryOf(variables, node.target.name), this.#valueOf(node.value, before, variables));
      }
      const after = this.#after(id, node, before, flows, variables);
      add(this.#exit, after);
      for (const handler of [handlers.success, handlers.failed]) if (handler !== null) add(this.#of(handler), after);
    }
    for (const { from, to } of edges) {
      const node = nodes[from];
      if (node !== undefined) add(this.#of(to), this.#after(from, node, this.#of(from), flows, variables));
    }
    return grown;
  }

  *believed(variables: ReadonlyMap<string, Origins>): Generator<readonly [string, Origins]> {
    for (const [id, node] of Object.entries(this.#program.nodes)) {
      if (node.kind !== "check") continue;
      const origins = new Set<string>();
      for (const operand of operandsOf(node.condition))
        for (const one of this.#valueOf(operand, this.#of(id), variables)) origins.add(one);
      if (origins.size > 0) yield [id, origins];
    }
  }

  #of(id: string): Set<string> {
    return entryOf(this.#before, id);
  }

  /** Whose output RESULT may be when the workflow ends. */
  get exit(): Origins {
    return this.#exit;
  }

  /** Whose output RESULT is behind a node. */
  #after(
    id: string,
    node: Node,
    before: Origins,
    flows: ReadonlyMap<string, ResultFlow>,
    variables: ReadonlyMap<string, Origins>,
  ): Origins {
    switch (node.kind) {
      case "execute":
        return inJudge(node) || !runsForeignCode(node.command) ? none : new Set([id]);
      case "assign":
        return this.#valueOf(node.value, before, variables);
      case "prompt":
        return this.#asks(node.text) ? none : before;
      case "call":
        return flows.get(node.program)?.exit ?? none;
      case "start":
      case "set":
      case "check":
      case "end":
      case "join":
        return before;
      default:
        return none;
    }
  }

  /** System and Assistant texts leave RESULT alone. */
  #asks(text: Operand): boolean {
    const prompt = text.from === "name" ? this.#program.prompts[text.name] : undefined;
    return prompt === undefined || prompt.role === "user";
  }

  #valueOf(operand: Operand, result: Origins, variables: ReadonlyMap<string, Origins>): Origins {
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

/** Only the left side is a name for sure; the right side is one where it is written like one. */
function operandsOf(condition: Condition): readonly Operand[] {
  switch (condition.op) {
    case "and":
    case "or":
      return condition.of.flatMap(operandsOf);
    case "not":
      return operandsOf(condition.of);
    case "hits":
      return [];
    default:
      return [condition.left];
  }
}

function inJudge(node: Node): boolean {
  return "session" in node && node.session === "judge";
}

/** Programs that only show, compare or move files. Whatever else a command names may run what the student wrote. */
const harmless = new Set(
  "[ [[ basename cat cd chmod cmp comm cp cut date diff dirname du echo egrep exit export expr false fgrep file find fold grep head hostname id join ln ls md5sum mkdir mktemp mv nl od paste printf pwd realpath rev rm rmdir seq set sha1sum sha256sum sleep sort stat tac tail tee test touch tr tree true tsort uname uniq wc which whoami".split(
    " ",
  ),
);
const keywords = /^(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|in|\{|\}|!|time|function)$/;

/** null: the commands of a reply. */
export function runsForeignCode(command: string | null): boolean {
  if (command === null) return true;
  // What is between quotes names no command; substitutions in it are beyond a glance.
  const plain = command.replaceAll(/'[^']*'|"(?:[^"\\`$]|\\.|\$(?![(]))*"/g, "_");
  if (/`|\$\(|<\(|\beval\b|-exec|-delete/.test(plain)) return true;
  return plain.split(/[;&|\n()]+/).some((part) => {
    const words = part
      .trim()
      .split(/\s+/)
      .filter((word) => word !== "");
    const isLoop = words[0] === "for" || words[0] === "case";
    if (isLoop) return false;
    const name = words.find((word) => !keywords.test(word) && !/^\w+=/.test(word) && !/^\d*[<>]/.test(word));
    return name !== undefined && !harmless.has(name);
  });
}
