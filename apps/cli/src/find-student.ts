/** Which student, or which work, is meant: a key, an id, a login, an address, a pseudonym, or a name that only one has. Pure. */
import { countingWork } from "@markmill/stack";
import type { BatchMember, BatchWork } from "@markmill/store";
import { CommandError } from "./command.ts";

export function findWork(
  wanted: string,
  members: readonly (BatchMember & { readonly pseudonym?: string })[],
  works: readonly BatchWork[],
): BatchWork {
  const counting = works.filter(({ counts }) => counts);
  const exact = works.find(({ key }) => key === wanted) ?? counting.find(({ pseudonym }) => same(pseudonym, wanted));
  if (exact !== undefined) return exact;
  const found = members.filter((member) => {
    const { key, id, participant, login, email, sisId, name, sortableName, pseudonym } = member;
    return [key, id, participant, login, email, sisId, name, sortableName, pseudonym].some(
      (one) => one !== undefined && same(one, wanted),
    );
  });
  const near = found.length > 0 ? found : members.filter(({ name }) => words(name).includes(plain(wanted)));
  const [only, ...more] = near;
  if (only === undefined) throw unknown(`Nobody in the class is called ${wanted}.`);
  if (more.length > 0) {
    throw unknown(
      `'${wanted}' could be ${near
        .slice(0, 5)
        .map(({ name, key }) => `${name} (${key})`)
        .join(" or ")}.`,
    );
  }
  const [own, ...others] = counting.filter(({ by }) => by.includes(only.key));
  if (own === undefined) throw unknown(`${only.name} handed in nothing.`);
  return countingWork([own, ...others]);
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
  return new CommandError("STUDENT_NOT_FOUND", message, "Name a student by the key, the id or the whole name.");
}
