/** What a changed rubric does to a class that is graded already, told before it happens. Pure. */
import { changedCriteria, type Rubric } from "@markmill/grading";
import type { BatchWork } from "@markmill/store";
import { countOf } from "./amounts.ts";

export interface RubricChange {
  readonly changed: readonly string[];
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Submissions whose proposal loses points, or lacks those of a new criterion. */
  readonly proposals: number;
  /** Marks of people that need a new review. */
  readonly doubtful: number;
  /** Marks of people whose criterion is gone. */
  readonly gone: number;
  /** Released grades that no longer hold. */
  readonly releases: number;
}

/** null: both rubrics say the same; the order of rows says nothing. */
export function rubricChange(before: Rubric, after: Rubric, works: readonly BatchWork[]): RubricChange | null {
  const different = changedCriteria(before, after);
  if (different.length === 0) return null;
  const has = ({ criteria }: Rubric, id: string) => criteria.some((one) => one.id === id);
  const added = different.filter((id) => !has(before, id));
  const removed = different.filter((id) => !has(after, id));
  const changed = different.filter((id) => has(before, id) && has(after, id));
  const effects = works
    .filter(({ counts }) => counts)
    .map(({ grade }) => {
      const graded = grade?.outcome.is === "graded" || grade?.outcome.is === "needs human";
      const loses = grade?.criteria.some(
        (one) => one.is === "scored" && one.by !== "human" && changed.includes(one.id),
      );
      const proposal = graded && (loses === true || added.length > 0);
      const doubtful = grade?.overrides.filter(({ criterion }) => changed.includes(criterion)).length ?? 0;
      const gone = grade?.overrides.filter(({ criterion }) => removed.includes(criterion)).length ?? 0;
      const touched = graded && (proposal || doubtful > 0 || removed.length > 0);
      return { proposal, doubtful, gone, release: touched && grade?.released != null };
    });
  return {
    ...{ changed, added, removed },
    proposals: effects.filter(({ proposal }) => proposal).length,
    doubtful: effects.reduce((sum, one) => sum + one.doubtful, 0),
    gone: effects.reduce((sum, one) => sum + one.gone, 0),
    releases: effects.filter(({ release }) => release).length,
  };
}

export function voidsSomething({ proposals, doubtful, gone, releases }: RubricChange): boolean {
  return proposals + doubtful + gone + releases > 0;
}

export function tellRubricChange(change: RubricChange): string[] {
  const { changed, added, removed, proposals, doubtful, gone, releases } = change;
  const named = [
    ...(changed.length > 0 ? [`changed: ${changed.join(", ")}`] : []),
    ...(added.length > 0 ? [`added: ${added.join(", ")}`] : []),
    ...(removed.length > 0 ? [`removed: ${removed.join(", ")}`] : []),
  ];
  const lines = [`! the rubric of this class has changed (${named.join("; ")})`];
  if (proposals > 0)
    lines.push(
      `!   ${countOf(proposals, "proposal")} without points for ${[...changed, ...added].join(", ")}: a person marks that, or 'markmill regrade' grades it`,
    );
  if (doubtful > 0)
    lines.push(`!   ${countOf(doubtful, "mark")} of people for ${changed.join(", ")}: to be reviewed again`);
  if (gone > 0) lines.push(`!   ${countOf(gone, "mark")} of people for ${removed.join(", ")}: no longer counted`);
  if (releases > 0) lines.push(`!   ${countOf(releases, "released grade")} no longer valid: to be released again`);
  lines.push("!   marks of all other criteria stand");
  return lines;
}
