/**
 * Unpacks archives in a submission where they are, under one common set of limits. If a submission consists of a single archive, its
 * content is the submission. Two levels are unpacked; a deeper archive stays a file.
 *
 * N1  A hostile archive (paths that escape, links, clashes, bombs) refuses the submission, at any depth.
 * N2  An archive that is only broken or of another kind refuses the submission only if there is nothing else. Otherwise it stays a file,
 *     with a note.
 */
import {
  archiveKind,
  type Entry,
  type ReadWork,
  readArchive,
  SubmissionError,
  type SubmissionLimits,
  showName,
} from "@markmill/grading/submission";
import { keepsFolder, spellAsRequired } from "./required-paths.ts";

const DEEPEST = 2;

export async function unpackNested(
  work: ReadWork,
  limits: SubmissionLimits,
  requires: readonly string[] = [],
): Promise<ReadWork> {
  const budget = { files: limits.files, bytes: limits.bytes };
  const notes = [...work.notes];
  const spend = (entries: readonly Entry[]) => {
    for (const entry of entries) {
      if (entry.kind === "folder") continue;
      budget.files -= 1;
      budget.bytes -= entry.kind === "file" ? entry.bytes.length : 0;
    }
  };
  spend(work.entries);

  async function unpack(entries: readonly Entry[], depth: number): Promise<readonly Entry[]> {
    const files = entries.filter(({ kind }) => kind !== "folder");
    const taken = new Set(entries.map(({ path }) => path.toLowerCase()));
    const out: Entry[] = [];
    for (const entry of entries) {
      const kind = entry.kind === "file" ? archiveKind(entry.path) : "none";
      if (entry.kind !== "file" || kind === "none") {
        out.push(entry);
        continue;
      }
      const alone = files.length === 1;
      if (depth === DEEPEST) {
        notes.push(`${showName(entry.path)} is inside ${DEEPEST} nested archives and was not unpacked`);
        out.push(entry);
        continue;
      }
      const inner = await readInner(entry.path, entry.bytes, alone);
      if (inner === null) {
        out.push(entry);
        continue;
      }
      spend(inner.entries);
      if (budget.files < 0 || budget.bytes < 0) throw tooLarge(entry.path);
      const unpacked = await unpack(inner.entries, depth + 1);
      notes.push(...inner.notes);
      if (alone) {
        // The submission is only this archive, so the folders around it do not count.
        return unpacked;
      }
      const folder = freeName(entry.path.replace(/\.(?:zip|tar|tar\.gz|tgz)$/i, ""), taken);
      notes.push(`${showName(entry.path)} was unpacked into ${showName(folder)}`);
      out.push({ kind: "folder", path: folder });
      out.push(...unpacked.map((one) => ({ ...one, path: `${folder}/${one.path}` })));
    }
    return out;
  }

  async function readInner(path: string, bytes: Buffer, alone: boolean): Promise<ReadWork | null> {
    try {
      return await readArchive(path.split("/").at(-1) ?? path, bytes, {
        files: Math.max(0, budget.files),
        bytes: Math.max(0, budget.bytes),
      });
    } catch (error) {
      const mild =
        error instanceof SubmissionError &&
        (error.code === "SUBMISSION_ARCHIVE_BROKEN" || error.code === "SUBMISSION_ARCHIVE_UNSUPPORTED");
      if (alone || !mild) throw error;
      notes.push(`${showName(path)} was not unpacked: ${error.message}`);
      return null;
    }
  }

  const entries = withoutWrapping(await unpack(work.entries, 0), requires, notes);
  return { entries: spellAsRequired(entries, requires, notes), notes };
}

/** People often pack one folder around all files. Its content is the submission, unless the class requires the folder. */
function withoutWrapping(entries: readonly Entry[], requires: readonly string[], notes: string[]): readonly Entry[] {
  const real = entries.filter(({ path }) => !isJunkPath(path));
  const tops = new Set(real.map(({ path }) => path.split("/", 1)[0] ?? ""));
  const [top] = tops;
  if (tops.size !== 1 || top === undefined) return real;
  if (real.some(({ path, kind }) => path === top && kind !== "folder")) return real;
  const inside = real.filter(({ path }) => path !== top);
  // A link is relative to its own folder. A link through the removed folder would lead out of the submission.
  if (inside.length === 0 || inside.some(({ kind }) => kind === "link")) return real;
  const files = inside.filter(({ kind }) => kind === "file").map(({ path }) => path.slice(top.length + 1));
  if (keepsFolder(requires, top, files)) return real;
  notes.push(`the single top folder ${showName(top)} was removed`);
  return inside.map((entry) => ({ ...entry, path: entry.path.slice(top.length + 1) }));
}

function isJunkPath(path: string): boolean {
  return path
    .split("/")
    .some((part) => /^(?:__MACOSX|\.DS_Store|Thumbs\.db|desktop\.ini)$/i.test(part) || part.startsWith("._"));
}

function freeName(wanted: string, taken: Set<string>): string {
  let name = wanted;
  for (let count = 2; taken.has(name.toLowerCase()); count += 1) name = `${wanted}-${count}`;
  taken.add(name.toLowerCase());
  return name;
}

function tooLarge(path: string): SubmissionError {
  return new SubmissionError(
    "SUBMISSION_TOO_LARGE",
    `With ${showName(path)} unpacked, the submission contains more files or bytes than allowed.`,
    "Remove files that are not part of the submission.",
  );
}
