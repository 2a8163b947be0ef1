/** The grades of a batch as they are handed over: one row per member, in the order of the roster's names. Pure. */
import { formatPoints, type GradeSheet } from "@markmill/gradebook";
import { type Grade, mostPoints } from "@markmill/grading";
import type { BatchDetail, BatchMember, BatchWork } from "@markmill/store";

export interface ClassSheet {
  readonly sheet: GradeSheet;
  /** By the member's key, the work whose grade counts, with the grade as it counts for that member; a member who handed in nothing has none. */
  readonly works: ReadonlyMap<string, BatchWork>;
}

/** `unsampled`, `unfetched`: keys of members whose work is known, or could not be asked for, and is not in the batch. */
export function classSheet(
  { name, rubric }: Pick<BatchDetail, "name" | "rubric">,
  members: readonly BatchMember[],
  works: readonly BatchWork[],
  unsampled: ReadonlySet<string> = new Set(),
  unfetched: ReadonlySet<string> = new Set(),
): ClassSheet {
  const criteria = rubric.criteria.map(({ id, title, points }) => ({ id, title, points }));
  const most = mostPoints(rubric);
  const handedIn = new Map<string, BatchWork[]>();
  for (const work of works) {
    if (!work.counts) continue;
    for (const key of work.by) handedIn.set(key, [...(handedIn.get(key) ?? []), work]);
  }
  const counting = new Map([...handedIn].map(([key, all]) => [key, oneOf(all)]));
  const rows = [...members].sort(byName).map((member) => {
    const work = counting.get(member.key);
    const grade = work?.grade ?? null;
    const { key, name: called, id, sisId, login, email } = member;
    return {
      student: { key, name: called, ...given({ id, sisId, login, email }) },
      grade,
      ...(work !== undefined && grade === null ? { open: true as const } : {}),
      ...(work === undefined && unsampled.has(key) ? { unsampled: true as const } : {}),
      ...(work === undefined && unfetched.has(key) ? { unfetched: true as const } : {}),
      feedback: grade === null ? "" : feedbackOf(grade, criteria),
    };
  });
  return { sheet: { title: name, most, criteria, rows }, works: counting };
}

/**
 * Several attempts of the same people count only where the best is wanted, so the best does; one that has a grade goes before one that
 * has none. Of works with different people nobody here knows which is meant: a person says so.
 */
function oneOf(works: readonly BatchWork[]): BatchWork {
  const best = works.reduce(better);
  const people = new Set(works.map(({ by }) => JSON.stringify([...by].sort())));
  if (people.size === 1 || best.grade === null) return best;
  const labels = works.map(({ label }) => JSON.stringify(label)).sort();
  const why = [`works with different people count for one person: ${labels.join(", ")}`];
  return { ...best, grade: { ...best.grade, outcome: { is: "needs human", why }, penalty: null, total: null } };
}

function better(one: BatchWork, other: BatchWork): BatchWork {
  const [left, right] = [one.grade?.total ?? -1, other.grade?.total ?? -1];
  if (left !== right) return left > right ? one : other;
  return one.attempt > other.attempt ? one : other;
}

function byName(one: BatchMember, other: BatchMember): number {
  const [left, right] = [one.sortableName ?? one.name, other.sortableName ?? other.name];
  return left.localeCompare(right, "en") || (one.key < other.key ? -1 : 1);
}

/** For the student, where a platform takes one text. */
function feedbackOf(grade: Grade, criteria: GradeSheet["criteria"]): string {
  if (grade.total === null) return "";
  const lines = criteria.flatMap(({ id, title, points }) => {
    const found = grade.criteria.find((one) => one.id === id);
    if (found?.is !== "scored") return [];
    return `${title}: ${formatPoints(found.points)} of ${formatPoints(points)}.${found.comment === "" ? "" : ` ${found.comment}`}`;
  });
  if (grade.penalty !== null) lines.push(`${formatPoints(grade.penalty.points)} points less: ${grade.penalty.why}.`);
  if (grade.nextSteps.length > 0) lines.push("Next:", ...grade.nextSteps.map((step) => `- ${step}`));
  return lines.join("\n");
}

function given(fields: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
