/**
 * The marks that stay valid while one criterion is judged again.
 *
 * M1  A mark stays valid only if its criterion has the same text in the rubric it was given by and in the current one. If a criterion other
 *     than the named one differs, no mark stays valid, and the caller gets its name.
 * M2  The mark of the named criterion stays valid only while that criterion is unchanged. Otherwise the criterion is open again.
 * M3  An old rubric is known by its definition, and only if it has the hash that the attempt recorded.
 */
import type { Grade, Rubric } from "@markmill/grading";
import { neutral } from "../database/neutral.ts";
import { StoreError } from "../database/store-error.ts";
import type { Definition } from "../definitions/definitions.ts";

/** How an attempt was graded. */
export interface GradedBy {
  readonly rubricHash: string;
  readonly definitionHash: string;
}

export type ReadDefinition = (hash: string) => Promise<Pick<Definition, "programs" | "root"> | null>;

/** The rubric that a run of the definition grades by. null: it has none. */
export function rubricOfDefinition({ programs, root }: Pick<Definition, "programs" | "root">): Rubric | null {
  const said = [programs[root], ...Object.values(programs)].find((program) => program?.rubric !== undefined)?.rubric;
  return said === undefined ? null : (neutral(said) as unknown as Rubric);
}

/** Whether the criterion itself has changed. Throws STORE_BATCH_REFUSED if other marks would not stay valid. */
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

/** Whether the grade has marks that can stay valid. */
export function hasMarks(grade: Grade | null): grade is Grade {
  return grade?.outcome.is === "graded" || grade?.outcome.is === "needs human";
}

/** See M2. */
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
