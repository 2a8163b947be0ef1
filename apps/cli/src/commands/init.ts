/**
 * A project, or a course to begin with. A course is made beside its place and then renamed, so that it is there whole or not at all; kill -9 in between
 * leaves a folder `.NAME-…` that nobody reads.
 */
import { cp, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { makeProject } from "@markmill/config";
import { type Command, exitCodes, UsageError } from "../command.ts";

const template = join(import.meta.dirname, "../../templates/course");

export const init: Command = {
  help: `Usage: markmill init [DIR]

Without DIR: makes the working directory a Markmill project. It gets a folder
.markmill/, and its .env counts whole from now on. Elsewhere a .env chooses no
endpoint, no database, no queue and no sandbox, for its author may be the
student whose folder it is. Say it only in a folder of your own.

With DIR: makes a course there that can be graded at once. It holds a workflow,
a rubric, hidden tests, six students who do not exist and a scripted model.

Examples:
  markmill init
  markmill init leap-years
  cd leap-years && markmill grade . --script model.yaml`,

  async run(args, terminal) {
    const { positionals } = parseArgs({ args: [...args], allowPositionals: true, options: {} });
    const [named, ...more] = positionals;
    if (more.length > 0) throw new UsageError("'markmill init' takes one folder.");
    if (named === undefined) {
      makeProject(terminal.cwd);
      terminal.err(`a Markmill project: ${terminal.cwd}`);
      return exitCodes.success;
    }
    const folder = resolve(terminal.cwd, named);
    await makeCourse(folder);
    makeProject(folder);
    terminal.err(`a course: ${folder}`);
    const near = relative(terminal.cwd, folder);
    const way = near === "" ? "" : `cd ${near.startsWith("..") ? folder : near} && `;
    terminal.err(`next: ${way}markmill grade . --script model.yaml`);
    return exitCodes.success;
  },
};

async function makeCourse(folder: string): Promise<void> {
  const there = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw new UsageError(`${folder} cannot be a course: ${error.code === "ENOTDIR" ? "it is a file" : error.message}.`);
  });
  if (there !== null && there.length > 0) {
    throw new UsageError(`${folder} is not empty. Name a folder that does not exist yet.`);
  }
  const made = await mkdtemp(join(dirname(folder), `.${basename(folder)}-`)).catch((error: Error) => {
    throw new UsageError(`${folder} cannot be made: ${error.message}.`);
  });
  try {
    await cp(template, join(made, "course"), { recursive: true });
    await rename(join(made, "course"), folder);
  } finally {
    await rm(made, { recursive: true, force: true });
  }
}
