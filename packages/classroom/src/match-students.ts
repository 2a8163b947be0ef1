/**
 * Decides which students of a roster made which submissions of an export. Pure. The rules for keys and names are those of `People` (P1 to
 * P6), and for folders with free names those of `FolderNames` (F1 to F6).
 *
 * S1  A layout defines the meaning of each text. Moodle: a participant number and a name. Canvas: a user's number and a name. Gradescope: a
 *     student number, an e-mail address and a name. A platform's number is compared only with that platform's numbers in the roster.
 * S2  In Moodle and Canvas, the name of a group means the group. The number is then the group's, not a participant's.
 * S3  A submission without a match is unknown or ambiguous, and the teacher decides. Ambiguous submissions list all candidates.
 */
import { suggest } from "@markmill/definition";
import { type Clue, doubtTexts, type Identified, People, plainName, spellingsOf } from "@markmill/grading";
import { FolderNames, type Meaning } from "./folder-name.ts";
import type { Says } from "./layout.ts";
import type { Member } from "./member.ts";
import { isParticipantWord } from "./participant-word.ts";
import type { Roster, RosterKind } from "./roster.ts";
import { TeamNames } from "./team-names.ts";

export type Match =
  | { readonly is: "matched"; readonly by: readonly Member[]; readonly group: string | null }
  /** `why` ends the sentence "could be the work of …:". `also`: students who are certainly authors, with one of the candidates. */
  | {
      readonly is: "ambiguous";
      readonly among: readonly Member[];
      readonly also?: readonly Member[];
      readonly why: string;
    }
  | { readonly is: "unknown"; readonly near: string | null };

/**
 * The information in one submission: clues that are looked up together with those of all others, or a match that does not depend on others.
 */
type Read = { readonly is: "clues"; readonly clues: readonly Clue[] } | { readonly is: "match"; readonly match: Match };

export class StudentIndex {
  readonly #kind: RosterKind;
  readonly #members: readonly Member[];
  readonly #people: People<Member>;
  readonly #teams: TeamNames;
  readonly #folders: FolderNames;

  /** `requires`: required files of the class. The name of a loose file can contain their names. */
  constructor({ members, kind }: Pick<Roster, "members" | "kind">, requires: readonly string[] = []) {
    this.#kind = kind;
    this.#members = members;
    this.#people = new People(members);
    this.#teams = new TeamNames(members);
    this.#folders = new FolderNames(members, this.#teams, requires);
  }

  /** Whether a name at the top of an export can mean a student of the class. */
  knows(name: string, is: "file" | "folder"): boolean {
    return this.#folders.match(name, is).is !== "unknown";
  }

  /** Takes all submissions of one export, because P5 compares them with each other. */
  matchAll(all: readonly Says[]): readonly Match[] {
    const blind = blindNames(all);
    const read = all.map((says) => this.#read(says, blind));
    const found = this.#people.findAll(read.flatMap((one) => (one.is === "clues" ? one.clues : [])));
    let at = 0;
    return read.map((one) => {
      if (one.is === "match") return one.match;
      const own = found.slice(at, at + one.clues.length);
      at += one.clues.length;
      return this.#together(one.clues, own);
    });
  }

  #read(says: Says, blind: ReadonlySet<string>): Read {
    switch (says.by) {
      case "canvas":
        return this.#numbered(says.name, { kinds: this.#kind === "canvas" ? ["id"] : [], text: says.user });
      case "canvas-anonymous":
        // The export created this id, so no roster contains it.
        return { is: "match", match: { is: "unknown", near: null } };
      case "moodle": {
        const name = blind.has(says.name) || isParticipantWord(lastPart(says.name)) ? "" : says.name;
        return this.#numbered(name, { kinds: ["participant"], text: says.number });
      }
      case "gradescope": {
        const clues = says.submitters.map(({ sid, email, name }) => ({
          keys: [
            { kinds: this.#kind === "canvas" ? (["sisId"] as const) : (["id", "sisId"] as const), text: sid ?? "" },
            { kinds: ["email"] as const, text: email ?? "" },
          ],
          name,
        }));
        return { is: "clues", clues };
      }
      case "pattern": {
        if (says.student !== null) return { is: "match", match: this.#patterned(says.student, says.group) };
        return { is: "match", match: this.#team(says.group ?? "") ?? { is: "unknown", near: null } };
      }
      case "name":
        return { is: "match", match: this.#meant(this.#folders.match(says.name, says.is), says.name) };
      case "keys": {
        const by = this.#members.filter(({ key }) => says.keys.includes(key));
        return { is: "match", match: { is: "matched", by, group: says.group } };
      }
    }
  }

  /** A student beside a group of the roster must be a member of it. */
  #patterned(student: string, group: string | null): Match {
    const match = this.#meant(this.#folders.whole(student), student);
    const teams = group === null ? [] : this.#teams.find(group);
    if (match.is !== "matched" || teams.length === 0) return match;
    if (match.by.every((one) => teams.some(({ members }) => members.includes(one)))) return match;
    const among = [...new Set([...match.by, ...teams.flatMap(({ members }) => members)])];
    return { is: "ambiguous", among, why: "the student is not in the group named in the file name" };
  }

  /** Applies S2. Otherwise returns a clue. */
  #numbered(said: string, key: Clue["keys"][number]): Read {
    const team = said === "" ? null : this.#team(said);
    const name = team === null ? this.#withoutTeam(said) : said;
    const clue = { keys: [key], name };
    if (team === null) return { is: "clues", clues: [clue] };
    // A group can have a student's name. Then the student's own number decides for the student; any other case is a question.
    const person = this.#people.find(clue);
    const numbered = this.#people.find({ keys: [key], name: "" });
    const nameless = numbered.is === "one" && spellingsOf(numbered.who).size === 0 ? [numbered.who] : [];
    const namesakes = [...this.#people.named(said), ...nameless];
    if (namesakes.length === 0) return { is: "match", match: team };
    if (person.is === "one" && person.by === "key" && !nameless.includes(person.who))
      return { is: "clues", clues: [clue] };
    const members = team.is === "matched" ? team.by : team.is === "ambiguous" ? team.among : [];
    const among = [...new Set([...namesakes, ...members])];
    return { is: "match", match: { is: "ambiguous", among, why: "a student and a group have this name" } };
  }

  #team(name: string): Match | null {
    const [team, ...more] = this.#teams.find(name);
    if (team === undefined) return null;
    if (more.length === 0) return { is: "matched", by: team.members, group: team.name };
    const among = [team, ...more].flatMap(({ members }) => members);
    return { is: "ambiguous", among, why: "the roster contains several spellings of this group" };
  }

  /** Moodle writes "GROUP-NAME" for each member of a group that submits together. */
  #withoutTeam(said: string): string {
    for (let at = said.indexOf("-"); at > 0; at = said.indexOf("-", at + 1)) {
      const rest = said.slice(at + 1).trim();
      if (this.#teams.find(said.slice(0, at)).length > 0 && this.#people.named(rest).length > 0) return rest;
    }
    return said;
  }

  /** One submission of several people. If one of them is not known for certain, the submission is not matched. */
  #together(clues: readonly Clue[], found: readonly Identified<Member>[]): Match {
    const by = [...new Set(found.flatMap((one) => (one.is === "one" ? [one.who] : [])))];
    const doubtful = found.find((one) => one.is === "question");
    if (doubtful?.is === "question")
      return { is: "ambiguous", among: doubtful.among, also: by, why: doubtTexts[doubtful.why] };
    const nobody = found.findIndex((one) => one.is === "nobody");
    if (nobody >= 0 && by.length > 0) {
      const name = clues[nobody]?.name.trim() ?? "";
      const called = name === "" ? "another person who handed it in" : JSON.stringify(name.slice(0, 60));
      return { is: "ambiguous", among: by, why: `${called} is not on the roster` };
    }
    if (nobody >= 0) return { is: "unknown", near: this.#near(clues[nobody]?.name ?? "") };
    if (by.length === 0) return { is: "unknown", near: null };
    return { is: "matched", by, group: by.length > 1 ? this.#teams.ofExactly(by) : null };
  }

  #meant(meaning: Meaning, text: string): Match {
    switch (meaning.is) {
      case "students": {
        const by = meaning.members;
        return { is: "matched", by, group: by.length > 1 ? this.#teams.ofExactly(by) : null };
      }
      case "group":
        return { is: "matched", by: meaning.team.members, group: meaning.team.name };
      case "question":
        return {
          is: "ambiguous",
          among: meaning.among,
          why: "the name matches all of them. If they worked together, put them into the same group in the roster",
        };
      case "unknown": {
        const [only, ...more] = meaning.near;
        return { is: "unknown", near: this.#near(text) ?? (more.length === 0 ? (only?.name ?? null) : null) };
      }
    }
  }

  #near(name: string): string | null {
    const names = this.#members.map((member) => plainName(member.name));
    const near = suggest(plainName(name), names);
    return near === null ? null : (this.#members[names.indexOf(near)]?.name ?? null);
  }
}

/** With blind marking, all participants have the same word as their name, in the site's language. */
function blindNames(all: readonly Says[]): ReadonlySet<string> {
  const names = all.flatMap((says) => (says.by === "moodle" ? [says.name] : []));
  const [first] = names;
  return new Set(first !== undefined && names.length > 2 && names.every((name) => name === first) ? [first] : []);
}

/** The text after the group's name, when groups submit together. */
function lastPart(name: string): string {
  return name.slice(name.lastIndexOf("-") + 1).trim();
}
