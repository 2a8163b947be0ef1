/**
 * Finds a group of the roster by the name of a folder. Pure.
 *
 * T1  A group is its exact name in the roster. Two spellings in the roster are two groups.
 * T2  A folder means the group whose name has the same words. Only if there is none, other signs between letters are ignored.
 * T3  If several groups fit, the teacher is asked: "Team 1" in one row and "team-1" in another are not merged silently.
 */
import { nameWords, plainName } from "@markmill/grading";
import type { Member } from "./member.ts";

export interface Team {
  readonly name: string;
  readonly members: readonly Member[];
}

export class TeamNames {
  readonly #teams = new Map<string, Member[]>();
  readonly #byWords = new Map<string, Set<string>>();
  readonly #byLetters = new Map<string, Set<string>>();

  constructor(members: readonly Member[]) {
    for (const member of members) {
      const { group } = member;
      if (group === undefined) continue;
      const known = this.#teams.get(group);
      if (known !== undefined) {
        known.push(member);
        continue;
      }
      this.#teams.set(group, [member]);
      add(this.#byWords, wordsOf(group), group);
      add(this.#byLetters, plainName(group), group);
    }
  }

  /** All groups that the text can mean: one, several (T3), or none. */
  find(text: string): readonly Team[] {
    const found = this.#byWords.get(wordsOf(text)) ?? this.#byLetters.get(plainName(text)) ?? new Set<string>();
    return [...found].map((name) => ({ name, members: this.#teams.get(name) ?? [] }));
  }

  /** The group that consists of exactly these people. */
  ofExactly(people: readonly Member[]): string | null {
    const group = people[0]?.group;
    const members = group === undefined ? [] : (this.#teams.get(group) ?? []);
    const same = members.length === people.length && people.every((person) => members.includes(person));
    return same && group !== undefined ? group : null;
  }
}

function wordsOf(text: string): string {
  return nameWords(text)
    .map((word) => word.toLowerCase())
    .join(" ");
}

function add(map: Map<string, Set<string>>, key: string, group: string): void {
  if (key === "") return;
  const known = map.get(key);
  if (known === undefined) map.set(key, new Set([group]));
  else known.add(group);
}
