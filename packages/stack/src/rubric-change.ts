/**
 * Computes the effects of a changed rubric on a graded class before the change is made. Pure.
 *
 * R1  The order of rows has no effect.
 * R2  `seen` identifies exactly the grades that would be voided: it differs if any rubric, proposal, mark or release differs.
 * R3  A change that voids something needs the `seen` that was shown to a person. A change that voids nothing needs none.
 */
import { createHash } from "node:crypto";
import { changedCriteria, type Rubric, rubricHash } from "@markmill/grading";
import type { BatchWork } from "@markmill/store";

/** The grades that one criterion voids. */
interface CriterionChange {
  readonly id: string;
  readonly is: "changed" | "added" | "removed";
  /** Students with a grade that this criterion changes or leaves open. */
  readonly students: number;
  /** Marks by people. */
  readonly marks: number;
  /** Released grades. */
  readonly releases: number;
}

export interface RubricChange {
  readonly changed: readonly string[];
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Submissions whose proposal loses points, or lacks those of a new criterion. */
  readonly proposals: number;
  /** Marks of people that need a new review. */
  readonly doubtful: number;
  /** Marks of people for a removed criterion. */
  readonly gone: number;
  /** Released grades that become invalid. */
  readonly releases: number;
  readonly criteria: readonly CriterionChange[];
  /** See R2 in the file header. */
  readonly seen: string;
}

/** null: both rubrics are equal apart from the order of rows. */
export function rubricChange(before: Rubric, after: Rubric, works: readonly BatchWork[]): RubricChange | null {
  const different = changedCriteria(before, after);
  if (different.length === 0) return null;
  const has = ({ criteria }: Rubric, id: string) => criteria.some((one) => one.id === id);
  const added = different.filter((id) => !has(before, id));
  const removed = different.filter((id) => !has(after, id));
  const changed = different.filter((id) => has(before, id) && has(after, id));
  const counting = works.filter(({ counts }) => counts);
  const effects = counting.map((work) => effectOf(work, { changed, added, removed }));
  const criteria = different.map((id): CriterionChange => {
    const is = added.includes(id) ? "added" : removed.includes(id) ? "removed" : "changed";
    const alone = { changed: [], added: [], removed: [], [is]: [id] };
    const touched = counting.flatMap((work) => {
      const effect = effectOf(work, alone);
      return effect.touched ? [{ work, effect }] : [];
    });
    return {
      id,
      is,
      students: new Set(touched.flatMap(({ work }) => work.countsFor ?? work.by)).size,
      marks: touched.reduce((sum, { effect }) => sum + effect.doubtful.length + effect.gone.length, 0),
      releases: touched.filter(({ effect }) => effect.release !== null).length,
    };
  });
  const voided = counting.flatMap(({ key }, index) => {
    const { proposal, doubtful, gone, release } = effects[index] ?? nothing;
    return proposal || doubtful.length + gone.length > 0 || release !== null
      ? [[key, proposal, doubtful, gone, release]]
      : [];
  });
  return {
    changed,
    added,
    removed,
    criteria,
    proposals: effects.filter(({ proposal }) => proposal).length,
    doubtful: effects.reduce((sum, one) => sum + one.doubtful.length, 0),
    gone: effects.reduce((sum, one) => sum + one.gone.length, 0),
    releases: effects.filter(({ release }) => release !== null).length,
    seen: createHash("sha256")
      .update(JSON.stringify([rubricHash(before), rubricHash(after), voided]))
      .digest("hex"),
  };
}

const nothing: Effect = { proposal: false, doubtful: [], gone: [], touched: false, release: null };

interface Effect {
  readonly proposal: boolean;
  readonly doubtful: readonly string[];
  readonly gone: readonly string[];
  readonly touched: boolean;
  /** The time of the release. */
  readonly release: string | null;
}

function effectOf(
  { grade }: BatchWork,
  { changed, added, removed }: Pick<RubricChange, "changed" | "added" | "removed">,
): Effect {
  const graded = grade?.outcome.is === "graded" || grade?.outcome.is === "needs human";
  const loses = grade?.criteria.some((one) => one.is === "scored" && one.by !== "human" && changed.includes(one.id));
  const proposal = graded && (loses === true || added.length > 0);
  const marksOf = (ids: readonly string[]) =>
    (grade?.overrides ?? []).flatMap(({ criterion, points, by, at }) =>
      ids.includes(criterion) ? [JSON.stringify([criterion, points, by, at])] : [],
    );
  const [doubtful, gone] = [marksOf(changed), marksOf(removed)];
  const touched = graded && (proposal || doubtful.length > 0 || removed.length > 0);
  return { proposal, doubtful, gone, touched, release: touched ? (grade?.released?.at ?? null) : null };
}

function voidsSomething({ proposals, doubtful, gone, releases }: RubricChange): boolean {
  return proposals + doubtful + gone + releases > 0;
}

/** See R3 in the file header. */
export function mayVoid(change: RubricChange, seen: string | undefined): boolean {
  return !voidsSomething(change) || change.seen === seen;
}
