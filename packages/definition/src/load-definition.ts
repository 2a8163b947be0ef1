/**
 * A workflow with all it includes, calls and reads, as one definition.
 *
 * D1  Same hash, same programs and same beginning (hash-definition.ts). Two workflows that call each other are made of the same files
 *     and are two definitions.
 * D2  Pure: the workspace is asked for bytes, nothing else is touched.
 */
import type { Program } from "@markmill/engine";
import { checkCommands } from "./check-commands.ts";
import { checkEvidence } from "./check-evidence.ts";
import { canEnd } from "./check-flow.ts";
import { decodeSource } from "./decode-source.ts";
import type { Finding } from "./finding.ts";
import { hashDefinition, sha256 } from "./hash-definition.ts";
import { builtInNames } from "./names.ts";
import { type ParsedWorkflow, parseWorkflow } from "./parse-workflow.ts";
import { isProtectedPath, protectedFix, protectedReason } from "./protected-path.ts";
import { roleOf } from "./read-document.ts";
import { Report } from "./report.ts";
import type { SourceMap } from "./source-map.ts";
import { normalise, type Workspace } from "./workspace.ts";

export interface Definition {
  readonly dialect: "codementor";
  /** sha256, in hex. */
  readonly hash: string;
  /** Path of the workflow that was asked for. */
  readonly root: string;
  /** By path: the root and every workflow it calls, directly or through others. */
  readonly programs: Readonly<Record<string, Program>>;
  readonly files: readonly { readonly path: string; readonly sha256: string; readonly bytes: number }[];
  readonly sources: Readonly<Record<string, SourceMap>>;
}

export interface LoadOptions {
  /** Names of environment variables that a run may read. */
  readonly environment?: readonly string[];
}

export interface Loaded {
  /** null: there is at least one error. */
  readonly definition: Definition | null;
  readonly findings: readonly Finding[];
}

const MAX_WORKFLOWS = 500;
/** Of all programs together: each carries its own copy of the files it reads. */
const MAX_DEFINITION_CHARACTERS = 32 * 1024 * 1024;

export function loadDefinition(disk: Workspace, path: string, options: LoadOptions = {}): Loaded {
  const report = new Report();
  const workspace = readOnce(disk);
  const root = normalise(path);
  if (root !== null && (isProtectedPath(root) || workspace.refuses?.(root) === true)) {
    const message = `${root} is not read: ${protectedReason}.`;
    report.error("FILE_PROTECTED", { file: path, line: 1, column: 1 }, message, protectedFix);
    return { definition: null, findings: report.findings };
  }
  const bytes = root === null ? undefined : workspace.read(root);
  if (root === null || bytes === undefined) {
    report.error(
      "FILE_MISSING",
      { file: path, line: 1, column: 1 },
      root === null ? `${path} lies outside the workflow folder.` : `There is no file ${root}.`,
      `${report.didYouMean(path, () => workspace.list?.() ?? [])}Check the path.`,
    );
    return { definition: null, findings: report.findings };
  }

  const parsed = parseAll(workspace, root, bytes, report);
  checkNames(parsed, options.environment ?? [], report);
  checkCalls(parsed, root, report);
  checkCommands(parsed, report);
  checkEvidence(parsed, report);
  const findings = inOrder(report.findings);
  if (report.hasErrors) return { definition: null, findings };

  const paths = new Set(parsed.keys());
  for (const { read } of parsed.values()) for (const file of read) paths.add(file);
  const files = [...paths].sort().map((file) => {
    const content = workspace.read(file) ?? new Uint8Array();
    return { path: file, sha256: sha256(content), bytes: content.length };
  });
  const programs: [string, Program][] = [];
  for (const [file, { program }] of parsed) if (program !== null) programs.push([file, program]);
  const characters = programs.reduce((sum, [, program]) => sum + charactersOf(program), 0);
  if (characters > MAX_DEFINITION_CHARACTERS) {
    report.error(
      "DEFINITION_TOO_LARGE",
      { file: root, line: 1, column: 1 },
      `The workflow and all it calls come to ${characters} characters; at most ${MAX_DEFINITION_CHARACTERS} are allowed.`,
      "Hand long files to the run with the submission, or read one file in fewer workflows.",
    );
    return { definition: null, findings: inOrder(report.findings) };
  }
  return {
    definition: {
      dialect: "codementor",
      hash: hashDefinition(root, files, Object.fromEntries(programs)),
      root,
      programs: Object.fromEntries(programs),
      files,
      sources: Object.fromEntries(Array.from(parsed, ([file, { sources }]) => [file, sources])),
    },
    findings,
  };
}

/** What is hashed is what was compiled, also while somebody edits the files. */
function readOnce(workspace: Workspace): Workspace {
  const bytes = new Map<string, Uint8Array | undefined>();
  let listed: string[] | null = null;
  return {
    read(path) {
      if (!bytes.has(path)) bytes.set(path, workspace.read(path));
      return bytes.get(path);
    },
    refuses: (path) => workspace.refuses?.(path) === true,
    list() {
      listed ??= [...(workspace.list?.() ?? [])];
      return listed;
    },
    ...(workspace.tree === undefined ? {} : { tree: (folder: string) => workspace.tree?.(folder) }),
  };
}

/** All texts of a program, and a little for each thing in it. */
function charactersOf(value: unknown): number {
  if (typeof value === "string") return value.length + 3;
  if (typeof value !== "object" || value === null) return 6;
  let sum = 2;
  for (const [name, inner] of Object.entries(value)) sum += name.length + 4 + charactersOf(inner);
  return sum;
}

function parseAll(workspace: Workspace, root: string, bytes: Uint8Array, report: Report): Map<string, ParsedWorkflow> {
  const parsed = new Map<string, ParsedWorkflow>();
  const queue = [root];
  const queued = new Set(queue);
  for (const path of queue) {
    const content = path === root ? bytes : workspace.read(path);
    const text = content === undefined ? null : decodeSource(content, path, report);
    if (text === null) continue;
    const workflow = parseWorkflow(text, path, workspace);
    report.add(workflow.findings);
    parsed.set(path, workflow);
    for (const { program, found, at } of workflow.calls) {
      if (!found) {
        const near = report.didYouMean(program, () => workspace.list?.() ?? []);
        report.error(
          "CALL_MISSING",
          at,
          `There is no workflow ${program}.`,
          `${near}Correct the path or add the file.`,
        );
      } else if (!queued.has(program)) {
        if (queued.size >= MAX_WORKFLOWS) {
          report.error(
            "CALL_TOO_MANY",
            at,
            `More than ${MAX_WORKFLOWS} workflows belong to ${root}.`,
            "Pass what differs as parameters instead of writing a file for each case.",
          );
          return parsed;
        }
        queued.add(program);
        queue.push(program);
      }
    }
  }
  return parsed;
}

/** Variables are visible to callees and come back from them, so a name set in any of the files is known in all. */
function checkNames(parsed: ReadonlyMap<string, ParsedWorkflow>, environment: readonly string[], report: Report): void {
  const known = new Set([...builtInNames, ...environment]);
  for (const { defines } of parsed.values()) for (const name of defines) known.add(name);
  for (const { uses, sources } of parsed.values()) {
    const prompts = Object.keys(sources.prompts);
    const promptIds = new Set(prompts);
    for (const { as, name, where, at } of uses) {
      if (known.has(name) || promptIds.has(name)) continue;
      const near = report.didYouMean(name, () => (as === "prompt" ? [...prompts, ...known] : [...known, ...prompts]));
      if (as === "prompt") {
        const message = `${where} sends "${name.slice(0, 60)}", which is neither a prompt nor a variable of this workflow.`;
        const fix = `${near}Write the section ## ${roleOf(name) === null ? `User ${name.slice(0, 40)}` : name.slice(0, 60)}, or quote a text that is meant literally.`;
        if (roleOf(name) === null) report.warn("PROMPT_UNKNOWN", at, message, fix);
        else report.error("PROMPT_UNKNOWN", at, message, fix);
      } else if (as === "assign") {
        report.warn(
          "ASSIGN_LITERAL",
          at,
          `"${name.slice(0, 60)}" in ${where} is neither a prompt nor a variable, so RESULT becomes this very text.`,
          `${near}Quote the text if that is meant.`,
        );
      } else {
        report.warn(
          "VARIABLE_UNKNOWN",
          at,
          `${where} uses ${name}, which nothing sets.`,
          `${near}Declare it in PARAMS, or set it with a SET node.`,
        );
      }
    }
  }
}

/**
 * Workflows that call each other in a circle are legal, the limit on depth ends them; one that cannot end without calling
 * itself again is not.
 */
function checkCalls(parsed: ReadonlyMap<string, ParsedWorkflow>, root: string, report: Report): void {
  const done = new Set<string>();
  const path: { file: string; next: number }[] = [{ file: root, next: 0 }];
  const onPath = new Set([root]);
  const circles: { chain: string[]; at: ParsedWorkflow["calls"][number]["at"] }[] = [];
  while (path.length > 0) {
    const top = path[path.length - 1];
    if (top === undefined) break;
    const call = parsed.get(top.file)?.calls[top.next++];
    if (call === undefined) {
      done.add(top.file);
      onPath.delete(top.file);
      path.pop();
    } else if (onPath.has(call.program)) {
      const files = path.map(({ file }) => file);
      circles.push({ chain: [...files.slice(files.indexOf(call.program)), call.program], at: call.at });
    } else if (!done.has(call.program) && parsed.has(call.program)) {
      path.push({ file: call.program, next: 0 });
      onPath.add(call.program);
    }
  }
  if (circles.length === 0) return;
  const ending = workflowsThatEnd(parsed);
  for (const { chain, at } of circles) {
    const shown = chain.join(" -> ");
    if (chain.some((file) => parsed.get(file)?.program === null)) continue;
    if (chain.every((file) => !ending.has(file))) {
      report.error(
        "CALL_ENDLESS",
        at,
        `Every way through this workflow calls it again: ${shown}.`,
        "Add a CHECK with an edge that ends the workflow without the call.",
      );
    } else {
      report.warn(
        "CALL_CYCLE",
        at,
        `These workflows call each other in a circle: ${shown}. The limit on depth ends it at the latest.`,
        "Make sure a CHECK ends the recursion.",
      );
    }
  }
}

/** Grows from the workflows that end without any call, until nothing is added. */
function workflowsThatEnd(parsed: ReadonlyMap<string, ParsedWorkflow>): Set<string> {
  const ending = new Set<string>();
  for (let before = -1; before !== ending.size; ) {
    before = ending.size;
    for (const [file, { program }] of parsed) {
      if (program === null || ending.has(file)) continue;
      if (canEnd(program, (node) => node.kind === "call" && !ending.has(node.program))) ending.add(file);
    }
  }
  return ending;
}

/** By file as loaded, then by place. */
function inOrder(findings: readonly Finding[]): Finding[] {
  const order = new Map<string, number>();
  for (const { at } of findings) if (!order.has(at.file)) order.set(at.file, order.size);
  return [...findings].sort(
    (a, b) =>
      (order.get(a.at.file) ?? 0) - (order.get(b.at.file) ?? 0) || a.at.line - b.at.line || a.at.column - b.at.column,
  );
}
