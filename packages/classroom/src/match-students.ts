/**
 * Whose work it is. A work is matched when exactly one member (or group) fits; where none or several fit it is left to the teacher,
 * with the nearest names. A number counts only where the roster's numbers are the platform's; else the name must agree.
 */
import { suggest } from "@markmill/definition";
import type { Says, Submitter } from "./layout.ts";
import { aliasesOf, type Member, plainLetters } from "./member.ts";
import type { RosterKind } from "./roster.ts";

export type Match =
  | { readonly is: "matched"; readonly by: readonly Member[]; readonly group: string | null }
  | { readonly is: "ambiguous"; readonly among: readonly Member[] }
  | { readonly is: "unknown"; readonly near: string | null };

export class StudentIndex {
  readonly #kind: RosterKind;
  readonly #aliases = new Map<string, Set<Member>>();
  readonly #ids = new Map<string, Member>();
  readonly #groups = new Map<string, Member[]>();
  readonly #members: readonly Member[];

  constructor(members: readonly Member[], kind: RosterKind) {
    this.#kind = kind;
    this.#members = members;
    for (const member of members) {
      for (const alias of aliasesOf(member)) add(this.#aliases, alias, member);
      if (member.id !== undefined) this.#ids.set(member.id, member);
      if (member.group !== undefined) {
        const group = plainLetters(member.group);
        this.#groups.set(group, [...(this.#groups.get(group) ?? []), member]);
      }
    }
  }

  match(says: Says): Match {
    switch (says.by) {
      case "canvas":
        return this.#numbered(says.user, says.name, "canvas");
      case "canvas-anonymous":
        return this.#numbered(says.user, "", "canvas");
      case "moodle":
        return this.#numbered(says.number, says.name, "moodle");
      case "gradescope":
        return this.#submitters(says.submitters);
      case "pattern":
        return says.student === null ? this.#group(says.group ?? "") : this.#exact(says.student);
      case "name":
        return this.#within(says.name);
      case "keys":
        return {
          is: "matched",
          by: this.#members.filter(({ key }) => says.keys.includes(key)),
          group: says.group,
        };
    }
  }

  #numbered(number: string, name: string, platform: RosterKind): Match {
    const numbered = this.#ids.get(number);
    if (numbered !== undefined && this.#kind === platform) return one(numbered);
    const group = this.#group(name);
    const named = this.#exact(name);
    if (named.is === "unknown" && group.is === "matched") return group;
    if (named.is !== "ambiguous") return named;
    const both = named.among.filter((member) => member.id === number);
    return both.length === 1 && both[0] !== undefined ? one(both[0]) : named;
  }

  #submitters(submitters: readonly Submitter[]): Match {
    const found: Member[] = [];
    for (const { sid, email, name } of submitters) {
      const match = [sid, email, name].reduce<Match>(
        (before, text) => (before.is === "unknown" && text ? this.#exact(text) : before),
        { is: "unknown", near: null },
      );
      if (match.is !== "matched") return match.is === "unknown" ? this.#unknown(name) : match;
      found.push(...match.by.filter((member) => !found.includes(member)));
    }
    if (found.length === 0) return { is: "unknown", near: null };
    return { is: "matched", by: found, group: found.length > 1 ? (found[0]?.group ?? null) : null };
  }

  #group(name: string): Match {
    const members = this.#groups.get(plainLetters(name));
    if (name === "" || members === undefined) return { is: "unknown", near: null };
    return { is: "matched", by: members, group: members[0]?.group ?? name };
  }

  #exact(name: string): Match {
    const found = this.#aliases.get(plainLetters(name));
    return found === undefined ? this.#unknown(name) : several([...found]);
  }

  /** The whole name first, then the longest run of its words that means somebody: `lovelace_ada-sheet3`. */
  #within(name: string): Match {
    const stem = name.replace(/\.(?:zip|tar|tar\.gz|tgz|[A-Za-z0-9]{1,5})$/, "");
    for (const text of [name, stem]) {
      const whole = this.#exact(text);
      if (whole.is !== "unknown") return whole;
      const group = this.#group(text);
      if (group.is === "matched") return group;
    }
    const words = stem
      .split(/[^\p{L}\p{N}\p{M}]+/u)
      .filter((word) => word !== "")
      .slice(0, 24);
    let among: ReadonlySet<Member> | null = null;
    for (let length = words.length; length > 0; length -= 1) {
      const found = new Set<Member>();
      const groups = new Set<string>();
      for (let from = 0; from + length <= words.length; from += 1) {
        const run = plainLetters(words.slice(from, from + length).join(""));
        // One or two letters are nobody's name here: they stand for sheets and versions.
        if (run.length < 3) continue;
        for (const member of this.#aliases.get(run) ?? []) found.add(member);
        if (this.#groups.has(run)) groups.add(run);
      }
      // Several people of one name are told apart by a key beside it.
      const fitting: Member[] = [...found].filter((member) => among === null || among.has(member));
      if (fitting.length === 1 && fitting[0] !== undefined) return one(fitting[0]);
      if (fitting.length > 1) among = new Set(fitting);
      if (among !== null) continue;
      const [group] = groups;
      if (groups.size === 1 && group !== undefined) return this.#group(group);
    }
    return among === null ? this.#unknown(stem) : several([...among]);
  }

  #unknown(name: string): Match {
    const near = suggest(
      plainLetters(name),
      this.#members.map((member) => plainLetters(member.name)),
    );
    return { is: "unknown", near: this.#members.find((member) => plainLetters(member.name) === near)?.name ?? null };
  }
}

function add(aliases: Map<string, Set<Member>>, alias: string, member: Member): void {
  const known = aliases.get(alias);
  if (known === undefined) aliases.set(alias, new Set([member]));
  else known.add(member);
}

function one(member: Member): Match {
  return { is: "matched", by: [member], group: null };
}

function several(members: readonly Member[]): Match {
  const [first] = members;
  return members.length === 1 && first !== undefined ? one(first) : { is: "ambiguous", among: members };
}

/** Without a roster, who the export itself names. */
export function memberOf(says: Says, label: string): readonly Member[] {
  switch (says.by) {
    case "canvas":
      return [{ key: says.user, id: says.user, name: says.name }];
    case "canvas-anonymous":
      return [{ key: label, id: says.user, name: label }];
    case "moodle":
      return [{ key: says.number, id: says.number, name: says.name || `Participant ${says.number}` }];
    case "gradescope":
      return says.submitters.map(({ name, sid, email }) => ({
        key: sid ?? email ?? name,
        name,
        ...(sid === null ? {} : { id: sid }),
        ...(email === null ? {} : { email }),
      }));
    case "pattern":
      return [{ key: says.student ?? says.group ?? label, name: says.student ?? says.group ?? label }];
    case "keys":
      return says.keys.map((key) => ({ key, name: key }));
    case "name": {
      const name = says.name.replace(/\.(?:zip|tar|tar\.gz|tgz)$/i, "");
      return [{ key: name, name }];
    }
  }
}
