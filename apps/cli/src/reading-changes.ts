/**
 * Lists what students lose and gain through a new intake of a class, by name. Pure.
 *
 * R1  A student with a grade or a person's mark, and without a submission now, is named with the points.
 * R2  A student who joins a submission with a grade is named with the points.
 * R3  People's marks that do not apply to the content that counts now are named with their submission.
 */
import { formatPoints } from "@markmill/classroom/gradebook";
import type { BatchWork, NewWork } from "@markmill/store";
import { oneLine } from "./fit-width.ts";

type Stored = Pick<BatchWork, "key" | "by" | "counts" | "countsFor" | "content" | "grade" | "marks">;
type Read = Pick<NewWork, "key" | "by" | "counts" | "content">;

export function readingChanges(
  stored: readonly Stored[],
  read: readonly Read[],
  /** Submissions that could not be fetched, so their present state is unknown. */
  unfetched: readonly Pick<NewWork, "by">[],
  names: ReadonlyMap<string, string>,
): readonly string[] {
  const nameOf = (key: string) => oneLine(names.get(key) ?? key);
  const now = new Map(read.map((work) => [work.key, work]));
  const present = new Set([...read, ...unfetched].flatMap(({ by }) => by));
  const counted = stored.filter(({ counts }) => counts);
  const lost = new Map(
    counted
      .filter((work) => work.grade?.total != null || standingMarks(work).length > 0)
      .flatMap((work) =>
        (work.countsFor ?? work.by).filter((key) => !present.has(key)).map((key) => [key, work] as const),
      ),
  );
  return [
    ...[...lost].map(
      ([key, work]) => `! ${nameOf(key)} has no submission now; this grade no longer counts: ${gradeOf(work)}`,
    ),
    ...counted.flatMap((work) => {
      const joined =
        work.grade?.total == null ? [] : (now.get(work.key)?.by ?? []).filter((key) => !work.by.includes(key));
      return joined.map(
        (key) =>
          `! ${nameOf(key)} joins the submission of ${work.by.map(nameOf).join(", ")} and gets its grade: ${gradeOf(work)}`,
      );
    }),
    ...stored.flatMap((work) => {
      const other = now.get(work.key);
      const marks = standingMarks(work);
      if (other === undefined || marks.length === 0 || contentOf(other) === contentOf(work)) return [];
      const shown = marks.map(({ criterion, points, by }) => `${criterion} ${points} (${oneLine(by)})`);
      return [
        `! ${other.by.map(nameOf).join(", ")}: the submission changed, so these marks by people no longer count: ${shown.join(", ")}`,
      ];
    }),
  ];
}

function standingMarks({ marks }: Stored): Stored["marks"] {
  return marks.filter(({ fate }) => fate.is === "stands");
}

/** The hash that marks are bound to. Only content that can be graded has a hash. */
function contentOf({ content }: Pick<NewWork, "content">): string | null {
  return content.is === "taken" ? content.hash : null;
}

function gradeOf(work: Stored): string {
  const { grade } = work;
  if (grade?.total == null)
    return standingMarks(work)
      .map(({ criterion, points }) => `${criterion} ${points}`)
      .join(", ");
  return `${formatPoints(grade.total)} points${grade.released === null ? "" : ", released"}`;
}
