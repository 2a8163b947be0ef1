/** Computes when a submission was made, and how late that is. Pure. */
import type { IntakeOptions } from "./class-intake.ts";
import type { ClassSubmission, Content, Lateness } from "./class-submission.ts";
import type { Placed } from "./gather-works.ts";
import { readInstant } from "./read-instant.ts";

function submittedAtOf({ work, by }: Placed): string | null {
  return work.submittedAt ?? by.find(({ submittedAt }) => submittedAt !== undefined)?.submittedAt ?? null;
}

function instantOf(one: Placed): number | null {
  const text = submittedAtOf(one);
  const read = text === null ? null : readInstant(text);
  return read?.is === "read" ? read.at : null;
}

/** For a repository, the date of the commit decides, and the roster's time is ignored. */
export function timeOf(
  content: Content,
  one: Placed & { readonly lateness: Lateness },
  options: IntakeOptions,
): Pick<ClassSubmission, "submittedAt" | "lateness"> {
  const commit = "commit" in content ? content.commit : undefined;
  if (commit === undefined) return { submittedAt: submittedAtOf(one), lateness: one.lateness };
  const lateness = commit.at === null ? null : latenessAt(Date.parse(commit.at), options);
  return { submittedAt: commit.at, lateness: lateness ?? { is: "unknown" } };
}

/** null: there is no deadline. */
function latenessAt(at: number, { deadline, late }: IntakeOptions): Lateness | null {
  if (deadline === undefined) return null;
  const byMs = at - deadline - (late?.graceMs ?? 0);
  return byMs > 0 ? { is: "late", byMs } : { is: "on time" };
}

export function latenessOf(one: Placed, options: IntakeOptions): Lateness {
  const at = instantOf(one);
  const timed = at === null ? null : latenessAt(at, options);
  if (timed !== null) return timed;
  if (one.work.markedLate) return { is: "late", byMs: null };
  // Canvas marks late files. So a file without a mark is on time.
  return one.work.says.by === "canvas" || one.work.says.by === "canvas-anonymous"
    ? { is: "on time" }
    : { is: "unknown" };
}
