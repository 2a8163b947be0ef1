/** Finds a workflow file. Its folder is the working directory if the file is below it, and otherwise the file's own folder. */
import { statSync } from "node:fs";
import { basename, dirname, relative, resolve, sep } from "node:path";
import { findProject, processHome } from "@markmill/config";
import { type Loaded, loadDefinition, openWorkspace, renderFinding, type Workspace } from "@markmill/definition";
import type { Rubric } from "@markmill/grading";
import type { Definition } from "@markmill/store";
import { UsageError } from "./command.ts";

export interface FoundWorkflow extends Loaded {
  readonly path: string;
  readonly workspace: Workspace;
  /** Absolute. */
  readonly root: string;
}

/** `environment`: names of environment variables that a run may read. `rubric`: the rubric of a class. */
export function findWorkflow(
  file: string,
  cwd: string,
  root?: string,
  environment: readonly string[] = [],
  rubric?: Rubric,
): FoundWorkflow {
  const absolute = resolve(cwd, file);
  const stat = statSync(absolute, { throwIfNoEntry: false });
  if (stat?.isDirectory()) throw new UsageError(`${file} is a folder. Name a workflow file in it.`);
  const base = root === undefined ? folderOf(absolute, cwd) : resolve(cwd, root);
  const workspace = openWorkspace(base, { closed: [resolve(findProject(cwd), processHome())] });
  const path = relative(base, absolute).split(sep).join("/");
  return {
    ...loadDefinition(workspace, path, { environment, ...(rubric === undefined ? {} : { rubric }) }),
    path,
    workspace,
    root: base,
  };
}

function folderOf(absolute: string, cwd: string): string {
  if (absolute.startsWith(cwd.endsWith(sep) ? cwd : cwd + sep)) return cwd;
  const folder = dirname(absolute);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new UsageError(`The folder of ${basename(absolute)} does not exist: ${folder}`);
  }
  return folder;
}

/** The definition in the form in which it is stored. */
export function definitionOf({ definition, workspace }: FoundWorkflow): Definition {
  if (definition === null) throw new Error("an invalid workflow has no definition");
  const { hash, dialect, root, programs } = definition;
  const sources = definition.files.map(({ path }) => [path, new TextDecoder().decode(workspace.read(path))] as const);
  return { hash, dialect, root, programs, name: programs[root]?.name ?? root, files: Object.fromEntries(sources) };
}

/** All findings, each with its source line. */
export function tellFindings(found: FoundWorkflow): string[] {
  const sources = new Map<string, string | undefined>();
  return found.findings.map((finding) => {
    const { file } = finding.at;
    if (!sources.has(file)) {
      const bytes = found.workspace.read(file);
      sources.set(file, bytes === undefined ? undefined : new TextDecoder().decode(bytes));
    }
    return renderFinding(finding, sources.get(file));
  });
}
