/**
 * Writes what a class gives out: the class report, the grades, and a report for each student. Written anew each time, whole files only; a
 * student's report whose grade is gone goes too. Nothing else in the folder is touched.
 */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import {
  classHtml,
  exportGrades,
  fileNameOf,
  reportFor,
  type StudentReport,
  studentHtml,
  studentMarkdown,
  studentPdf,
} from "@markmill/gradebook";
import { type ClassSheet, classSheet, everyMember, everyWork, reviewerOf, type Stack } from "@markmill/stack";
import type { BatchDetail, BatchWork } from "@markmill/store";
import { type ClassFacts, readClassFacts } from "./class-facts.ts";
import { identicalWorks } from "./identical-works.ts";
import { readQuotedFiles } from "./quoted-files.ts";

export interface ReadClass extends ClassSheet {
  readonly batch: BatchDetail;
  readonly facts: ClassFacts;
  /** Texts of the files that its grade quotes, by path. */
  readonly quotedFiles: (work: BatchWork) => Promise<ReadonlyMap<string, string>>;
}

export interface Papers {
  /** Path of the class report. */
  readonly report: string;
  /** Paths of grades for programs and spreadsheets. */
  readonly grades: readonly string[];
  /** The folder with a report for each student. */
  readonly students: string;
}

export async function readBatchClass({ tenant }: Pick<Stack, "tenant">, batch: BatchDetail): Promise<ReadClass> {
  const members = await everyMember(tenant.batches, batch.id);
  const works = await everyWork(tenant.batches, batch.id);
  const facts = readClassFacts(batch.settings.facts);
  return {
    ...classSheet(batch, members, works, new Set(facts.unsampled), new Set(facts.unfetched)),
    batch,
    facts,
    quotedFiles: (work) => readQuotedFiles(tenant.blobs, work),
  };
}

export const paperKinds = ["md", "html", "pdf"] as const;
export type PaperKind = (typeof paperKinds)[number];

export async function writePapers(
  read: ReadClass,
  out: string,
  { now, kinds = paperKinds }: { readonly now: number; readonly kinds?: readonly PaperKind[] },
): Promise<Papers> {
  const { sheet } = read;
  const grades: string[] = [];
  for (const to of ["csv", "json"] as const) {
    const exported = exportGrades(to, sheet);
    if (!exported.ok) continue;
    for (const { name, text } of exported.files) {
      await put(join(out, name), text);
      grades.push(join(out, name));
    }
  }
  const students = join(out, "students");
  const links = new Map<string, string>();
  for (const row of sheet.rows) {
    const report = await studentReport(read, row.student.key, now);
    const file = join(students, fileNameOf(row.student.key));
    if (report === null) {
      // What was written of a grade that is no more.
      for (const kind of paperKinds) await rm(`${file}.${kind}`, { force: true });
      continue;
    }
    if (kinds.includes("md")) await put(`${file}.md`, studentMarkdown(report));
    if (kinds.includes("html")) await put(`${file}.html`, studentHtml(report));
    if (kinds.includes("pdf")) await put(`${file}.pdf`, await studentPdf(report, { at: new Date(now) }));
    const best = (["html", "pdf", "md"] as const).find((kind) => existsSync(`${file}.${kind}`));
    if (best !== undefined) links.set(row.student.key, `students/${encodeURIComponent(`${basename(file)}.${best}`)}`);
  }
  // Last, since it links to the students' reports that exist.
  await put(join(out, "class-report.html"), classReport(read, now, links));
  return { report: join(out, "class-report.html"), grades, students };
}

function classReport(
  { sheet, works, facts, batch }: ReadClass,
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
      // A work of a group costs once: it stands at the first of its people.
      [...works]
        .filter(([key, { by }]) => key === by.find((one) => works.has(one)))
        .map(([key, work]) => {
          const { startedAt = null, endedAt = null } = work.try ?? {};
          const ms = startedAt === null || endedAt === null ? null : endedAt.getTime() - startedAt.getTime();
          return [key, { dollars: work.spent.nanodollars / 1e9, ms }];
        }),
    ),
    links,
    unmatched: facts.unmatched,
    identical: identicalWorks([...works.values()]).map((keys) => keys.map(nameOf)),
    comparedPartly: facts.comparedPartly.map(nameOf),
    similar: (facts.similar ?? []).map(({ one, other, similarity }) => ({
      ...{ one: nameOf(one), other: nameOf(other), similarity },
    })),
    ...(batch.state.is === "open" ? {} : { state: batch.state.is }),
  });
}

/** null: nothing was handed in, or nothing can be said yet. */
async function studentReport(read: ReadClass, key: string, now: number): Promise<StudentReport | null> {
  const { sheet, works, facts, batch } = read;
  const row = sheet.rows.find(({ student }) => student.key === key);
  const work = works.get(key);
  const grade = work?.grade ?? null;
  if (row === undefined || work === undefined || grade === null) return null;
  const { title, criteria } = sheet;
  const moment = {
    afterDueDate: facts.deadline !== null && now > facts.deadline,
    published: grade.released !== null,
  };
  return reportFor({
    ...{ title, student: row.student.name, grade, criteria, moment },
    reviewer: reviewerOf(grade),
    releaser: grade.released?.by ?? null,
    draft: grade.released === null || grade.released.total !== grade.total,
    language: row.student.language ?? batch.settings.language,
    modelCalls: work.spent.calls,
    submitted: {
      ...{ at: work.submittedAt, attempt: work.attempt, lateness: work.lateness },
      ...(row.commit === undefined ? {} : { commit: row.commit }),
    },
    sources: await read.quotedFiles(work),
  });
}

/** Whoever reads the file sees the old one or the new one, never half of it. */
export async function put(file: string, content: string | Buffer): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const fresh = `${file}.${randomUUID().slice(0, 8)}.part`;
  await writeFile(fresh, content, { mode: 0o600 });
  await rename(fresh, file);
}
