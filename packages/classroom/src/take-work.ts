/**
 * Reads the files of one submission, unpacks archives and delivers the content.
 *
 * W1  Content is kept nowhere else: memory does not grow with the class.
 * W2  A refused, empty or incomplete submission is a value. It does not stop the other submissions.
 */

import { createHash } from "node:crypto";
import { suggest } from "@markmill/definition";
import {
  type Entry,
  packSubmission,
  type Submission,
  SubmissionError,
  type SubmissionLimits,
  showName,
} from "@markmill/grading/submission";
import type { IntakeOptions } from "./class-intake.ts";
import type { Content } from "./class-submission.ts";
import type { CommitFacts } from "./commit-facts.ts";
import type { ExportSource, SourceWork } from "./export-source.ts";
import { FetchTrouble } from "./fetch-trouble.ts";
import type { Piece, Work } from "./layout.ts";
import { withoutPointers } from "./lfs-pointers.ts";
import { missingPaths } from "./required-paths.ts";
import { unpackNested } from "./unpack-nested.ts";

export async function takeWork(
  source: ExportSource,
  work: Work,
  key: string,
  limits: SubmissionLimits,
  { take, requires = [] }: IntakeOptions,
): Promise<Content | FetchTrouble> {
  let submission: Submission;
  let commit: { readonly commit?: CommitFacts } = {};
  try {
    const read = await readWork(source, work, limits, requires);
    commit = read.commit === undefined ? {} : { commit: read.commit };
    if (!read.entries.some(({ kind }) => kind === "file")) return { is: "empty" };
    const { entries, notes, needed } = withoutPointers(read.entries, requires);
    if (needed.length > 0) return keptElsewhere(needed, read.commit !== undefined);
    submission = await packSubmission(entries, [...read.notes, ...notes]);
  } catch (error) {
    if (error instanceof FetchTrouble) return error;
    if (!(error instanceof SubmissionError)) throw error;
    return { is: "refused", code: error.code, message: error.message, fix: error.fix };
  }
  const missing = missingPaths(requires, submission.paths);
  if (missing.length > 0) {
    const near = missing.map((path) => suggest(path, submission.paths)).find((path) => path !== null);
    const guess = near === undefined ? "" : ` Similar file: ${showName(near)}.`;
    const message = `${missing.map((path) => showName(path)).join(", ")} is missing.${guess}`;
    return { is: "incomplete", missing, message, paths: [...submission.paths].sort(), ...commit };
  }
  const hash = createHash("sha256").update(submission.tar).digest("hex");
  await take?.({ key, hash, submission });
  const { files, bytes, paths, notes } = submission;
  return { is: "taken", hash, files, bytes, paths: [...paths].sort(), notes, ...commit };
}

/** The repository has the file, but we did not get it. In contrast, a student who uploads a pointer has not submitted the file. */
function keptElsewhere(paths: readonly string[], fromRepository: boolean): Content | FetchTrouble {
  const message = `${paths.slice(0, 5).map(showName).join(", ")} ${paths.length === 1 ? "is" : "are"} stored in Git LFS; the submission contains only the pointer.`;
  const fix = "Ask the student to commit the file itself (`git lfs migrate export`), or to submit it directly.";
  if (fromRepository) return new FetchTrouble(message, fix, "INTAKE_LFS");
  return { is: "refused", code: "SUBMISSION_REFUSED", message, fix };
}

/** Loose files are placed beside the content of the folder or archive, not beside the folder or archive itself. */
async function readWork(
  source: ExportSource,
  work: Work,
  limits: SubmissionLimits,
  requires: readonly string[],
): Promise<SourceWork> {
  const pieces = await readPieces(source, work.pieces, limits);
  const main = await unpackNested(pieces, limits, requires);
  if (work.beside === undefined) return { ...pieces, ...main };
  const files = main.entries.filter(({ kind }) => kind !== "folder");
  const bytes = files.reduce((sum, entry) => sum + (entry.kind === "file" ? entry.bytes.length : 0), 0);
  const left = { files: Math.max(0, limits.files - files.length), bytes: Math.max(0, limits.bytes - bytes) };
  const loose = await readPieces(source, work.beside, left);
  const known = new Map(main.entries.map((entry) => [folded(entry.path), entry]));
  const added = loose.entries.filter((entry) => {
    const before = known.get(folded(entry.path));
    if (before === undefined) return true;
    if (before.kind === "file" && entry.kind === "file" && before.bytes.equals(entry.bytes)) return false;
    throw handedInTwice(entry.path);
  });
  const beside = work.beside.map(({ top }) => showName(top)).join(", ");
  const notes = [...main.notes, ...loose.notes, `${beside}: outside the folder, added to ${showName(work.label)}`];
  return { entries: [...main.entries, ...added], notes };
}

const folded = (path: string) => path.normalize("NFKC").toLowerCase();

function handedInTwice(path: string): SubmissionError {
  return new SubmissionError(
    "SUBMISSION_ARCHIVE_CLASH",
    `${showName(path)} was handed in twice.`,
    "Submit only one file with each name.",
  );
}

async function readPieces(
  source: ExportSource,
  pieces: readonly Piece[],
  limits: SubmissionLimits,
): Promise<SourceWork> {
  const entries: Entry[] = [];
  const notes: string[] = [];
  let left = limits;
  const taken = new Set<string>();
  let commit: Pick<SourceWork, "commit"> = {};
  for (const { top, as, note } of pieces) {
    const read = await source.read(top, left);
    if (read.commit !== undefined) commit = { commit: read.commit };
    notes.push(...read.notes, ...(note === undefined ? [] : [note]));
    for (const entry of read.entries) {
      const path = as === null ? entry.path : entry.path === top ? as : `${as}/${entry.path}`;
      const known = folded(path);
      if (taken.has(known) && entry.kind === "folder") continue;
      if (taken.has(known)) throw handedInTwice(path);
      taken.add(known);
      entries.push({ ...entry, path });
      if (entry.kind === "file") left = { files: left.files - 1, bytes: left.bytes - entry.bytes.length };
    }
  }
  return { entries, notes, ...commit };
}
