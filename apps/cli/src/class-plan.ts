/** Plans a grading from files: the class, the workflow and the options. Everything is checked before any submission is started. */

import { readFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { CLASS_FILE, type ClassHead, type GitAccess, readClassHead } from "@markmill/classroom";
import { type Config, trustsClassFile } from "@markmill/config";
import { checkStart, type Finding, readRubricFile } from "@markmill/definition";
import type { Rubric } from "@markmill/grading";
import { isSandboxChoice } from "@markmill/stack";
import type { Definition } from "@markmill/store";
import { countOf } from "./amounts.ts";
import { type Terminal, UsageError } from "./command.ts";
import { definitionOf, findWorkflow, tellFindings } from "./find-workflow.ts";

export interface ClassWords {
  readonly workflow?: string | undefined;
  readonly rubric?: string | undefined;
  readonly roster?: string | undefined;
  readonly model?: string | undefined;
  readonly sandbox?: string | undefined;
}

export interface ClassPlan {
  /** Identifies the batch within the tenant: grading the same class again continues the same batch. */
  readonly key: string;
  readonly name: string;
  readonly head: ClassHead;
  readonly definition: Definition;
  readonly rubric: Rubric;
  readonly variables: Readonly<Record<string, string>>;
  readonly config: Config;
}

export async function planClass(
  path: string,
  words: ClassWords,
  given: Config,
  terminal: Terminal,
): Promise<ClassPlan | null> {
  const at = resolve(terminal.cwd, path);
  const read = await readClassHead(
    at,
    words.roster === undefined ? {} : { roster: resolve(terminal.cwd, words.roster) },
  );
  tell(read.findings, terminal);
  if (!read.ok) return null;
  const head = withTrustedPlaces(read.head, terminal);
  const { class: found, folder } = head;
  const config = withSandbox(given, words.sandbox, found.sandbox);
  const workflow = words.workflow ?? (found.workflow === undefined ? undefined : resolve(folder, found.workflow));
  if (workflow === undefined) {
    throw new UsageError(`${path} names no workflow. Add 'workflow: FILE' to class.yaml, or pass --workflow FILE.`);
  }
  const rubricFile = words.rubric === undefined ? found.rubric : resolve(terminal.cwd, words.rubric);
  const own = rubricFile === undefined ? null : readRubric(resolve(folder, rubricFile), terminal);
  if (own === "wrong") return null;
  const loaded = findWorkflow(
    workflow,
    terminal.cwd,
    undefined,
    Object.keys(config.workflowEnvironment),
    own ?? undefined,
  );
  for (const text of tellFindings(loaded)) terminal.err(`${text}\n`);
  if (loaded.definition === null) return null;
  const definition = definitionOf(loaded);
  const rubric = own ?? rubricOf(definition);
  if (rubric === null) {
    throw new UsageError(
      `${basename(workflow)} has no rubric. Add a section '# Rubric' to it, add 'rubric: FILE' to class.yaml, or pass --rubric FILE.`,
    );
  }
  const model = words.model ?? found.model;
  const variables = { ...found.params, ...(model === undefined ? {} : { AI_MODEL_NAME: model }) };
  const environment = Object.keys(config.workflowEnvironment);
  const needs = checkStart(loaded.definition, { variables, environment, submission: [...found.requires] });
  for (const one of needs) terminal.err(`${one.severity} ${one.code}: ${one.message}\n  fix: ${one.fix}\n`);
  if (needs.some(({ severity }) => severity === "error")) return null;
  const name = found.name ?? basename(head.described ? folder : at).replace(/\.zip$/i, "");
  const key = `class ${head.described ? folder : at}`;
  return { key, name, head, definition, rubric, variables, config };
}

/** A stranger who sent the folder must not decide where this machine's credentials are sent (config/src/class-file-trust.ts). */
function withTrustedPlaces(head: ClassHead, terminal: Terminal): ClassHead {
  const { repositories } = head.class;
  const file = join(head.folder, CLASS_FILE);
  if (repositories === undefined || trustsClassFile(file)) return head;
  const { from, allow } = repositories;
  const isRemote = /^(?:https|ssh):/i.test(from);
  const reached = /^ssh:/i.test(from)
    ? "not fetched, because ssh would need your keys"
    : "fetched without your token and keys, and only from public addresses";
  const lost = [
    ...(allow.length === 0 ? [] : [`its repositories.allow is ignored: ${countOf(allow.length, "place")}`]),
    ...(isRemote ? [`its repositories are ${reached}`] : []),
  ];
  if (lost.length === 0) return head;
  const message = `${file} is not trusted, so ${lost.join(", and ")}.`;
  const fix = `If you wrote it, or know its author: markmill trust ${head.folder}`;
  const at = { file, line: 1, column: 1 };
  tell([{ severity: "warning", code: "CLASS_ALLOW_UNTRUSTED", message, fix, at }], terminal);
  const withheld = isRemote ? ({ withheld: true } as const) : {};
  return { ...head, class: { ...head.class, repositories: { ...repositories, allow: [], ...withheld } } };
}

/** Paths are relative to the working directory. */
export function gitAccess({ git }: Config, cwd: string): GitAccess {
  const { token, sshKey, knownHosts, caFile } = git;
  return {
    ...(token === undefined ? {} : { token }),
    ...(caFile === undefined ? {} : { caFile: resolve(cwd, caFile) }),
    ...(sshKey === undefined ? {} : { sshKey: resolve(cwd, sshKey) }),
    ...(knownHosts === undefined ? {} : { knownHosts: resolve(cwd, knownHosts) }),
  };
}

/** Prints each finding once, errors first, with its place if it is in a text. */
export function tell(findings: readonly Finding[], terminal: Terminal): void {
  const sorted = [...findings].sort(
    (one, other) => Number(other.severity === "error") - Number(one.severity === "error"),
  );
  for (const { severity, code, message, fix, at } of sorted) {
    const place = /^(?:CLASS|CFG|ROSTER|PARAM|SUBMISSION_(?:MISSING|REQUIRED))/.test(code)
      ? `${placeOf(at, terminal.cwd)}: `
      : "";
    terminal.err(`${severity} ${code}: ${code === "CLASS_PATH_MISSING" ? "" : place}${message}\n  fix: ${fix}`);
  }
}

/** Returns the shortest path from the working directory. */
function placeOf({ file, line, column }: Finding["at"], cwd: string): string {
  const near = relative(cwd, file);
  return `${near.startsWith("..") || near === "" ? file : near}:${line}:${column}`;
}

function readRubric(file: string, terminal: Terminal): Rubric | "wrong" {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    throw new UsageError(`Rubric ${file} not found.`);
  }
  const { rubric, findings } = readRubricFile(text, file);
  for (const { severity, code, message, fix, at } of findings)
    terminal.err(`${severity} ${code}: ${at.file}:${at.line}:${at.column}: ${message}\n  fix: ${fix}`);
  return rubric ?? "wrong";
}

function rubricOf({ programs, root }: Definition): Rubric | null {
  const graded = [programs[root], ...Object.values(programs)].find((program) => program?.rubric !== undefined);
  return (graded?.rubric as Rubric | undefined) ?? null;
}

/** Commands run without a sandbox only if a person requests it on the command line. */
export function withSandbox(config: Config, flag: string | undefined, written: string | undefined): Config {
  const kind = flag ?? written;
  if (kind === undefined) return config;
  if (!isSandboxChoice(kind)) throw new UsageError(`--sandbox must be auto, docker, jail or none, not '${kind}'.`);
  if (kind === "none" && flag === undefined) {
    throw new UsageError(
      "class.yaml contains 'sandbox: none'. To run commands without a sandbox, pass the flag --sandbox none.",
    );
  }
  return { ...config, sandbox: { ...config.sandbox, kind, byFlag: true } };
}
