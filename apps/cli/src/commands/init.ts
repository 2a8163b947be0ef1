/**
 * Creates a project, or a course as a starting point. A course is built beside its target and then renamed, so the folder exists completely
 * or not at all. kill -9 in between leaves a folder `.NAME-…` that no command reads.
 */
import { spawnSync } from "node:child_process";
import { cp, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { claimHome } from "@markmill/config";
import { suggest } from "@markmill/definition";
import { tellUnrecorded } from "../ask-trust.ts";
import { type Command, exitCodes, type Terminal, UsageError } from "../command.ts";

const templates = join(import.meta.dirname, "../../templates/courses");

/** The programs that the tests of a course start. */
const programsOf = {
  javascript: ["node"],
  python: ["python3"],
  java: ["javac", "java"],
  c: ["gcc"],
} as const;
type CourseLanguage = keyof typeof programsOf;
const languages = Object.keys(programsOf) as CourseLanguage[];

export const init: Command = {
  help: `Usage: markmill init [DIR] [--language LANGUAGE]

Without DIR: turn the working directory into a Markmill project. The command
creates the folder .markmill/; commands in subfolders find it. Markmill ignores
an existing .env until you trust it ('markmill trust').

With DIR: create a sample course that you can grade at once. It contains a
workflow, a rubric, hidden tests, six invented students and a scripted model.

  --language LANGUAGE  language of the students' programs: javascript (default),
                       python, java or c. docs/languages/ has a page for each

Examples:
  markmill init
  markmill init leap-years
  markmill init leap-years --language java
  cd leap-years && markmill grade . --script model.yaml`,

  async run(args, terminal) {
    const { positionals, values } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { language: { type: "string" } },
    });
    const [named, ...more] = positionals;
    if (more.length > 0) throw new UsageError("'markmill init' takes one folder.");
    if (named === undefined) {
      if (values.language !== undefined) throw new UsageError("'--language' needs DIR, the folder of the new course.");
      makeProject(terminal.cwd, terminal);
      terminal.err(`created a Markmill project: ${terminal.cwd}`);
      return exitCodes.success;
    }
    const folder = resolve(terminal.cwd, named);
    const language = readLanguage(values.language ?? "javascript");
    await makeCourse(folder, language);
    makeProject(folder, terminal);
    terminal.err(`created a course: ${folder}`);
    const missing = missingPrograms(language);
    if (missing.length > 0) {
      terminal.err(
        `${missing.join(" and ")} not found: install it before you grade, or choose a Docker image that contains it.`,
      );
    }
    const near = relative(terminal.cwd, folder);
    const way = near === "" ? "" : `cd ${quoted(near.startsWith("..") ? folder : near)} && `;
    terminal.err(`next: ${way}markmill grade . --script model.yaml`);
    return exitCodes.success;
  },
};

/** On kill -9 after the folder was created and before it was recorded, the next command finds it empty and records it. */
function makeProject(folder: string, terminal: Terminal): void {
  const home = join(folder, ".markmill");
  if (!claimHome(home)) tellUnrecorded(home, terminal);
}

function readLanguage(written: string): CourseLanguage {
  const language = languages.find((one) => one === written.toLowerCase());
  if (language !== undefined) return language;
  const near = suggest(written.toLowerCase(), languages);
  const guess = near === null ? "" : ` Did you mean ${near}?`;
  throw new UsageError(`There is no sample course for '${written}'. Choose ${languages.join(", ")}.${guess}`);
}

/** Checks this machine, because the jail runs students' programs with its tools. */
function missingPrograms(language: CourseLanguage): readonly string[] {
  const script = 'for program; do command -v -- "$program" >/dev/null || echo "$program"; done';
  const { stdout } = spawnSync("sh", ["-c", script, "sh", ...programsOf[language]], { encoding: "utf8" });
  return stdout.split("\n").filter((program) => program !== "");
}

async function makeCourse(folder: string, language: CourseLanguage): Promise<void> {
  const there = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw new UsageError(
      `The course cannot be created in ${folder}: ${error.code === "ENOTDIR" ? "it is a file" : error.message}.`,
    );
  });
  if (there !== null && there.length > 0) {
    throw new UsageError(`${folder} is not empty. Name a folder that does not exist yet.`);
  }
  const made = await mkdtemp(join(dirname(folder), `.${basename(folder)}-`)).catch((error: Error) => {
    throw new UsageError(`${folder} cannot be created: ${error.message}.`);
  });
  try {
    for (const part of ["shared", language]) await cp(join(templates, part), join(made, "course"), { recursive: true });
    await rename(join(made, "course"), folder);
  } finally {
    await rm(made, { recursive: true, force: true });
  }
}

/** Quotes the path as one word for a shell. */
function quoted(path: string): string {
  return /^[\w./@%+,:~-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
