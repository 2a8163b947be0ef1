/** Describes for a person what a changed rubric voids. Pure. */
import type { RubricChange } from "@markmill/stack";
import { countOf } from "./amounts.ts";

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
      `!   ${countOf(proposals, "proposal")} without points for ${[...changed, ...added].join(", ")}: a person or 'markmill regrade' must grade it`,
    );
  if (doubtful > 0)
    lines.push(`!   ${countOf(doubtful, "mark")} by people for ${changed.join(", ")}: to be reviewed again`);
  if (gone > 0) lines.push(`!   ${countOf(gone, "mark")} by people for ${removed.join(", ")}: no longer counted`);
  if (releases > 0) lines.push(`!   ${countOf(releases, "released grade")} no longer valid: to be released again`);
  lines.push("!   marks of all other criteria are kept");
  return lines;
}
