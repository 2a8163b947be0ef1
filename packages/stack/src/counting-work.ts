/**
 * Which of a student's works counts. Pure. Every list, count and command takes it from here.
 *
 * C1  Of several attempts that count (`attempts: best`) the one with the best total counts; of equal ones the later, by its number.
 * C2  An attempt that needs a human decision, and may get more than the best total, counts instead until somebody has decided.
 * C3  Where no attempt has a total, a decision of a person comes first, then work under way, then our error, then ungradable.
 * C4  A work says for whom of its people it counts. If works with different people do not say so, a person decides.
 * C5  If every work of a student counts only for others, nothing says which one counts for the student: a person decides.
 * C6  A person decides by saying for whom each work counts: `markmill grade PATH --counts STUDENT=SUBMISSION`, or `countsFor` in the API.
 *     `undecidedWorksOf` lists the works of such a question, whatever its cause is.
 */
import type { BatchWork } from "@markmill/store";

/** `works`: all that count for anybody. null: the student handed in nothing. */
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

/** C6. The works among which a person must choose for the student; none: it is decided, or nothing was handed in. */
export function undecidedWorksOf(student: string, works: readonly BatchWork[]): readonly BatchWork[] {
  const all = works.filter(({ counts, by }) => counts && by.includes(student));
  const own = all.filter(({ countsFor }) => countsFor === undefined || countsFor.includes(student));
  if (own.length === 0) return all;
  if (own.some(({ content }) => content.is === "undecided")) return all;
  return isSaid(own) ? [] : own;
}

/** C4. */
function isSaid(works: readonly BatchWork[]): boolean {
  const people = new Set(works.map(({ by }) => JSON.stringify([...by].sort())));
  return people.size === 1 || works.every(({ countsFor }) => countsFor !== undefined);
}

/** C4, C5. */
function undecided(best: BatchWork, works: readonly BatchWork[]): BatchWork {
  if (best.grade === null) return best;
  const labels = works.map(({ label }) => JSON.stringify(label)).sort();
  const why = [`no one has decided which of these submissions counts for this student: ${labels.join(", ")}`];
  return { ...best, grade: { ...best.grade, outcome: { is: "needs human", why }, penalty: null, total: null } };
}

/** C1, C3. */
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

/** C2. */
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
