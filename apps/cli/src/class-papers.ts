/**
 * Writes the files of a class: the class report, the grades, and a report for each student whose grade is released.
 *
 * P1  Reports of unreleased grades are written only if drafts are requested. Each of them is marked as a draft.
 * P2  A student's report is removed before anything else is written if its grade was removed, changed since its release, or withdrawn.
 * P3  Only files whose content changed are written. Other files in the folder are never touched.
 *
 * On kill -9 between two files, the folder contains complete old and new files, and the note of class-results.ts.
 */
import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { basename, join } from "node:path";
import {
  classHtml,
  type ExportedFile,
  exportGrades,
  fileNameOf,
  formatPoints,
  type GradeRow,
  reportFor,
  type StudentReport,
  studentHtml,
  studentMarkdown,
  studentPdf,
} from "@markmill/classroom/gradebook";
import type { FinalGrade } from "@markmill/grading";
import { type ClassSheet, classSheet, commitOf, everyMember, everyWork, reviewerOf, type Stack } from "@markmill/stack";
import type { BatchDetail, BatchWork } from "@markmill/store";
import { type ClassFacts, readClassFacts } from "./class-facts.ts";
import { identicalWorks } from "./identical-works.ts";
import { isThere, put } from "./put-file.ts";
import { readQuotedFiles } from "./quoted-files.ts";
import { releasedSheet } from "./released-sheet.ts";
import { paperKinds, type ResultsPlace, type WrittenState } from "./results-register.ts";

export interface ReadClass extends ClassSheet {
  readonly batch: BatchDetail;
  readonly facts: ClassFacts;
  /** The texts of the files that the submission's grade quotes, by path. */
  readonly quotedFiles: (work: BatchWork) => Promise<ReadonlyMap<string, string>>;
  /** Every submission, also those that do not count. */
  readonly all: readonly BatchWork[];
}

export interface Papers {
  /** Path of the class report. */
  readonly report: string;
  /** Paths of the grade files for programs and spreadsheets. */
  readonly grades: readonly string[];
  /** The folder with the students' reports. null: there are none. */
  readonly students: string | null;
  /** How many students have a report, and how many have an unreleased grade and therefore no report. */
  readonly reports: { readonly released: number; readonly drafts: number; readonly unreleased: number };
  /** Rows that are missing in the grade files, each with its reason. */
  readonly leftOut: readonly string[];
}

export async function readBatchClass({ tenant }: Pick<Stack, "tenant">, batch: BatchDetail): Promise<ReadClass> {
  const members = await everyMember(tenant.batches, batch.id);
  const all = await everyWork(tenant.batches, batch.id);
  const facts = readClassFacts(batch.settings.facts);
  const [unsampled, unfetched, unmatched] = [facts.unsampled, facts.unfetched, facts.candidates].map(
    (keys) => new Set(keys),
  );
  const read = classSheet(batch, members, all, unsampled, unfetched, unmatched);
  return { ...read, batch, facts, all, quotedFiles: (work) => readQuotedFiles(tenant.blobs, work) };
}

/** The hash of the content of the teacher's files, without the time of writing. */
export function fingerprintOf(read: ReadClass, links: ReadonlyMap<string, string> = new Map()): string {
  const { files } = gradeFiles(read);
  return hashOf([classReport(read, 0, links), ...files.map(({ text }) => text)].join("\n"));
}

interface WrittenPapers {
  readonly papers: Papers;
  readonly state: WrittenState;
  /** The number of files that were written or removed. */
  readonly changed: number;
}

/** `whole`: write all files, also those that seem unchanged. `note` is called before the first change. */
export async function writePapers(
  read: ReadClass,
  { out, kinds, draft, written }: ResultsPlace,
  { now, whole, note }: { readonly now: number; readonly whole: boolean; readonly note: () => Promise<void> },
): Promise<WrittenPapers> {
  const { sheet } = read;
  const known: WrittenState["students"] = written?.students ?? {};
  const folder = join(out, "students");
  let changed = 0;
  const change = async (act: () => Promise<void>) => {
    if (changed === 0) await note();
    changed += 1;
    await act();
  };
  const released = releasedSheet(read).works;
  const reports: { readonly key: string; readonly file: string; readonly input: StudentReportInput }[] = [];
  const counts = { released: 0, drafts: 0, unreleased: 0 };
  const links = new Map<string, string>();
  const linked = (["html", "pdf", "md"] as const).find((kind) => kinds.includes(kind));
  for (const { student } of sheet.rows) {
    const { key } = student;
    const file = join(folder, fileNameOf(key));
    const given = released.get(key);
    const work = given ?? read.works.get(key);
    if (work?.grade == null || (given === undefined && !draft)) {
      if (work?.grade != null) counts.unreleased += 1;
      await removeReports(file, change);
      continue;
    }
    counts[given === undefined ? "drafts" : "released"] += 1;
    reports.push({ key, file, input: { student, work, grade: work.grade, draft: given === undefined } });
    links.set(key, `students/${encodeURIComponent(`${basename(file)}.${linked}`)}`);
  }
  const members = new Set(sheet.rows.map(({ student }) => student.key));
  for (const key of Object.keys(known).filter((one) => !members.has(one)))
    await removeReports(join(folder, fileNameOf(key)), change);
  const fingerprint = fingerprintOf(read, links);
  const { files, leftOut } = gradeFiles(read);
  const report = join(out, "class-report.html");
  const own = [report, ...files.map(({ name }) => join(out, name))];
  const missing = (await Promise.all(own.map((path) => isThere(path)))).includes(false);
  const teachers = whole || missing || written?.sheet !== fingerprint;
  if (teachers) for (const { name, text } of files) await change(() => put(join(out, name), text));
  const state: Record<string, string> = {};
  for (const { key, file, input } of reports) {
    const moment = momentOf(read, input, now);
    const hash = hashOf(JSON.stringify([sheet.title, sheet.criteria, input, moment, kinds]));
    const there = (await Promise.all(kinds.map((kind) => isThere(`${file}.${kind}`)))).every(Boolean);
    state[key] = hash;
    if (!whole && there && known[key] === hash) continue;
    const one = await studentReport(read, input, moment);
    if (kinds.includes("md")) await change(() => put(`${file}.md`, studentMarkdown(one)));
    if (kinds.includes("html")) await change(() => put(`${file}.html`, studentHtml(one)));
    if (kinds.includes("pdf"))
      await change(async () => put(`${file}.pdf`, await studentPdf(one, { at: new Date(now) })));
  }
  // Written last, because it links to the students' reports.
  if (teachers) await change(() => put(report, classReport(read, now, links)));
  return {
    papers: {
      report,
      grades: own.slice(1),
      students: reports.length === 0 ? null : folder,
      reports: counts,
      leftOut,
    },
    state: { sheet: fingerprint, students: state },
    changed,
  };
}

/** See P2 in the file header. */
async function removeReports(file: string, change: (act: () => Promise<void>) => Promise<void>): Promise<void> {
  for (const kind of paperKinds)
    if (await isThere(`${file}.${kind}`)) await change(() => rm(`${file}.${kind}`, { force: true }));
}

function gradeFiles({ sheet }: ReadClass): {
  readonly files: readonly ExportedFile[];
  readonly leftOut: readonly string[];
} {
  const exported = (["csv", "json"] as const).map((to) => exportGrades(to, sheet));
  return {
    files: exported.flatMap((one) => (one.ok ? one.files : [])),
    leftOut: exported.flatMap(({ findings }) => findings.map(({ code, message }) => `grades.csv: ${code}: ${message}`)),
  };
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function classReport(
  { sheet, works, facts, batch, all }: ReadClass,
  now: number,
  links: ReadonlyMap<string, string>,
): string {
  const names = new Map(sheet.rows.map(({ student }) => [student.key, student.name]));
  const owners = new Map([...works.values()].map((work) => [work.key, work.by.map((key) => names.get(key) ?? key)]));
  const nameOf = (work: string) => owners.get(work)?.join(", ") ?? work;
  return classHtml({
    sheet,
    at: `${new Date(now).toISOString().slice(0, 16).replace("T", " ")} UTC`,
    work: new Map(
      // A group's submission costs once. It is counted for the first of its students.
      [...works]
        .filter(([key, { by }]) => key === by.find((one) => works.has(one)))
        .map(([key, work]) => {
          const { startedAt = null, endedAt = null } = work.try ?? {};
          const ms = startedAt === null || endedAt === null ? null : endedAt.getTime() - startedAt.getTime();
          return [key, { dollars: work.spent.nanodollars / 1e9, ms }];
        }),
    ),
    links,
    uncounted: new Map(
      sheet.rows.map(({ student: { key } }) => [key, uncountedOf(key, works.get(key)?.key ?? null, all)]),
    ),
    unmatched: facts.unmatched,
    identical: identicalWorks([...works.values()]).map((keys) => keys.map(nameOf)),
    comparedPartly: facts.comparedPartly.map(nameOf),
    similar: (facts.similar ?? []).map(({ one, other, similarity }) => ({
      one: nameOf(one),
      other: nameOf(other),
      similarity,
    })),
    ...(batch.state.is === "open" ? {} : { state: batch.state.is }),
  });
}

/** Undecided submissions are not included: a person decides which one counts, and the row states this. */
function uncountedOf(student: string, counting: string | null, all: readonly BatchWork[]): readonly string[] {
  return all
    .filter(({ key, by, content }) => key !== counting && by.includes(student) && content.is !== "undecided")
    .sort((one, other) => one.attempt - other.attempt)
    .map(({ label, attempt, grade }) => {
      const total = grade?.total == null ? "" : `, ${formatPoints(grade.total)} points`;
      return `${label} (attempt ${attempt}${total})`;
    });
}

interface StudentReportInput {
  readonly student: GradeRow["student"];
  readonly work: BatchWork;
  readonly grade: FinalGrade;
  readonly draft: boolean;
}

function momentOf({ facts }: ReadClass, { grade, draft }: StudentReportInput, now: number): Moment {
  return {
    afterDueDate: facts.deadline !== null && now > facts.deadline,
    published: grade.released !== null && !draft,
  };
}

async function studentReport(
  { sheet, batch, quotedFiles }: ReadClass,
  { student, work, grade, draft }: StudentReportInput,
  moment: Moment,
): Promise<StudentReport> {
  const { title, criteria } = sheet;
  const commit = commitOf(work);
  return reportFor({
    title,
    student: student.name,
    grade,
    criteria,
    moment,
    draft,
    reviewer: reviewerOf(grade),
    releaser: grade.released?.by ?? null,
    language: student.language ?? batch.settings.language,
    modelCalls: work.spent.calls,
    submitted: {
      at: work.submittedAt,
      attempt: work.attempt,
      lateness: work.lateness,
      ...(commit === undefined ? {} : { commit: commit.hash }),
    },
    sources: await quotedFiles(work),
  });
}

interface Moment {
  readonly afterDueDate: boolean;
  readonly published: boolean;
}
