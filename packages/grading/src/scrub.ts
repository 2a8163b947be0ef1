/**
 * Names taken out of text before a model sees it. Line by line, so that a line keeps its number and evidence can be looked up in
 * what the model saw.
 *
 * Of everybody in the class: full names in either order, also inside a longer word (`JaneDoeSolver`, `janedoe1`, a sentence in a script
 * without spaces), e-mail addresses, ids and logins of five characters and more.
 * Of the student whose work it is: also first and last name alone where they are written as names, and shorter ids.
 * Of anybody: e-mail addresses, home folders, and what follows @author, Author: or a commit's author.
 */
export interface Person {
  readonly key: string;
  readonly name: string;
  readonly id?: string;
  readonly sisId?: string;
  readonly login?: string;
  readonly email?: string;
  readonly handle?: string;
}

export interface Scrubbed {
  readonly text: string;
  /** How often each kind was found, to be reported; never what. */
  readonly found: Readonly<Record<ScrubKind, number>>;
}

export type ScrubKind = "name" | "email" | "id" | "home" | "author";

interface Sequence {
  readonly words: readonly string[];
  readonly with: string;
  readonly kind: ScrubKind;
  /** Counts only when written with a capital: `Math.max` is nobody. */
  readonly capital: boolean;
}

const word = /[\p{L}\p{M}\p{N}]+/gu;
const LONGEST_GAP = 3;

/** What is taken out of everybody's work, the same for all works of a class. */
interface ClassNames {
  readonly names: Names;
  /** Full names by the pieces of words. */
  readonly pieces: Names;
  /** Names of scripts that write no spaces, in either order. */
  readonly unspaced: ReadonlyMap<string, string>;
  readonly anyUnspaced: RegExp | null;
}

/** By their first word, the longest first. */
type Names = ReadonlyMap<string, readonly Sequence[]>;

/** A class is indexed once for all its works: a worker makes a scrubber for every call of a model. */
const indexed = new WeakMap<readonly Person[], { readonly aliases: ReadonlyMap<string, string>; index: ClassNames }>();

export class Scrubber {
  readonly #class: ClassNames;
  /** Of those whose work it is. */
  readonly #own: Names;

  /** own: whose work it is; several for group work. */
  constructor(people: readonly Person[], aliases: ReadonlyMap<string, string>, own: readonly string[]) {
    const known = indexed.get(people);
    this.#class = known?.aliases === aliases ? known.index : indexClass(people, aliases);
    indexed.set(people, { aliases, index: this.#class });
    this.#own = namesOf(people.filter(({ key }) => own.includes(key)).flatMap((person) => ownNames(person, aliases)));
  }

  scrub(text: string): Scrubbed {
    const found: Record<ScrubKind, number> = { name: 0, email: 0, id: 0, home: 0, author: 0 };
    const lines = text.split("\n").map((line) => this.#line(line, found));
    return { text: lines.join("\n"), found };
  }

  #line(line: string, found: Record<ScrubKind, number>): string {
    const count = (kind: ScrubKind, text: string) => {
      found[kind] += 1;
      return text;
    };
    const prepared = line
      .replaceAll(/[\p{L}\p{N}._%+-]{1,64}@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,6}/gu, () =>
        count("email", "[e-mail]"),
      )
      .replaceAll(/((?:\/home\/|\/Users\/|[A-Za-z]:\\Users\\))([^/\\\s"'`:]+)/g, (_, root: string) =>
        count("home", `${root}[user]`),
      )
      .replace(
        /(@author\s+|(?:^|[\s*#/;-])(?:author|written by|created by|committer)\s*:\s*)(\S.{0,120})$/iu,
        (_, tag: string) => count("author", `${tag}[author]`),
      );
    const { anyUnspaced, unspaced: aliases, names, pieces } = this.#class;
    const unspaced =
      anyUnspaced === null
        ? prepared
        : prepared.replaceAll(anyUnspaced, (name) => count("name", aliases.get(name) ?? "Student"));
    const named = this.#words(unspaced, [...unspaced.matchAll(word)].map(wordAt), [this.#own, names], count);
    return this.#words(named, [...named.matchAll(word)].flatMap(piecesAt), [pieces], count);
  }

  #words(
    line: string,
    words: readonly Word[],
    lists: readonly Names[],
    count: (kind: ScrubKind, text: string) => string,
  ): string {
    let out = "";
    let at = 0;
    for (let index = 0; index < words.length; ) {
      const here = words[index];
      const match = here && longest(lists.map((names) => names.get(here.plain)?.find(fits(line, words, index))));
      const last = match && words[index + match.words.length - 1];
      if (here === undefined || match === undefined || last === undefined) {
        index += 1;
        continue;
      }
      out += line.slice(at, here.from) + count(match.kind, match.with);
      at = last.to;
      index += match.words.length;
    }
    return out + line.slice(at);
  }
}

/** The first of the longest. */
function longest(matches: readonly (Sequence | undefined)[]): Sequence | undefined {
  let best: Sequence | undefined;
  for (const match of matches) if ((match?.words.length ?? 0) > (best?.words.length ?? 0)) best = match;
  return best;
}

function fits(line: string, words: readonly Word[], index: number): (sequence: Sequence) => boolean {
  return ({ words: wanted, capital }) => {
    for (const [offset, one] of wanted.entries()) {
      const here = words[index + offset];
      if (here === undefined || here.plain !== one) return false;
      if (capital && !/^\p{Lu}/u.test(here.text) && /^\p{Ll}/u.test(here.text)) return false;
      if (offset === 0) continue;
      const gap = line.slice(words[index + offset - 1]?.to, here.from);
      if (gap.length > LONGEST_GAP || !/^[\s._,'’-]*$/.test(gap)) return false;
    }
    return true;
  };
}

function indexClass(people: readonly Person[], aliases: ReadonlyMap<string, string>): ClassNames {
  const names: Sequence[] = [];
  const pieces: Sequence[] = [];
  const unspaced = new Map<string, string>();
  for (const person of people) {
    const alias = aliases.get(person.key) ?? "Student";
    const parts = wordsOf(person.name);
    const turned = [parts.at(-1) ?? "", ...parts.slice(0, -1)];
    names.push(...sequenceOf(parts, alias, "name"));
    if (parts.length > 1) {
      names.push(...sequenceOf(turned, alias, "name"));
      names.push(...sequenceOf([parts.join("")], alias, "name"), ...sequenceOf([turned.join("")], alias, "name"));
    }
    names.push(...idsOf(person, alias, LEAST_ID));
    const whole = [...person.name.matchAll(word)].map(([one]) => one);
    for (const order of [whole, [whole.at(-1) ?? "", ...whole.slice(0, -1)]]) {
      const joined = order.join("");
      if (noSpaces.test(joined) && [...joined].length > 1) unspaced.set(joined, alias);
      const words = order.flatMap(piecesOf).map(({ plain: one }) => one);
      if (words.length > 1) pieces.push({ words, with: alias, kind: "name", capital: false });
      const short = joined.length < 6;
      if (whole.length > 1 && !short)
        pieces.push({ words: [plain(joined)], with: alias, kind: "name", capital: false });
    }
  }
  const longestFirst = [...unspaced.keys()].sort((one, other) => other.length - one.length);
  return {
    names: namesOf(names),
    pieces: namesOf(pieces),
    unspaced,
    anyUnspaced: longestFirst.length === 0 ? null : new RegExp(longestFirst.join("|"), "gu"),
  };
}

function ownNames(person: Person, aliases: ReadonlyMap<string, string>): Sequence[] {
  const alias = aliases.get(person.key) ?? "Student";
  const parts = wordsOf(person.name).filter((part) => part.length > 1);
  return [...parts.flatMap((part) => sequenceOf([part], alias, "name", true)), ...idsOf(person, alias, LEAST_OWN_ID)];
}

const LEAST_ID = 5;
const LEAST_OWN_ID = 4;

function idsOf({ id, sisId, login, handle }: Person, alias: string, least: number): Sequence[] {
  const ids = [id, sisId, login, handle].map((one) => wordsOf(one ?? ""));
  return ids.filter((pieces) => pieces.join("").length >= least).flatMap((pieces) => sequenceOf(pieces, alias, "id"));
}

function sequenceOf(words: readonly string[], alias: string, kind: ScrubKind, capital = false): Sequence[] {
  const [first] = words;
  if (first === undefined || first === "" || words.join("").length < 2) return [];
  // A name of one word is an ordinary word too often.
  const single = words.length === 1 && kind === "name";
  return [{ words, with: alias, kind, capital: capital || (single && words.join("").length < 8) }];
}

interface Word {
  readonly text: string;
  readonly plain: string;
  readonly from: number;
  readonly to: number;
}

/** Letters of scripts that put no space between words. */
const noSpaces = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]+$/u;
/** Within a word: a capital begins a piece, and so do digits; `HTMLPage` is two. */
const piece = /\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{Lm}\p{Lo}\p{Lt}\p{M}]+|\p{N}+|\p{Lu}/gu;

function wordAt({ 0: text, index = 0 }: RegExpMatchArray): Word {
  return { text, plain: plain(text), from: index, to: index + text.length };
}

function piecesOf(text: string): Word[] {
  return [...text.matchAll(piece)].map(wordAt);
}

function piecesAt({ 0: text, index: start = 0 }: RegExpMatchArray): Word[] {
  return piecesOf(text).map((one) => ({ ...one, from: start + one.from, to: start + one.to }));
}

function namesOf(sequences: readonly Sequence[]): Names {
  const names = new Map<string, Sequence[]>();
  for (const sequence of sequences) {
    const [first = ""] = sequence.words;
    const known = names.get(first);
    if (known === undefined) names.set(first, [sequence]);
    else known.push(sequence);
  }
  for (const list of names.values()) list.sort((one, other) => other.words.length - one.words.length);
  return names;
}

function wordsOf(text: string): string[] {
  return [...text.matchAll(word)].map(([one]) => plain(one));
}

function plain(text: string): string {
  return text.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();
}
