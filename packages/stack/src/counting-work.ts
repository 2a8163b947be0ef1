/**
 * Decides which submission of a student counts. Pure. All lists, counts and commands use this file.
 *
 * C1  If several attempts count (`attempts: best`), the one with the best total is chosen; if totals are equal, the one with the highest
 *     number.
 * C2  An attempt that needs a human decision, and may get more than the best total, is chosen instead until a person has decided.
 * C3  If no attempt has a total, the order is: an attempt that needs a human decision, one that is being graded, a grader error, an
 *     ungradable one.
 * C4  A submission lists for which of its people it counts. If submissions with different people do not list this, a person decides.
 * C5  If every submission of a student counts only for other students, none counts for this student, and a person decides.
 * C6  A person decides by setting for whom each submission counts: `markmill grade PATH --counts STUDENT=SUBMISSION`, or `countsFor` in the
 *     API. `undecidedWorksOf` lists the submissions of such a question, whatever its cause.
 */
import type { BatchWork } from "@markmill/store";

/** `works`: all submissions that count for any student. null: the student submitted nothing. */
export function countingWorkOf(student: string, works: readonly BatchWork[]): BatchWork | null {
  const all = works.filter(({ counts, by }) => counts && by.includes(student));
  const [own, ...others] = all.filter(({ countsFor }) => countsFor === undefined || countsFor.includes(student));
  if (own !== undefined) return countingWork([own, ...others]);
  const [first, ...more] = all;
  return first === undefined ? null : undecided(more.reduce(better, first), all);
}

export function countingWork([first, ...more]: readonly [BatchWork, ...BatchWork[]]): BatchWork {
  const works = [first, ...more];
  const best = more.reduce(better, first);
  return isSaid(works) ? (rivalOf(best, more.length === 0 ? [] : works) ?? best) : undecided(best, works);
}

/** C6: the submissions among which a person must choose for the student. Empty: it is decided, or the student submitted nothing. */
export function undecidedWorksOf(student: string, works: readonly BatchWork[]): readonly BatchWork[] {
  const all = works.filter(({ counts, by }) => counts && by.includes(student));
  const own = all.filter(({ countsFor }) => countsFor === undefined || countsFor.includes(student));
  if (own.length === 0) return all;
  if (own.some(({ content }) => content.is === "undecided")) return all;
  return isSaid(own) ? [] : own;
}

/** See C4 in the file header. */
function isSaid(works: readonly BatchWork[]): boolean {
  const people = new Set(works.map(({ by }) => JSON.stringify([...by].sort())));
  return people.size === 1 || works.every(({ countsFor }) => countsFor !== undefined);
}

/** See C4 and C5 in the file header. */
function undecided(best: BatchWork, works: readonly BatchWork[]): BatchWork {
  if (best.grade === null) return best;
  const labels = works.map(({ label }) => JSON.stringify(label)).sort();
  const why = [`no one has decided which of these submissions counts for this student: ${labels.join(", ")}`];
  return { ...best, grade: { ...best.grade, outcome: { is: "needs human", why }, penalty: null, total: null } };
}

/** See C1 and C3 in the file header. */
function better(one: BatchWork, other: BatchWork): BatchWork {
  const [left, right] = [one.grade?.total ?? -1, other.grade?.total ?? -1];
  if (left !== right) return left > right ? one : other;
  const ranks = left < 0 ? rankOf(one) - rankOf(other) : 0;
  if (ranks !== 0) return ranks < 0 ? one : other;
  return one.attempt > other.attempt ? one : other;
}

const ranks = { graded: 0, "needs human": 1, waiting: 2, "grader error": 3, ungradable: 4 } as const;

function rankOf({ grade }: BatchWork): number {
  return ranks[grade?.outcome.is ?? "waiting"];
}

/** See C2 in the file header. */
function rivalOf(best: BatchWork, works: readonly BatchWork[]): BatchWork | null {
  const total = best.grade?.total ?? null;
  if (total === null) return null;
  const [rival] = works
    .flatMap((work) => {
      const { grade } = work;
      if (grade?.outcome.is !== "needs human") return [];
      const may = grade.points ?? grade.most;
      return may > total ? [{ work, grade, may, why: grade.outcome.why }] : [];
    })
    .sort((one, other) => other.may - one.may || other.work.attempt - one.work.attempt);
  if (rival === undefined) return null;
  const why = [...rival.why, `attempt ${best.attempt} has ${total} points and counts unless this attempt gets more`];
  return { ...rival.work, grade: { ...rival.grade, outcome: { is: "needs human", why } } };
}
