/** Finds the student or submission that a person means: by a key, an id, a login, an address, a pseudonym, or a unique name. Pure. */
import { countingWorkOf } from "@markmill/stack";
import type { BatchMember, BatchWork } from "@markmill/store";
import { CommandError } from "./command.ts";

export interface FoundWork {
  readonly work: BatchWork;
  /** Key of the named student. null: a submission was named. */
  readonly student: string | null;
}

export function findWork(
  wanted: string,
  members: readonly (BatchMember & { readonly pseudonym?: string })[],
  works: readonly BatchWork[],
): FoundWork {
  const counting = works.filter(({ counts }) => counts);
  const exact = works.find(({ key }) => key === wanted);
  if (exact !== undefined) return { work: exact, student: null };
  const called = counting.find(({ pseudonym }) => same(pseudonym, wanted));
  // The first submission of one student has the student's pseudonym.
  const alone = members.find(
    ({ key, pseudonym }) => called?.by.includes(key) === true && pseudonym === called.pseudonym,
  );
  if (called !== undefined) return { work: called, student: alone?.key ?? null };
  const found = members.filter((member) => {
    const { key, id, participant, login, email, sisId, name, sortableName, pseudonym } = member;
    return [key, id, participant, login, email, sisId, name, sortableName, pseudonym].some(
      (one) => one !== undefined && same(one, wanted),
    );
  });
  const near = found.length > 0 ? found : members.filter(({ name }) => words(name).includes(plain(wanted)));
  const [only, ...more] = near;
  if (only === undefined) throw unknown(`No student in the class is called ${wanted}.`);
  if (more.length > 0) {
    throw unknown(
      `'${wanted}' could be ${near
        .slice(0, 5)
        .map(({ name, key }) => `${name} (${key})`)
        .join(" or ")}.`,
    );
  }
  const own = countingWorkOf(only.key, counting);
  if (own === null) throw unknown(`${only.name} handed in nothing.`);
  return { work: own, student: only.key };
}

/** Attempts of the same people that count, including this one, by their numbers. */
export function attemptsOf({ by }: BatchWork, works: readonly BatchWork[]): readonly BatchWork[] {
  const owners = [...by].sort().join("\n");
  return works
    .filter((work) => work.counts && [...work.by].sort().join("\n") === owners)
    .sort((one, other) => one.attempt - other.attempt);
}

/**
 * The attempt whose mark an undo takes back: the one with the named mark, or else the one with the newest mark of the criterion, where
 * marks of the same person come first. If a person lowers the best attempt, another one counts, and the undo must still find the lowered
 * one.
 */
export function attemptToUndo(
  work: BatchWork,
  works: readonly BatchWork[],
  { criterion, entry, by }: { readonly criterion: string; readonly entry: number | null; readonly by: string },
): BatchWork {
  const marked = attemptsOf(work, works).flatMap((one) =>
    one.marks.filter(({ fate }) => fate.is === "stands" || fate.is === "replaced").map((mark) => ({ one, mark })),
  );
  if (entry !== null) return marked.find(({ mark }) => mark.id === entry)?.one ?? work;
  const [newest] = marked
    .filter(({ mark }) => mark.criterion === criterion)
    .sort((left, right) => Number(right.mark.by === by) - Number(left.mark.by === by) || right.mark.id - left.mark.id);
  return newest?.one ?? work;
}

function same(one: string, other: string): boolean {
  return plain(one) === plain(other);
}

function words(name: string): string[] {
  return name.split(/[\s,]+/).map(plain);
}

function plain(text: string): string {
  return text.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase().trim();
}

function unknown(message: string): CommandError {
  return new CommandError(
    "STUDENT_NOT_FOUND",
    message,
    "Name a student by the id, the e-mail address or the whole name, or a submission by its key, such as 4102#1.",
  );
}
