/**
 * Removes names from text before a model sees it. It works line by line, so that a line keeps its number and evidence can be found in the
 * text that the model saw.
 *
 * Names of every student of the class: full names in either order, also inside a longer word (`JaneDoeSolver`, `janedoe1`, a sentence in a
 * script without spaces); e-mail addresses; ids and logins of five characters or more.
 * Names of the submission's authors: also first and last names alone where they are written as names, and shorter ids.
 * Data of any person: e-mail addresses, home folders, and the text after @author, Author: or a commit's author.
 *
 * S1  A roster entry that consists of ordinary words (ordinary-words.ts, and the words of the teacher's own texts) changes only the
 *     student's own submission. `unscrubbed` lists these entries, so that the teacher can be informed.
 * S2  The exception is a full name with a word that is also a name. It is removed where both words are capitalised and next to each other.
 *     `Mark Grant` is removed everywhere. `Will Power` contains a program word, so it is removed from text and kept in code. `Max Points`
 *     consists of program words, so it is kept. Names that the teacher's own texts contain in this form are kept too.
 * S3  In the student's own submission an ordinary word is removed only where it is written as a name and the line is not code.
 */
import { isAlsoName, isCodeWord, isNameLike, isOrdinaryIdentifier, isOrdinaryWord } from "./ordinary-words.ts";

export interface Person {
  readonly key: string;
  readonly name: string;
  readonly id?: string;
  readonly participant?: string;
  readonly sisId?: string;
  readonly login?: string;
  readonly email?: string;
  readonly handle?: string;
}

export interface Scrubbed {
  readonly text: string;
  /** How often each kind was found. The found text itself is never reported. */
  readonly found: Readonly<Record<ScrubKind, number>>;
}

export type ScrubKind = "name" | "email" | "id" | "home" | "author";

interface Sequence {
  readonly words: readonly string[];
  readonly with: string;
  readonly kind: ScrubKind;
  readonly written: Written;
}

/**
 * How a name must be written to count. capital: a capital letter, and `Math.max` does not match. title: each word as in the roster, next to
 * each other. prose: with a capital, and outside code. title prose: both.
 */
type Written = "anyhow" | "capital" | "title" | "prose" | "title prose";

/** Words of the teacher's own texts: the task, the rubric, the prompts. */
export interface AuthoredWords {
  readonly words: ReadonlySet<string>;
  /** Words that occur without a capital, so they are not names. */
  readonly lower: ReadonlySet<string>;
  /** Pairs of words that are next to each other. */
  readonly pairs: ReadonlySet<string>;
}

export function authoredWords(texts: Iterable<string>): AuthoredWords {
  const [words, lower, pairs] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (const text of texts) {
    let before = "";
    for (const [one] of text.matchAll(word)) {
      const here = plain(one);
      words.add(here);
      if (/^\p{Ll}/u.test(one)) lower.add(here);
      if (before !== "") pairs.add(`${before} ${here}`);
      for (const { plain: piece } of piecesOf(one)) words.add(piece);
      before = here;
    }
  }
  return { words, lower, pairs };
}

const nothingAuthored: AuthoredWords = authoredWords([]);

const word = /[\p{L}\p{M}\p{N}]+/gu;
const LONGEST_GAP = 3;

/** The names to remove from every submission; the same for the whole class. */
interface ClassNames {
  readonly names: Names;
  /** Full names, found by the pieces of a longer word. */
  readonly pieces: Names;
  /** Names in scripts without spaces, in either order. */
  readonly unspaced: Unspaced;
  /** Handles and logins that are ordinary words. They are removed only in the address of a git host. */
  readonly accounts: ReadonlyMap<string, string>;
}

/** Sequences by their first word, the longest first. */
type Names = ReadonlyMap<string, readonly Sequence[]>;

/** The index of a class is cached: a worker creates a scrubber for every model call. */
const indexed = new WeakMap<
  readonly Person[],
  { readonly aliases: ReadonlyMap<string, string>; readonly authored: AuthoredWords; readonly index: ClassNames }
>();

export class Scrubber {
  readonly #class: ClassNames;
  /** Names of the authors of the submission. */
  readonly #own: Names;

  /** `own`: the authors of the submission; several for a group submission. */
  constructor(
    people: readonly Person[],
    aliases: ReadonlyMap<string, string>,
    own: readonly string[],
    authored: AuthoredWords = nothingAuthored,
  ) {
    const known = indexed.get(people);
    this.#class =
      known?.aliases === aliases && known.authored === authored ? known.index : indexClass(people, aliases, authored);
    indexed.set(people, { aliases, authored, index: this.#class });
    const owners = people.filter(({ key }) => own.includes(key));
    this.#own = namesOf(owners.flatMap((person) => ownNames(person, aliases, authored)));
  }

  scrub(text: string): Scrubbed {
    const slices = this.slices(text);
    for (let next = slices.next(); ; next = slices.next()) if (next.done === true) return next.value;
  }

  /**
   * Does the same in slices: each step of the generator reads about SLICE characters, so that the caller can do other work between two
   * steps. A longer line is scrubbed in parts, and again at each seam between two parts, so that a name across the cut is found.
   */
  *slices(text: string): Generator<void, Scrubbed> {
    const found: Record<ScrubKind, number> = { name: 0, email: 0, id: 0, home: 0, author: 0 };
    const out: string[] = [];
    let read = 0;
    for (let from = 0, line = 0; from <= text.length; line += 1) {
      if (line > 0) out.push("\n");
      const newline = text.indexOf("\n", from);
      const end = newline < 0 ? text.length : newline;
      let last: string | null = null;
      for (let at = from; at < end; ) {
        const to = cutAt(text, at, end);
        const part = this.#line(text.slice(at, to), found);
        if (last === null) last = part;
        else {
          const [done, rest] = this.#join(last, part, found);
          out.push(done);
          last = rest;
        }
        read += to - at;
        at = to;
        if (read < SLICE) continue;
        read = 0;
        yield;
      }
      if (last !== null) out.push(last);
      from = end + 1;
      // Empty lines also count as text that was read.
      read += 1;
    }
    return { text: out.join(""), found };
  }

  /** Joins two parts of a line. Returns the finished part, and the part that can still match together with the next one. */
  #join(one: string, other: string, found: Record<ScrubKind, number>): readonly [string, string] {
    const from = wordStart(one, Math.max(0, one.length - SEAM));
    const to = wordStart(other, Math.min(other.length, SEAM));
    return [one.slice(0, from), this.#line(one.slice(from) + other.slice(0, to), found) + other.slice(to)];
  }

  #line(line: string, found: Record<ScrubKind, number>): string {
    if (!/[\p{L}\p{N}]/u.test(line)) return line;
    const count = (kind: ScrubKind, text: string) => {
      found[kind] += 1;
      return text;
    };
    const prepared = replaceAddresses(line, () => count("email", "[e-mail]"))
      .replaceAll(/((?:\/home\/|\/Users\/|[A-Za-z]:\\Users\\))([^/\\\s"'`:]+)/g, (_, root: string) =>
        count("home", `${root}[user]`),
      )
      .replace(
        /(@author\s{1,200}|(?:^|[\s*#/;-])(?:author|written by|created by|committer)\s{0,200}:\s{0,200})(\S.{0,120})$/iu,
        (_, tag: string) => count("author", `${tag}[author]`),
      );
    const { unspaced: aliases, names, pieces, accounts } = this.#class;
    const addressed = prepared.replaceAll(
      /((?:github|gitlab|bitbucket|codeberg)\.[a-z]{2,8}[/:])([\w.-]{1,60})/gi,
      (whole, host: string, account: string) => {
        const alias = accounts.get(account.replace(/\.git$/, "").toLowerCase());
        return alias === undefined ? whole : count("id", `${host}${alias}`);
      },
    );
    const unspaced = replaceUnspaced(addressed, aliases, (alias) => count("name", alias));
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

/** How many characters are read at once. */
const SLICE = 10_000;
/** The seam is longer than any name with its gaps, any address and any home path. */
const SEAM = 400;

/** Returns where the next part of a line ends: before a word, if one is near. */
function cutAt(text: string, from: number, end: number): number {
  return end - from <= SLICE ? end : Math.max(from + 1, wordStart(text, from + SLICE, from + SLICE - SEAM));
}

/** The last index up to `at` that does not split a word. Returns `at` inside a word that is longer than any name. */
function wordStart(text: string, at: number, least = at - SEAM): number {
  const from = Math.max(0, least);
  if (at > from && /[^\p{L}\p{M}\p{N}\p{Cs}]/u.test(text[at - 1] ?? "")) return at;
  let found = -1;
  for (const { index } of text.slice(from, at).matchAll(betweenWords)) found = index;
  if (found >= 0) return from + found + 1;
  return from === 0 ? 0 : at;
}

const betweenWords = /[^\p{L}\p{M}\p{N}\p{Cs}]/gu;

const domain = /@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,6}/uy;
const LONGEST_LOCAL_PART = 64;

/** Finds e-mail addresses by searching for the @ sign first. Most texts have none. */
function replaceAddresses(line: string, address: () => string): string {
  let out = "";
  let at = 0;
  for (let sign = line.indexOf("@"); sign >= 0; sign = line.indexOf("@", Math.max(at, sign + 1))) {
    let from = sign;
    while (from > at && sign - from < LONGEST_LOCAL_PART && /[\p{L}\p{N}\p{Cs}._%+-]/u.test(line[from - 1] ?? ""))
      from -= 1;
    domain.lastIndex = sign;
    if (from === sign || !domain.test(line)) continue;
    out += line.slice(at, from) + address();
    at = domain.lastIndex;
  }
  return out + line.slice(at);
}

/** Names in scripts without spaces, by first character, the longest first. */
type Unspaced = ReadonlyMap<string, readonly (readonly [name: string, alias: string])[]>;

function byFirstCharacter(aliases: ReadonlyMap<string, string>): Unspaced {
  const names = new Map<string, [string, string][]>();
  for (const entry of [...aliases].sort(([one], [other]) => other.length - one.length)) {
    const first = entry[0][0] ?? "";
    const known = names.get(first);
    if (known === undefined) names.set(first, [entry]);
    else known.push(entry);
  }
  return names;
}

function replaceUnspaced(line: string, names: Unspaced, name: (alias: string) => string): string {
  if (names.size === 0) return line;
  let out = "";
  let at = 0;
  for (let place = 0; place < line.length; ) {
    const found = names.get(line[place] ?? "")?.find(([one]) => line.startsWith(one, place));
    if (found === undefined) {
      place += 1;
      continue;
    }
    out += line.slice(at, place) + name(found[1]);
    place += found[0].length;
    at = place;
  }
  return out + line.slice(at);
}

/** The first of the longest matches. */
function longest(matches: readonly (Sequence | undefined)[]): Sequence | undefined {
  let best: Sequence | undefined;
  for (const match of matches) if ((match?.words.length ?? 0) > (best?.words.length ?? 0)) best = match;
  return best;
}

function fits(line: string, words: readonly Word[], index: number): (sequence: Sequence) => boolean {
  return ({ words: wanted, written }) => {
    const isTitle = written === "title" || written === "title prose";
    const isWords = written === "prose" || written === "title prose";
    for (const [offset, one] of wanted.entries()) {
      const here = words[index + offset];
      if (here === undefined || here.plain !== one) return false;
      if (written !== "anyhow" && !/^\p{Lu}/u.test(here.text) && /^\p{Ll}/u.test(here.text)) return false;
      // Words in capitals such as LI, MAX and NULL are constants.
      if (isWords && here.text.length > 1 && !/\p{Ll}/u.test(here.text)) return false;
      if (offset === 0) continue;
      const gap = line.slice(words[index + offset - 1]?.to, here.from);
      if (gap.length > LONGEST_GAP || !(isTitle ? /^,? $/ : /^[\s._,'’-]*$/).test(gap)) return false;
    }
    return !isWords || isProse(line, words[index]);
  };
}

/** Whether the word is in a comment, in a text in quotes, or in a line that is not code. */
function isProse(line: string, here: Word | undefined): boolean {
  if (here === undefined) return false;
  const [before, after] = [line.slice(Math.max(0, here.from - 300), here.from), line.slice(here.to, here.to + 3)];
  // The word is part of an expression: `Math.Max(`, `List<`, `x.Max`.
  if (/[.\w$@<(]$/.test(before) || /^[\w$(<[=]|^\.\w|^::/.test(after)) return false;
  if (/\/\/|\/\*|^\s*\*|#|--|"|'|`|<!--|^\s*%/.test(before)) return true;
  return (!isCodeWord(here.plain) || isAlsoName(here.plain)) && !/[=(){}[\];<>]/.test(line.slice(0, 1_000));
}

/** Whether all words of the name are ordinary, so that it identifies nobody. */
function isOrdinaryName(parts: readonly string[], authored: AuthoredWords): boolean {
  return parts.length > 0 && parts.every((part) => isOrdinaryWord(part) || authored.lower.has(part));
}

function isOrdinaryId(parts: readonly string[], authored: AuthoredWords): boolean {
  return parts.length > 0 && parts.every((part) => isOrdinaryIdentifier(part) || authored.words.has(part));
}

/** S2: returns in which form a full name of ordinary words must be written to be removed. null: it is never removed. */
function writtenName(parts: readonly string[], { pairs }: AuthoredWords): "title" | "title prose" | null {
  if (parts.length < 2) return null;
  if (parts.some((part, index) => index > 0 && pairs.has(`${parts[index - 1]} ${part}`))) return null;
  if (parts.every(isNameLike) && parts.some(isAlsoName)) return "title";
  return parts.some((part) => isAlsoName(part) && !isCodeWord(part)) ? "title prose" : null;
}

/** Returns the roster entries that are not removed from other students' submissions, by field name. */
export function unscrubbed(
  { name, id, sisId, login, handle }: Omit<Person, "key">,
  authored: AuthoredWords = nothingAuthored,
): readonly { readonly field: string; readonly value: string }[] {
  const found: { field: string; value: string }[] = [];
  const parts = wordsOf(name);
  if (isOrdinaryName(parts, authored) && writtenName(parts, authored) === null)
    found.push({ field: "name", value: name });
  for (const [field, value = ""] of Object.entries({ id, sisId, login, handle })) {
    const pieces = wordsOf(value);
    const known = found.some((one) => one.value === value);
    if (!known && pieces.join("").length >= LEAST_ID && isOrdinaryId(pieces, authored)) found.push({ field, value });
  }
  return found;
}

function indexClass(
  people: readonly Person[],
  aliases: ReadonlyMap<string, string>,
  authored: AuthoredWords,
): ClassNames {
  const names: Sequence[] = [];
  const pieces: Sequence[] = [];
  const unspaced = new Map<string, string>();
  const accounts = new Map<string, string>();
  for (const person of people) {
    const alias = aliases.get(person.key) ?? "Student";
    const ids = idsOf(person, LEAST_ID);
    for (const id of ids) {
      if (isOrdinaryId(id, authored)) continue;
      names.push(...sequenceOf(id, alias, "id"));
      // A login can be part of a longer word: `mmuellerSort`.
      const [only = "", ...others] = id;
      if (others.length === 0 && /^\p{L}+$/u.test(only)) pieces.push(...sequenceOf([only], alias, "id"));
    }
    for (const account of [person.login, person.handle]) {
      if (account !== undefined && isOrdinaryId(wordsOf(account), authored)) accounts.set(account.toLowerCase(), alias);
    }
    const parts = wordsOf(person.name);
    if (isOrdinaryName(parts, authored)) {
      const written = writtenName(parts, authored);
      if (written !== null) names.push(...titled(parts, alias, written));
      continue;
    }
    const turned = turn(parts);
    names.push(...sequenceOf(parts, alias, "name"));
    if (parts.length > 1) {
      names.push(...sequenceOf(turned, alias, "name"));
      for (const joined of [parts.join(""), turned.join("")])
        if (!isOrdinaryName([joined], authored)) names.push(...sequenceOf([joined], alias, "name"));
    }
    const whole = [...person.name.matchAll(word)].map(([one]) => one);
    for (const order of [whole, turn(whole)]) {
      const joined = order.join("");
      if (isOrdinaryName([plain(joined)], authored)) continue;
      if (noSpaces.test(joined) && [...joined].length > 1) unspaced.set(joined, alias);
      const words = order.flatMap(piecesOf).map(({ plain: one }) => one);
      if (words.length > 1) pieces.push({ words, with: alias, kind: "name", written: "anyhow" });
      const short = joined.length < 6;
      if (whole.length > 1 && !short)
        pieces.push({ words: [plain(joined)], with: alias, kind: "name", written: "anyhow" });
    }
  }
  return {
    names: namesOf(names),
    pieces: namesOf(pieces),
    unspaced: byFirstCharacter(unspaced),
    accounts,
  };
}

function turn(parts: readonly string[]): string[] {
  return [parts.at(-1) ?? "", ...parts.slice(0, -1)];
}

function titled(parts: readonly string[], alias: string, written: "title" | "title prose"): Sequence[] {
  return [parts, turn(parts)].map((words) => ({ words, with: alias, kind: "name", written }));
}

function ownNames(person: Person, aliases: ReadonlyMap<string, string>, authored: AuthoredWords): Sequence[] {
  const alias = aliases.get(person.key) ?? "Student";
  const all = wordsOf(person.name);
  const parts = all.filter((part) => part.length > 1);
  const alone = parts.map(
    (part): Sequence => ({
      words: [part],
      with: alias,
      kind: "name",
      written: isOrdinaryName([part], authored) ? "prose" : "capital",
    }),
  );
  const full = all.length > 1 && isOrdinaryName(all, authored) ? titled(all, alias, "title") : [];
  const ids = idsOf(person, LEAST_OWN_ID).filter((id) => !isOrdinaryId(id, authored));
  return [...full, ...alone, ...ids.flatMap((id) => sequenceOf(id, alias, "id"))];
}

const LEAST_ID = 5;
const LEAST_OWN_ID = 4;

/** The ids of a person, each split into words. */
function idsOf({ id, participant, sisId, login, handle }: Person, least: number): (readonly string[])[] {
  const ids = [id, participant, sisId, login, handle].map((one) => wordsOf(one ?? ""));
  return ids.filter((pieces) => pieces.join("").length >= least);
}

function sequenceOf(words: readonly string[], alias: string, kind: ScrubKind): Sequence[] {
  const [first] = words;
  if (first === undefined || first === "" || words.join("").length < 2) return [];
  // A name of a single word is too often an ordinary word.
  const single = words.length === 1 && kind === "name";
  return [{ words, with: alias, kind, written: single && words.join("").length < 8 ? "capital" : "anyhow" }];
}

interface Word {
  readonly text: string;
  readonly plain: string;
  readonly from: number;
  readonly to: number;
}

/** Letters of scripts that put no space between words. */
const noSpaces = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]+$/u;
/** Splits a word into pieces: a capital begins a piece, and so do digits. `HTMLPage` has two pieces. */
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
