/** Reads the PATH of `markmill grade PATH`: a folder with class.yaml, or an export alone. It reports all errors before any run starts. */
import { readFile, stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { type Finding, Report } from "@markmill/definition";
import { SubmissionError, type SubmissionErrorCode } from "@markmill/grading/submission";
import { readCfgBatch } from "./cfg-batch.ts";
import type { ClassFindingCode } from "./class-codes.ts";
import { type ClassFile, readClassFile } from "./class-file.ts";
import { type ClassIntake, type IntakeOptions, readClass } from "./class-intake.ts";
import type { GitAccess } from "./fetch-repository.ts";
import { ordinaryEntries, wordsOfFiles } from "./ordinary-entries.ts";
import { ROSTER, repositorySource } from "./repository-source.ts";
import { type Roster, readRoster } from "./roster.ts";

interface ClassFolder {
  readonly class: ClassFile;
  /** The folder of class.yaml or of the export. */
  readonly folder: string;
  readonly roster: Roster | null;
  readonly intake: ClassIntake;
}

export type ReadClassFolder =
  | { readonly ok: true; readonly class: ClassFolder; readonly findings: readonly Finding[] }
  | { readonly ok: false; readonly findings: readonly Finding[] };

export const CLASS_FILE = "class.yaml";

export interface ClassHead {
  readonly class: ClassFile;
  /** The folder of class.yaml or of the export. */
  readonly folder: string;
  /** Whether there is a class.yaml. */
  readonly described: boolean;
  readonly roster: Roster | null;
  /** The folder or archive with the submissions. */
  readonly submissions: string;
  /** Names in the submissions' top folder that belong to the teacher. */
  readonly without: readonly string[];
}

export type ReadClassHead =
  | { readonly ok: true; readonly head: ClassHead; readonly findings: readonly Finding[] }
  | { readonly ok: false; readonly findings: readonly Finding[] };

export interface HeadOptions {
  /** The roster for an export without a class.yaml. Paths are relative to the working directory. */
  readonly roster?: string;
}

/** Reads everything except the submissions. */
export async function readClassHead(path: string, options: HeadOptions = {}): Promise<ReadClassHead> {
  const report = new Report<ClassFindingCode>();
  const batch = /\.cfg\.json$/i.test(path) ? await readFile(path, "utf8").catch(() => null) : null;
  if (batch !== null) return { ok: false, findings: refuseCfg(batch, path) };
  const file = basename(path) === CLASS_FILE ? path : join(path, CLASS_FILE);
  const text = await readFile(file, "utf8").catch(() => null);
  if (text === null && !(await exists(path))) {
    report.error(
      "CLASS_PATH_MISSING",
      { file: path, line: 1, column: 1 },
      `${path} does not exist.`,
      "Name a folder with class.yaml, or an export.",
    );
    return { ok: false, findings: report.findings };
  }
  const read = text === null ? plainClass(path, options.roster) : readClassFile(text, file);
  report.add(read.findings);
  if (read.class === null) return { ok: false, findings: report.findings };
  const found = read.class;
  const folder = text === null ? dirname(resolve(path)) : dirname(file);
  const inFolder = (written: string) => resolve(folder, written);

  const { workflow, rubric } = found;
  for (const [key, written] of Object.entries({ workflow, rubric })) {
    if (written === undefined || (await exists(inFolder(written)))) continue;
    report.error(
      "CLASS_FILE_MISSING",
      read.placeOf(key),
      `${key}: file ${written} not found.`,
      "Check the path. It is relative to the folder of class.yaml.",
    );
  }
  let roster: Roster | null = null;
  if (found.roster !== undefined) {
    const bytes = await readFile(inFolder(found.roster)).catch(() => null);
    if (bytes === null) {
      report.error(
        "CLASS_FILE_MISSING",
        read.placeOf("roster"),
        `roster: file ${found.roster} not found.`,
        "Check the path. It is relative to the folder of class.yaml.",
      );
    } else {
      roster = readRoster(bytes, inFolder(found.roster), found.columns, found.clock);
      report.add(roster.findings);
    }
  }
  if (report.hasErrors) return { ok: false, findings: report.findings };
  if (found.repositories !== undefined) {
    const members = roster?.members ?? [];
    const named = found.repositories.from === ROSTER;
    if (members.length === 0 || (named && members.every(({ repository }) => repository === undefined))) {
      report.error(
        "CLASS_REPOSITORIES",
        read.placeOf("repositories"),
        roster === null
          ? "The submissions are in repositories, but there is no roster that names their students."
          : "No column of the roster contains addresses of repositories.",
        roster === null
          ? "Add `roster:` with a CSV file to class.yaml."
          : "Name a column `repository`, or write its header: `columns: { repository: HEADER }`.",
      );
      return { ok: false, findings: report.findings };
    }
  }
  const submissions = text === null ? resolve(path) : inFolder(found.submissions);
  const own = [file, ...[found.roster, workflow, rubric].filter((one) => one !== undefined).map(inFolder)];
  const without = own
    .map((one) => relative(submissions, one))
    .filter((one) => !one.startsWith("..") && !one.includes("/"));
  const head = { class: found, folder, described: text !== null, roster, submissions, without };
  return { ok: true, head, findings: report.findings };
}

/** Refuses the file, and reports the errors in it. */
function refuseCfg(text: string, file: string): readonly Finding[] {
  const report = new Report<ClassFindingCode>();
  const { batch, findings } = readCfgBatch(text, file);
  report.add(findings);
  const runs = batch === null ? "" : ` of ${batch.runs.length} runs`;
  report.error(
    "CFG_NOT_A_CLASS",
    { file, line: 1, column: 1 },
    `${file} is a batch${runs} of workflows and values, not a class with submissions.`,
    "To run the batch: markmill grade FILE. To grade a class, name its folder or export.",
  );
  return report.findings;
}

/** Reads the submissions of a class whose head was read. */
export async function readClassWorks(
  head: ClassHead,
  options: Pick<IntakeOptions, "take" | "limits" | "without" | "choices"> & { readonly git?: GitAccess } = {},
): Promise<ReadClassFolder> {
  const report = new Report<ClassFindingCode | SubmissionErrorCode>();
  const { class: found, folder, roster, submissions } = head;
  const { deadline, match, repositories } = found;
  try {
    const { git, ...intakeOptions } = options;
    const fetching = {
      ...(deadline === undefined ? {} : { deadline: deadline + found.late.graceMs }),
      ...(git === undefined ? {} : { access: git }),
      folder,
      // The teacher chose the addresses that class.yaml builds, unless the file can be a stranger's.
      allow: repositories?.from === ROSTER || repositories?.withheld === true ? repositories.allow : ("any" as const),
    };
    const intake = await readClass(submissions, {
      ...intakeOptions,
      ...(repositories === undefined
        ? {}
        : { source: await repositorySource(repositories.from, roster?.members ?? [], fetching) }),
      ...(roster === null ? { roster: undefined } : { roster }),
      ...(deadline === undefined ? {} : { deadline }),
      ...(match === undefined ? {} : { match }),
      layout: repositories === undefined ? found.layout : "plain",
      requires: found.requires,
      late: found.late,
      attempts: found.attempts,
      clock: found.clock,
      without: [...head.without, ...(options.without ?? [])],
    } as IntakeOptions);
    report.add(intake.problems);
    const teachers = [found.workflow, found.rubric].filter((one) => one !== undefined);
    const authored = await wordsOfFiles(teachers.map((written) => resolve(folder, written)));
    report.add(ordinaryEntries(intake.members, authored, submissions));
    if (intake.submissions.length === 0 && intake.unfetched.length === 0) {
      const none = intake.unmatched.length === 0;
      report.error(
        "INTAKE_NOTHING",
        { file: submissions, line: 1, column: 1 },
        none ? `There is no submission in ${submissions}.` : "No submission belongs to a student of the class.",
        none
          ? "Put one folder, zip or file for each student into it, or name the export."
          : "Compare the unmatched files with the roster.",
      );
    }
    if (report.hasErrors) return { ok: false, findings: report.findings };
    return { ok: true, class: { class: found, folder, roster, intake }, findings: report.findings };
  } catch (error) {
    if (!(error instanceof SubmissionError)) throw error;
    report.error(error.code, { file: submissions, line: 1, column: 1 }, error.message, error.fix);
    return { ok: false, findings: report.findings };
  }
}

export async function readClassFolder(
  path: string,
  options: Pick<IntakeOptions, "take" | "limits"> & HeadOptions = {},
): Promise<ReadClassFolder> {
  const { roster, ...rest } = options;
  const head = await readClassHead(path, roster === undefined ? {} : { roster });
  if (!head.ok) return head;
  const read = await readClassWorks(head.head, rest);
  return { ...read, findings: [...head.findings, ...read.findings] };
}

/** An export without a class.yaml: all settings have their defaults. */
function plainClass(path: string, roster: string | undefined): ReturnType<typeof readClassFile> {
  const written = [`submissions: ${JSON.stringify(resolve(path))}`];
  if (roster !== undefined) written.push(`roster: ${JSON.stringify(resolve(roster))}`);
  return readClassFile(written.join("\n"), path);
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}
