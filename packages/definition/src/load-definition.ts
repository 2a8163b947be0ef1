/**
 * Loads a workflow with all files that it includes, calls and reads, as one definition.
 *
 * D1  The same hash means the same programs and the same entry (hash-definition.ts). Two workflows that call each other consist of the same
 *     files but are two definitions.
 * D2  Pure: it reads bytes from the workspace and touches nothing else.
 */
import type { Program } from "@markmill/engine";
import type { Rubric } from "@markmill/grading";
import { checkCalls } from "./check-calls.ts";
import { checkCommands } from "./check-commands.ts";
import { checkEvidence } from "./check-evidence.ts";
import { checkHiddenTests } from "./check-hidden-tests.ts";
import { decodeSource } from "./decode-source.ts";
import { type Dialect, dialects, knownFiles, recogniseDialect } from "./dialects/dialects.ts";
import type { Finding } from "./finding.ts";
import type { FindingReport } from "./finding-codes.ts";
import { hashDefinition, sha256 } from "./hash-definition.ts";
import type { LoadedFile } from "./loaded-file.ts";
import { builtInNames } from "./names.ts";
import { isProtectedPath, protectedFix, protectedReason } from "./protected-path.ts";
import { Report } from "./report.ts";
import { settleRubrics } from "./settle-rubrics.ts";
import { settleWorkflowTools } from "./settle-workflow-tools.ts";
import type { SourceMap } from "./source-map.ts";
import { normalise, type Workspace } from "./workspace.ts";

export interface Definition {
  /** The dialect of the root. Called workflows may have another one. */
  readonly dialect: Dialect;
  /** sha256, in hex. */
  readonly hash: string;
  /** The path of the requested workflow. */
  readonly root: string;
  /** By path: the root and every workflow that it calls, directly or through others. */
  readonly programs: Readonly<Record<string, Program>>;
  readonly files: readonly { readonly path: string; readonly sha256: string; readonly bytes: number }[];
  readonly sources: Readonly<Record<string, SourceMap>>;
}

export interface LoadOptions {
  /** Names of environment variables that a run may read. */
  readonly environment?: readonly string[];
  /** A class's own rubric, which replaces the workflow's. It is part of the definition. */
  readonly rubric?: Rubric;
}

export interface Loaded {
  /** null: there is at least one error. */
  readonly definition: Definition | null;
  readonly findings: readonly Finding[];
}

const MAX_WORKFLOWS = 500;
/** The limit for all programs together, because each contains its own copy of the files that it reads. */
const MAX_DEFINITION_CHARACTERS = 32 * 1024 * 1024;

export function loadDefinition(disk: Workspace, path: string, options: LoadOptions = {}): Loaded {
  const report: FindingReport = new Report();
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
      root === null ? `${path} is outside the workflow folder.` : `There is no file ${root}.`,
      `${report.didYouMean(path, () => workspace.list?.() ?? [])}Check the path.`,
    );
    return { definition: null, findings: report.findings };
  }

  const { dialect, files: parsed } = loadAll(workspace, root, bytes, report);
  checkNames(parsed, options.environment ?? [], report);
  checkCalls(parsed, root, report);
  checkCommands(parsed, report);
  checkEvidence(parsed, report);
  checkHiddenTests(parsed, report);
  const settled = settleRubrics(parsed, root, options.rubric ?? null, report);
  const findings = inOrder(report.findings);
  if (dialect === null || report.hasErrors) return { definition: null, findings };

  const paths = new Set(parsed.keys());
  for (const { read } of parsed.values()) for (const file of read) paths.add(file);
  const files = [...paths].sort().map((file) => {
    const content = workspace.read(file) ?? new Uint8Array();
    return { path: file, sha256: sha256(content), bytes: content.length };
  });
  const programs: [string, Program][] = [];
  const compiled = new Map<string, Program>();
  for (const [file, { program }] of parsed) if (program !== null) compiled.set(file, settled.get(file) ?? program);
  for (const [file, program] of compiled) programs.push([file, settleWorkflowTools(program, compiled)]);
  const characters = programs.reduce((sum, [, program]) => sum + charactersOf(program), 0);
  if (characters > MAX_DEFINITION_CHARACTERS) {
    report.error(
      "DEFINITION_TOO_LARGE",
      { file: root, line: 1, column: 1 },
      `The workflow and its called workflows have ${characters} characters. At most ${MAX_DEFINITION_CHARACTERS} are allowed.`,
      "Pass long texts to the run with the submission, or read one file in fewer workflows.",
    );
    return { definition: null, findings: inOrder(report.findings) };
  }
  return {
    definition: {
      dialect,
      hash: hashDefinition(root, files, Object.fromEntries(programs)),
      root,
      programs: Object.fromEntries(programs),
      files,
      sources: Object.fromEntries(Array.from(parsed, ([file, { sources }]) => [file, sources])),
    },
    findings,
  };
}

/** Reads each file once, so that the hashed bytes are the compiled bytes, even if somebody edits the files meanwhile. */
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

/** Counts all texts of a program, and a small constant for each other value. */
function charactersOf(value: unknown): number {
  if (typeof value === "string") return value.length + 3;
  if (typeof value !== "object" || value === null) return 6;
  let sum = 2;
  for (const [name, inner] of Object.entries(value)) sum += name.length + 4 + charactersOf(inner);
  return sum;
}

/** Loads the root and all workflows that it calls, each with the dialect that recognises it. */
function loadAll(
  workspace: Workspace,
  root: string,
  bytes: Uint8Array,
  report: FindingReport,
): { dialect: Dialect | null; files: Map<string, LoadedFile> } {
  const files = new Map<string, LoadedFile>();
  const queue = [root];
  const queued = new Set(queue);
  let dialect: Dialect | null = null;
  for (const path of queue) {
    const content = path === root ? bytes : workspace.read(path);
    const text = content === undefined ? null : decodeSource(content, path, report);
    if (text === null) continue;
    const known = recogniseDialect({ path, text });
    if (known === null) {
      report.error(
        "DIALECT_UNKNOWN",
        { file: path, line: 1, column: 1 },
        `Neither the content nor the name of ${path} is that of a workflow file.`,
        `A workflow file is ${knownFiles()}.`,
      );
      continue;
    }
    if (path === root) dialect = known;
    const file = dialects[known].load({ path, text }, workspace);
    report.add(file.findings);
    files.set(path, file);
    for (const { program, found, at } of file.calls) {
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
            "Pass the differences as parameters instead of writing a file for each case.",
          );
          return { dialect, files };
        }
        queued.add(program);
        queue.push(program);
      }
    }
  }
  return { dialect, files };
}

/** Callees see variables and return them, so a name that one file sets is known in all files. */
function checkNames(
  files: ReadonlyMap<string, LoadedFile>,
  environment: readonly string[],
  report: FindingReport,
): void {
  const known = new Set([...builtInNames, ...environment]);
  for (const { defines } of files.values()) for (const name of defines) known.add(name);
  for (const file of files.values()) file.checkNames(known, report);
}

/** Sorts by file, in the order of loading, then by place. */
function inOrder(findings: readonly Finding[]): Finding[] {
  const order = new Map<string, number>();
  for (const { at } of findings) if (!order.has(at.file)) order.set(at.file, order.size);
  return [...findings].sort(
    (a, b) =>
      (order.get(a.at.file) ?? 0) - (order.get(b.at.file) ?? 0) || a.at.line - b.at.line || a.at.column - b.at.column,
  );
}
