/**
 * Decides which person of a class is meant by a table row or by the name of a submission. Pure.
 *
 * P1  Each kind of key has its own namespace. A participant number never matches an ID number, and a login never matches an id.
 * P2  Keys that point to different people are a question.
 * P3  A name that contradicts the name of the key's person is a question. So is a name that fits another person better.
 * P4  A name alone decides only if exactly one person has it, and that person has no other key of a kind that the source contains.
 * P5  A name alone does not decide for a person who was found by key elsewhere in the same source. If only names find one person several
 *     times, all of these matches are questions.
 * P6  A question names every possible person. The code never chooses between two people.
 */
import { commonLetters, nameSpellings, plainName, plainWords } from "./person-name.ts";

const personKeyKinds = ["key", "id", "participant", "sisId", "login", "email", "handle"] as const;
type PersonKeyKind = (typeof personKeyKinds)[number];

export type Identifiable = Readonly<Partial<Record<PersonKeyKind, string>>> & {
  readonly key: string;
  readonly name: string;
  readonly sortableName?: string;
};

/** What a source states about one person. */
export interface Clue {
  /** Each text with the kinds of key that it can be, as far as the source shows. */
  readonly keys: readonly { readonly kinds: readonly PersonKeyKind[]; readonly text: string }[];
  /** Empty: the source gives no name. */
  readonly name: string;
}

export type Identified<P> =
  | { readonly is: "one"; readonly who: P; readonly by: "key" | "name" }
  | { readonly is: "question"; readonly among: readonly P[]; readonly why: Doubt }
  | { readonly is: "nobody" };

/** Why a match is unsure. The values belong to rules P2, P3, P4 (two of them) and P5, in this order. */
export type Doubt = "keys differ" | "name differs" | "namesakes" | "another key" | "matched already";

/** A text for each doubt. It ends a sentence about a row or a submission. */
export const doubtTexts: Readonly<Record<Doubt, string>> = {
  "keys differ": "its keys belong to different students",
  "name differs": "its key and its name belong to different students",
  namesakes: "several students have this name",
  "another key": "only the name matches, and the roster has another key of this kind for the student",
  "matched already": "only the name matches, and the student is also matched elsewhere",
};

export class People<P extends Identifiable> {
  readonly #people: readonly P[];
  /** People by each plain word of their name. */
  readonly #byWord = new Map<string, Set<P>>();
  readonly #byKey = new Map<string, Set<P>>();
  readonly #byName = new Map<string, Set<P>>();

  constructor(people: readonly P[]) {
    this.#people = people;
    for (const person of people) {
      for (const kind of personKeyKinds) {
        const text = person[kind];
        if (text !== undefined && plainKey(text) !== "") add(this.#byKey, keyOf(kind, text), person);
      }
      for (const spelling of spellingsOf(person)) add(this.#byName, spelling, person);
      if (hasName(person)) for (const word of plainWords(person.name)) add(this.#byWord, word, person);
    }
  }

  /** Every person who has exactly this name. */
  named(name: string): readonly P[] {
    return [...(this.#byName.get(plainName(name)) ?? [])];
  }

  /** Applies P1 to P4 to a single clue. */
  find(clue: Clue): Identified<P> {
    const found = clue.keys.map((key) => this.#keyed(key)).filter(({ size }) => size > 0);
    const [first, ...others] = found;
    const named = this.named(clue.name);
    if (first === undefined) return this.#byNameAlone(clue, named);
    const common = [...first].filter((person) => others.every((set) => set.has(person)));
    const all = [...new Set(found.flatMap((set) => [...set]))];
    if (common.length === 0) return question(all, "keys differ");
    const fitting = common.length === 1 ? common : common.filter((person) => named.includes(person));
    const [only, ...more] = fitting;
    if (only === undefined || more.length > 0) return question(common, "keys differ");
    const better = this.#contradicting(only, clue.name, named);
    return better === null ? { is: "one", who: only, by: "key" } : question([only, ...better], "name differs");
  }

  /** Applies P1 to P5 to all clues of one source. The order of the clues does not count. */
  findAll(clues: readonly Clue[]): readonly Identified<P>[] {
    const alone = clues.map((clue) => this.find(clue));
    const keyed = new Set(alone.flatMap((one) => (one.is === "one" && one.by === "key" ? [one.who] : [])));
    const named = new Map<P, number>();
    for (const one of alone)
      if (one.is === "one" && one.by === "name") named.set(one.who, (named.get(one.who) ?? 0) + 1);
    return alone.map((one) =>
      one.is === "one" && one.by === "name" && (keyed.has(one.who) || (named.get(one.who) ?? 0) > 1)
        ? question([one.who], "matched already")
        : one,
    );
  }

  #keyed({ kinds, text }: Clue["keys"][number]): ReadonlySet<P> {
    if (plainKey(text) === "") return new Set();
    return new Set(kinds.flatMap((kind) => [...(this.#byKey.get(keyOf(kind, text)) ?? [])]));
  }

  #byNameAlone(clue: Clue, named: readonly P[]): Identified<P> {
    const [only, ...more] = named;
    if (only === undefined) return { is: "nobody" };
    if (more.length > 0) return question(named, "namesakes");
    const differs = clue.keys.some(
      ({ kinds, text }) => plainKey(text) !== "" && kinds.some((kind) => plainKey(only[kind] ?? "") !== ""),
    );
    return differs ? question([only], "another key") : { is: "one", who: only, by: "name" };
  }

  /**
   * Returns the people whom the name fits instead of this person. Empty: it fits neither them nor this person. null: it does not
   * contradict.
   */
  #contradicting(person: P, said: string, named: readonly P[]): readonly P[] | null {
    if (named.includes(person)) return null;
    if (named.length > 0) return named;
    const own = hasName(person) ? commonLetters(person.name, said) : null;
    const better = this.#similar(said).filter(
      (other) => other !== person && hasName(other) && (commonLetters(other.name, said) ?? 0) > (own ?? 0),
    );
    return better.length > 0 || own === 0 ? better : null;
  }

  /** Every person whose name can share letters with it (person-name.ts): they share a word, or it has no spaces. */
  #similar(said: string): readonly P[] {
    const words = plainWords(said);
    if (words.length === 1) return this.#people;
    return [...new Set(words.flatMap((word) => [...(this.#byWord.get(word) ?? [])]))];
  }
}

/** Keys are compared without case and outer spaces. Leading zeros count: 007 is not 7. */
export function plainKey(text: string): string {
  return text.normalize("NFC").trim().toLowerCase();
}

function keyOf(kind: PersonKeyKind, text: string): string {
  return `${kind} ${plainKey(text)}`;
}

/** A person known only by keys is named after one of the keys, letter by letter. */
function hasName(person: Identifiable): boolean {
  return personKeyKinds.every((kind) => kind === "key" || person[kind] !== person.name);
}

/** Spellings of the whole name. Empty if only keys of the person are known. */
export function spellingsOf(person: Identifiable): ReadonlySet<string> {
  return hasName(person) ? nameSpellings(person.name, person.sortableName) : new Set();
}

function question<P>(among: readonly P[], why: Doubt): Identified<P> {
  return { is: "question", among, why };
}

function add<P>(map: Map<string, Set<P>>, key: string, person: P): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, new Set([person]));
  else known.add(person);
}
