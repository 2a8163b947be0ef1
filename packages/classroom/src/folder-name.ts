/**
 * Decides which student is meant by the name of a folder, archive or loose file that no platform named. Pure. If the answer is a question,
 * the teacher decides.
 *
 * F1  Every word of the name must be explained: as a key or full name of a student, as a group, or as a word for a sheet or version. A name
 *     with any other word is unmatched: `anna_mueller` is not the login `anna`.
 * F2  A key is compared word by word: `ada-l` is the login `ada.l`, not `adal`. A name is compared without spaces, in any order.
 * F3  If several explanations mean different students, the answer is a question.
 * F4  Several students have a joint submission only if the roster has them in one group. Otherwise the answer is a question.
 * F5  Students beside a group mean these students, not the whole group: `Group 3 - ada` is Ada's submission. They must be members of the
 *     group.
 * F6  A word for a sheet or version can also be a student's key. Then both explanations count (F3). If the name has other words but no
 *     other key, such a word leads to a question.
 * F7  After a key or name with letters, a number of one or two digits is a sheet or version: `ada (2)` is not the student with the id 2.
 */
import { nameWords, plainKey, plainName, spellingsOf } from "@markmill/grading";
import type { Member } from "./member.ts";
import type { Team, TeamNames } from "./team-names.ts";

export type Meaning =
  | { readonly is: "students"; readonly members: readonly Member[] }
  | { readonly is: "group"; readonly team: Team }
  | { readonly is: "question"; readonly among: readonly Member[] }
  /** `near`: students whose key or name fits a part of the name. */
  | { readonly is: "unknown"; readonly near: readonly Member[] };

/** Where a group of consecutive words is in a name. */
type Place = "whole" | "first" | "later";
/** How certainly a group of words is a key or name. `sheet word`: rule F6. `short`: rule F7. */
type Strength = "letters" | "digits" | "sheet word" | "short";
type Part = { readonly people: ReadonlySet<Member>; readonly strength: Strength } | { readonly team: Team } | "other";

const MOST_WORDS = 24;
const MOST_WORDS_OF_ONE = 8;
const MOST_EXPLANATIONS = 300;

export class FolderNames {
  readonly #keys = new Map<string, Set<Member>>();
  readonly #rawKeys = new Map<string, Set<Member>>();
  readonly #names = new Map<string, Set<Member>>();
  readonly #teams: TeamNames;
  /** Words in the names of required files: `ada_median.py`. */
  readonly #fileWords: ReadonlySet<string>;

  constructor(members: readonly Member[], teams: TeamNames, requires: readonly string[] = []) {
    this.#teams = teams;
    this.#fileWords = new Set(requires.flatMap((path) => wordsOf(withoutEnding(path.split("/").at(-1) ?? ""))));
    for (const member of members) {
      const { id, participant, sisId, login, email, handle } = member;
      for (const key of [id, participant, sisId, login, email, email?.split("@")[0], handle]) {
        if (key === undefined || plainKey(key) === "") continue;
        add(this.#rawKeys, plainKey(key), member);
        add(this.#keys, wordsOf(key).join(" "), member);
      }
      for (const spelling of spellingsOf(member)) add(this.#names, spelling, member);
    }
  }

  /** Finds the students of a text that is exactly one key or one name. */
  whole(text: string): Meaning {
    const people = this.#people(wordsOf(text), "whole", text);
    const [only, ...more] = people;
    if (only === undefined) return { is: "unknown", near: [] };
    return more.length === 0 ? { is: "students", members: [only] } : { is: "question", among: [...people] };
  }

  match(name: string, is: "file" | "folder"): Meaning {
    const text = is === "file" ? withoutEnding(name) : name;
    const words = wordsOf(text);
    if (words.length === 0 || words.length > MOST_WORDS) return { is: "unknown", near: [] };
    const found: Part[][] = [];
    this.#explain(words, 0, [], text, found);
    const isSure = found.some((parts) => parts.some((part) => strengthOf(part) === "letters"));
    const meanings = found
      .filter((parts) => parts.some((part) => part !== "other"))
      .filter((parts) => !isSure || parts.every((part) => strengthOf(part) !== "short"))
      .map((parts) => this.#meaning(parts));
    const [first] = meanings;
    if (first === undefined) return { is: "unknown", near: this.#partly(words) };
    if (found.length < MOST_EXPLANATIONS && meanings.every((one) => sameMeaning(one, first))) return first;
    return { is: "question", among: [...new Set(meanings.flatMap(membersOf))] };
  }

  #explain(words: readonly string[], from: number, before: Part[], text: string, found: Part[][]): void {
    if (found.length >= MOST_EXPLANATIONS) return;
    if (from === words.length) {
      found.push(before);
      return;
    }
    for (let to = Math.min(words.length, from + MOST_WORDS_OF_ONE); to > from; to -= 1) {
      const run = words.slice(from, to);
      const place = run.length === words.length ? "whole" : from === 0 ? "first" : "later";
      // A single letter identifies no student.
      if (place !== "whole" && /^\p{Script=Latin}$/u.test(run.join(""))) continue;
      const people = this.#people(run, place, text);
      const strength = this.#strength(run, place);
      if (people.size > 0) this.#explain(words, to, [...before, { people, strength }], text, found);
      for (const team of this.#teams.find(run.join(" "))) this.#explain(words, to, [...before, { team }], text, found);
    }
    const word = words[from] ?? "";
    if (this.#isOther(word)) this.#explain(words, from + 1, [...before, "other"], text, found);
  }

  /** `text` is the whole name. Its punctuation distinguishes the keys `a.b` and `a_b`. */
  #people(run: readonly string[], place: Place, text: string): ReadonlySet<Member> {
    const raw = place === "whole" ? this.#rawKeys.get(plainKey(text)) : undefined;
    const keyed = raw ?? this.#keys.get(run.join(" ")) ?? [];
    return new Set([...keyed, ...(this.#names.get(plainName(run.join(""))) ?? [])]);
  }

  #strength(run: readonly string[], place: Place): Strength {
    const joined = run.join("");
    if (place === "later" && /^\d{1,2}$/.test(joined)) return "short";
    if (/^\p{N}+$/u.test(joined)) return "digits";
    return place !== "whole" && run.every((word) => this.#isOther(word)) ? "sheet word" : "letters";
  }

  #isOther(word: string): boolean {
    return isDateOrCount(word) || isSheetWord(word) || this.#fileWords.has(word);
  }

  #meaning(parts: readonly Part[]): Meaning {
    const people = parts.flatMap((part) => (part !== "other" && "people" in part ? [part.people] : []));
    const teams = new Map(
      parts.flatMap((part) => (part !== "other" && "team" in part ? [[part.team.name, part.team] as const] : [])),
    );
    const [team, ...otherTeams] = [...teams.values()];
    const everybody = [...new Set([...people.flatMap((set) => [...set]), ...(team?.members ?? [])])];
    if (otherTeams.length > 0) return { is: "question", among: everybody };
    if (people.length === 0) return team === undefined ? { is: "unknown", near: [] } : { is: "group", team };
    const [first = new Set<Member>(), ...rest] = people;
    const common = [...first].filter((member) => rest.every((set) => set.has(member)));
    const single = [...new Set(people.flatMap((set) => (set.size === 1 ? [...set] : [])))];
    // A key beside the name distinguishes students with the same name.
    const told = people.every((set) => single.some((member) => set.has(member)));
    const members = common.length === 1 ? common : common.length === 0 && told ? single : [];
    const strengths = parts.map(strengthOf).filter((strength) => strength !== null);
    if (members.length === 0 || strengths.every((strength) => strength === "sheet word"))
      return { is: "question", among: everybody };
    if (team !== undefined && members.some((member) => !team.members.includes(member))) {
      return { is: "question", among: everybody };
    }
    const group = members[0]?.group;
    const known = members.length === 1 || (group !== undefined && members.every((member) => member.group === group));
    return known ? { is: "students", members } : { is: "question", among: members };
  }

  #partly(words: readonly string[]): readonly Member[] {
    const found = new Set<Member>();
    for (let from = 0; from < words.length; from += 1)
      for (let to = from + 1; to <= Math.min(words.length, from + MOST_WORDS_OF_ONE); to += 1)
        if (words.slice(from, to).join("").length > 2)
          for (const member of this.#people(words.slice(from, to), "later", "")) found.add(member);
    return [...found];
  }
}

function strengthOf(part: Part): Strength | null {
  return part !== "other" && "people" in part ? part.strength : null;
}

function sameMeaning(one: Meaning, other: Meaning): boolean {
  if (one.is !== other.is) return false;
  if (one.is === "group" && other.is === "group") return one.team.name === other.team.name;
  const [left, right] = [membersOf(one), membersOf(other)];
  return left.length === right.length && left.every((member) => right.includes(member));
}

function membersOf(meaning: Meaning): readonly Member[] {
  switch (meaning.is) {
    case "students":
      return meaning.members;
    case "group":
      return meaning.team.members;
    case "question":
      return meaning.among;
    case "unknown":
      return meaning.near;
  }
}

function wordsOf(text: string): string[] {
  return nameWords(text).map((word) => word.toLowerCase());
}

const endings = new Set(
  (
    "zip tar tgz gz 7z rar py ipynb js mjs cjs ts tsx jsx java class jar kt kts scala c h cc cpp cxx hpp cs fs go rs rb php pl r rmd m " +
    "jl lua hs ml mli ex exs erl clj lisp scm rkt swift dart sql sh bash ps1 asm s v vhd vhdl sv txt md rst tex pdf doc docx odt rtf " +
    "html htm css scss vue svelte json xml yaml yml toml ini csv tsv xls xlsx ods ppt pptx odp png jpg jpeg gif svg webp mp4 log"
  ).split(" "),
);

/** Only endings of files that people submit. `anna.weber` has no ending. */
function withoutEnding(name: string): string {
  const [, stem = name, ending = ""] = /^(.+?)\.(tar\.gz|[A-Za-z0-9]{1,7})$/su.exec(name) ?? [];
  return ending.toLowerCase() === "tar.gz" || endings.has(ending.toLowerCase()) ? stem : name;
}

const sheetWords = new Set(
  (
    "hw homework sheet assignment exercise exercises ex task lab project problem pset week unit quiz exam submission submissions " +
    "solution solutions final version ver rev revision draft copy new fixed resubmission resubmit attempt try part no nr late zip " +
    "blatt ubung uebung ubungsblatt uebungsblatt aufgabe aufgaben aufgabenblatt abgabe hausaufgabe ha ha projekt losung loesung " +
    "version endversion fertig kopie versuch teil woche korrigiert nachgereicht verspatet verspaetet " +
    "devoir exercice tp td rendu feuille projet copie partie essai corrige " +
    "tarea ejercicio entrega practica hoja trabajo proyecto copia parte intento compito esercizio consegna foglio progetto " +
    "main index notes readme code src source program programm test tests report"
  ).split(" "),
);

function isSheetWord(word: string): boolean {
  const plain = word.normalize("NFKD").replaceAll(/\p{M}/gu, "");
  const [, letters = ""] = /^(\p{L}+)\d{0,3}$/u.exec(plain) ?? [];
  return sheetWords.has(letters) || /^v\d{1,3}$/.test(plain);
}

/** Counts have up to three digits, years have four, and dates such as 20261118 have eight. Any other number can be a key. */
function isDateOrCount(word: string): boolean {
  return /^(?:\d{1,3}|(?:19|20)\d\d(?:(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]))?)$/.test(word);
}

function add(map: Map<string, Set<Member>>, key: string, member: Member): void {
  if (key === "") return;
  const known = map.get(key);
  if (known === undefined) map.set(key, new Set([member]));
  else known.add(member);
}
