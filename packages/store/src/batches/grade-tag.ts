import { createHash } from "node:crypto";
import type { GradeEvent } from "@markmill/grading";

/**
 * Of a work's grade as it stands. It is another one whenever a person says something, another proposal stands, other content is handed in
 * or the rubric changes. `id`: of the last event, 0: none. Of an event it is the tag of the work right after that event.
 */
export function gradeTag({
  content,
  try: number,
  id,
  rubricHash,
}: Pick<GradeEvent, "content" | "try" | "id" | "rubricHash">): string {
  const state = JSON.stringify([content, number, id, rubricHash]);
  return createHash("sha256").update(state).digest("base64url").slice(0, 22);
}
