/**
 * Reports hidden tests outside a judge: a file that the workflow writes into a session in which the submission has run, and that it then
 * runs there. Anything that the submission left behind (a process, a patched library, a file that is loaded first) can read the tests and
 * change their results.
 *
 * The check follows the session through the flow and into called workflows, which share it.
 * H1  A node gets a warning only if some path leads from a foreign command to the write, and then to the run of the file.
 * H2  A judge session is a different session. It neither runs the submission here nor sees files that were written here.
 * Each round is linear in nodes and edges. The rounds end when nothing is added.
 */
import type { Node, Operand, Program } from "@markmill/engine";
import { runsForeignCode } from "./check-evidence.ts";
import type { FindingReport } from "./finding-codes.ts";
import type { LoadedFile } from "./loaded-file.ts";
import { placesIn } from "./template-places.ts";

/** `ran` means that a foreign command has run. The other facts are files that were written after it, as JSON of the node and the path. */
type Facts = Set<string>;
const RAN = "ran";

export function checkHiddenTests(parsed: ReadonlyMap<string, LoadedFile>, report: FindingReport): void {
  const flows = new Map<string, SessionFlow>();
  const spoken = spokenNames([...parsed.values()].flatMap(({ program }) => program ?? []));
  for (const [file, { program }] of parsed) if (program !== null) flows.set(file, new SessionFlow(program, spoken));
  for (let grown = true; grown; ) {
    grown = false;
    for (const flow of flows.values()) if (flow.round(flows)) grown = true;
  }
  for (const [file, flow] of flows) {
    for (const { id, path, by } of flow.exposed()) {
      const at = parsed.get(file)?.sources.nodes[id];
      if (at === undefined) continue;
      report.warn(
        "TESTS_EXPOSED",
        at,
        `${id} runs ${path}, which ${by === id ? "it wrote itself" : `${by} wrote`} into a session where the submission had already run. The submission can read the file and change its outcome.`,
        "Run it in a judge session (docs/workflow-files.md#judging), or write it before the first command that runs the submission.",
      );
    }
  }
}

class SessionFlow {
  readonly #program: Program;
  readonly #spoken: ReadonlySet<string>;
  readonly #entry: Facts = new Set();
  readonly #exit: Facts = new Set();
  readonly #before = new Map<string, Facts>();

  constructor(program: Program, spoken: ReadonlySet<string>) {
    this.#program = program;
    this.#spoken = spoken;
  }

  /** Makes one pass over all edges. Returns whether anything was added. */
  round(flows: ReadonlyMap<string, SessionFlow>): boolean {
    let grown = false;
    const add = (to: Facts, from: ReadonlySet<string>) => {
      for (const one of from) if (to.size < to.add(one).size) grown = true;
    };
    const { nodes, edges, entry, handlers } = this.#program;
    for (const id of entry) add(this.#of(id), this.#entry);
    const after = new Map<string, Facts>();
    for (const [id, node] of Object.entries(nodes)) {
      const before = this.#of(id);
      const callee = calleeOf(node);
      const called = callee === null ? undefined : flows.get(callee);
      if (called !== undefined) add(called.#entry, before);
      const behind = new Set([...before, ...(called?.exit ?? []), ...effectsOf(id, node, before, this.#spoken)]);
      after.set(id, behind);
      add(this.#exit, behind);
      for (const handler of [handlers.success, handlers.failed]) if (handler !== null) add(this.#of(handler), behind);
    }
    for (const { from, to } of edges) add(this.#of(to), after.get(from) ?? new Set());
    return grown;
  }

  *exposed(): Generator<{ readonly id: string; readonly path: string; readonly by: string }> {
    for (const [id, node] of Object.entries(this.#program.nodes)) {
      if (node.kind !== "execute" || node.session === "judge") continue;
      const [found] = [...follow(id, node.command, this.#of(id))].filter(({ runs }) => runs !== null);
      if (found?.runs !== undefined && found.runs !== null) yield { id, ...found.runs };
    }
  }

  /** The facts when the workflow ends. */
  get exit(): ReadonlySet<string> {
    return this.#exit;
  }

  #of(id: string): Facts {
    const found = this.#before.get(id) ?? new Set<string>();
    this.#before.set(id, found);
    return found;
  }
}

function calleeOf(node: Node): string | null {
  if (node.kind === "call") return node.program;
  return node.kind === "map" && node.each.kind === "call" ? node.each.program : null;
}

/** The facts that a node adds to the session. */
function effectsOf(id: string, node: Node, before: ReadonlySet<string>, spoken: ReadonlySet<string>): Facts {
  if (node.kind === "execute" && node.session !== "judge") {
    const added = new Set<string>();
    for (const { adds } of follow(id, node.command, before)) for (const one of adds) added.add(one);
    return added;
  }
  const writes = node.kind === "set" && node.target.to === "file" && before.has(RAN);
  if (!writes || node.target.to !== "file") return new Set();
  const { path } = node.target;
  // A file that a model wrote is the model's own program, unless its name looks like a test.
  return isAuthored(node.value, spoken) || looksLikeTest.test(path) ? new Set([written(id, path)]) : new Set();
}

/** The statements of a command in their order, each with the facts that it adds and the written file that it runs. */
function* follow(
  id: string,
  command: string | null,
  before: ReadonlySet<string>,
): Generator<{
  readonly adds: readonly string[];
  readonly runs: { readonly path: string; readonly by: string } | null;
}> {
  if (command === null) {
    yield { adds: [RAN], runs: null };
    return;
  }
  const facts = new Set(before);
  for (const statement of statementsOf(command)) {
    const foreign = runsForeignCode(statement);
    let runs: { path: string; by: string } | null = null;
    if (foreign) {
      for (const fact of facts) {
        if (fact === RAN) continue;
        const [by, path] = JSON.parse(fact) as [string, string];
        if (runsFile(statement, path)) runs = { path, by };
      }
    }
    const targets = facts.has(RAN) ? writtenBy(statement).filter((path) => !isData(path)) : [];
    const adds = [...targets.map((path) => written(id, path)), ...(foreign ? [RAN] : [])];
    for (const one of adds) facts.add(one);
    yield { adds, runs };
  }
}

function written(id: string, path: string): string {
  return JSON.stringify([id, path.replace(/^\.\//, "")]);
}

const looksLikeTest = /test|check|spec|hidden|grade|grading|judge|verify|expected/i;
const testRunner =
  /\b(?:pytest|unittest|nose2|tox|npm (?:run )?(?:test|t)|npx (?:jest|vitest|mocha)|jest|vitest|mocha|node --test|yarn test|pnpm test|make|ctest|mvn|mvnw|gradle|gradlew|go test|cargo test|dotnet test|rspec|rake|phpunit|sbt|stack test|cabal test|ant|bats)\b/;
/** Files that programs read but nothing runs. */
const dataEnding =
  /\.(?:txt|csv|tsv|json|jsonl|xml|ya?ml|toml|md|in|out|dat|data|png|jpe?g|gif|svg|pdf|log|ini|cfg|html?|css)$/i;

function isData(path: string): boolean {
  return dataEnding.test(path);
}

function runsFile(statement: string, path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const words = statement.split(/[\s;&|()"'`=]+/).map((word) => word.replace(/^\.\//, ""));
  const stem = name.replace(/\.[A-Za-z0-9]+$/, "");
  const named = words.some((word, index) => {
    if (words[index - 1] === "<" || word.startsWith("<")) return false;
    if (word === path || word.endsWith(`/${name}`) || word === name) return true;
    // python -m hidden_tests, java HiddenTests, ./hidden
    return !isData(path) && (word === stem || word.endsWith(`.${stem}`) || word.endsWith(`/${stem}`));
  });
  if (isData(path)) return false;
  const folder = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : ".";
  const globbed = words.some((word) => word.includes("*") || (folder !== "." && word.replace(/\/$/, "") === folder));
  return named || globbed || testRunner.test(statement);
}

/** Leaves out the bodies of here-documents, which are not commands. */
function statementsOf(command: string): string[] {
  const lines = command.split("\n");
  const kept: string[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    kept.push(line);
    const close = /<<-?\s*(["']?)([A-Za-z_]\w*)\1/.exec(line)?.[2];
    const end = close === undefined ? -1 : lines.findIndex((one, index) => index > at && one.trim() === close);
    if (end > at) at = end;
  }
  return kept.join("\n").split(/;|&&|\|\||\n/);
}

/** The targets of redirections, of tee, and of cp and mv into the session. */
function writtenBy(statement: string): string[] {
  const redirected = [...statement.matchAll(/(?<![0-9&<>])>{1,2}\s*(["']?)([\w./-]{1,200})\1/g)].map(
    ([, , path]) => path ?? "",
  );
  const teed = [...statement.matchAll(/\btee\s+(?:-a\s+)?(["']?)([\w./-]{1,200})\1/g)].map(([, , path]) => path ?? "");
  return [...redirected, ...teed].filter((path) => path !== "" && !path.startsWith("/dev/"));
}

/** RESULT, and variables that may contain the output of a model or a program. */
function spokenNames(programs: readonly Program[]): ReadonlySet<string> {
  const spoken = new Set(["RESULT", "CONTENT"]);
  const sets = programs.flatMap(({ nodes }) => Object.values(nodes)).filter((node) => node.kind === "set");
  for (let size = 0; size < spoken.size; ) {
    size = spoken.size;
    for (const { target, value } of sets)
      if (target.to === "variable" && !isAuthored(value, spoken)) spoken.add(target.name);
  }
  return spoken;
}

/** Returns whether the workflow's author wrote the value, and not a model or a program. */
function isAuthored(value: Operand, spoken: ReadonlySet<string>): boolean {
  const places = (text: string) => placesIn(text).some(({ name }) => spoken.has(name));
  switch (value.from) {
    case "file":
    case "literal":
      return true;
    case "name":
      return !spoken.has(value.name) && !places(value.name);
    case "template":
      return !places(value.text);
    default:
      return false;
  }
}
