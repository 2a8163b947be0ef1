/** `markmill grade PATH`: a folder with class.yaml, or an export alone. Says all that is wrong before anything is begun. */
import { readFile, stat } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { type Finding, Report } from "@markmill/definition";
import { SubmissionError } from "@markmill/submission";
import { type ClassFile, readClassFile } from "./class-file.ts";
import { type ClassIntake, type IntakeOptions, readClass } from "./class-intake.ts";
import { type Roster, readRoster } from "./roster.ts";

export interface ClassFolder {
  readonly class: ClassFile;
  /** Of class.yaml, or of the export. */
  readonly folder: string;
  readonly roster: Roster | null;
  readonly intake: ClassIntake;
}

export type ReadClassFolder =
  | { readonly ok: true; readonly class: ClassFolder; readonly findings: readonly Finding[] }
  | { readonly ok: false; readonly findings: readonly Finding[] };

export const CLASS_FILE = "class.yaml";

export async function readClassFolder(
  path: string,
  options: Pick<IntakeOptions, "take" | "limits"> & { readonly roster?: string } = {},
): Promise<ReadClassFolder> {
  const report = new Report();
  const file = path.endsWith(CLASS_FILE) ? path : join(path, CLASS_FILE);
  const text = await readFile(file, "utf8").catch(() => null);
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
      { file, line: 1, column: 1 },
      `${key}: there is no file ${written}.`,
      "Check the path; it counts from the folder of class.yaml.",
    );
  }
  let roster: Roster | null = null;
  if (found.roster !== undefined) {
    const bytes = await readFile(inFolder(found.roster)).catch(() => null);
    if (bytes === null) {
      report.error(
        "CLASS_FILE_MISSING",
        { file, line: 1, column: 1 },
        `roster: there is no file ${found.roster}.`,
        "Check the path; it counts from the folder of class.yaml.",
      );
    } else {
      roster = readRoster(bytes, inFolder(found.roster), found.columns);
      report.add(roster.findings);
    }
  }
  if (report.hasErrors) return { ok: false, findings: report.findings };

  const submissions = text === null ? resolve(path) : inFolder(found.submissions);
  const own = [file, ...[found.roster, workflow, rubric].filter((one) => one !== undefined).map(inFolder)];
  const without = own
    .map((one) => relative(submissions, one))
    .filter((one) => !one.startsWith("..") && !one.includes("/"));
  const { deadline, match } = found;
  try {
    const intake = await readClass(submissions, {
      ...options,
      ...(roster === null ? { roster: undefined } : { roster }),
      ...(deadline === undefined ? {} : { deadline }),
      ...(match === undefined ? {} : { match }),
      layout: found.layout,
      requires: found.requires,
      late: found.late,
      attempts: found.attempts,
      without,
    } as IntakeOptions);
    report.add(intake.problems);
    if (intake.submissions.length === 0) {
      report.error(
        "INTAKE_NOTHING",
        { file: submissions, line: 1, column: 1 },
        "No submission belongs to anybody in the class.",
        "Look at what is listed as unmatched, and at the roster.",
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

/** An export without a class.yaml: everything by default. */
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
