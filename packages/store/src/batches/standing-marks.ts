/**
 * The marks that stand beside one criterion that is judged anew.
 *
 * M1  A mark stands only where its criterion says the same in the rubric it was made by and in the one that counts now. Where another
 *     criterion than the named one differs, nothing stands, and whoever asks is told which.
 * M2  The mark of the named criterion stands only while that criterion says the same: a mark by other words is open, not kept.
 * M3  An old rubric is known by the definition it was in, and only if that has the hash which the try recorded.
 */
import type { Grade, Rubric } from "@markmill/grading";
import { neutral } from "../database/neutral.ts";
import { StoreError } from "../database/store-error.ts";
import type { Definition } from "../definitions/definitions.ts";

/** How a try was graded. */
export interface GradedBy {
  readonly rubricHash: string;
  readonly definitionHash: string;
}

export type ReadDefinition = (hash: string) => Promise<Pick<Definition, "programs" | "root"> | null>;

/** The rubric that a run of it grades by; null: it says none. */
export function rubricOfDefinition({ programs, root }: Pick<Definition, "programs" | "root">): Rubric | null {
  const said = [programs[root], ...Object.values(programs)].find((program) => program?.rubric !== undefined)?.rubric;
  return said === undefined ? null : (neutral(said) as unknown as Rubric);
}

/** Whether the criterion itself is another one now. Throws STORE_BATCH_REFUSED where other marks would not stand. */
export async function isReworded(
  criterion: string,
  before: GradedBy,
  now: GradedBy,
  read: ReadDefinition,
): Promise<boolean> {
  if (before.rubricHash === now.rubricHash) return false;
  const { changedCriteria } = await import("@markmill/grading");
  const [old, present] = [await rubricOf(before, read), await rubricOf(now, read)];
  if (old === null || present === null) {
    throw refused("The rubric of the marks is no longer stored, so no mark can be kept.");
  }
  const changed = changedCriteria(old, present);
  const others = changed.filter((id) => id !== criterion);
  if (others.length > 0) {
    throw refused(
      `Only ${criterion} was selected, but ${others.join(", ")} of the rubric changed too since these submissions were graded, so those marks cannot be kept.`,
    );
  }
  return changed.includes(criterion);
}

/** Whether there is something that can stand. */
export function hasMarks(grade: Grade | null): grade is Grade {
  return grade?.outcome.is === "graded" || grade?.outcome.is === "needs human";
}

/** M2. */
export function withoutMark(standing: Grade, criterion: string): Grade {
  const why = "the criterion was changed since it was marked";
  return {
    ...standing,
    criteria: standing.criteria.map((one) => (one.id === criterion ? { is: "not graded", id: criterion, why } : one)),
  };
}

async function rubricOf(
  { rubricHash: wanted, definitionHash }: GradedBy,
  read: ReadDefinition,
): Promise<Rubric | null> {
  const { isHashOf } = await import("@markmill/grading");
  const definition = await read(definitionHash);
  const rubric = definition === null ? null : rubricOfDefinition(definition);
  return rubric !== null && isHashOf(rubric, wanted) ? rubric : null;
}

function refused(message: string): StoreError {
  return new StoreError("STORE_BATCH_REFUSED", `${message} Regrade the whole submissions: remove --only-criterion.`);
}
