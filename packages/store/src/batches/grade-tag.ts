import { createHash } from "node:crypto";
import type { GradeEvent } from "@markmill/grading";

/**
 * The tag of a submission's current grade. It changes whenever a person adds an event, another proposal becomes current, other content is
 * submitted, or the rubric changes. `id`: of the last event, 0: none. The tag of an event is that of the submission right after the event.
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
