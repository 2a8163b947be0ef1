/**
 * Names taken out of text before a model sees it. Line by line, so that a line keeps its number and evidence can be looked up in
 * what the model saw.
 *
 * Of everybody in the class: full names in either order, e-mail addresses, ids and logins of five characters and more.
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

export class Scrubber {
  readonly #names = new Map<string, Sequence[]>();

  /** own: whose work it is; several for group work. */
  constructor(people: readonly Person[], names: ReadonlyMap<string, string>, own: readonly string[]) {
    for (const person of people) {
      const alias = names.get(person.key) ?? "Student";
      const mine = own.includes(person.key);
      const parts = wordsOf(person.name);
      this.#add(parts, alias, "name");
      if (parts.length > 1) {
        this.#add([parts.at(-1) ?? "", ...parts.slice(0, -1)], alias, "name");
        this.#add([parts.join("")], alias, "name");
        this.#add([[parts.at(-1), ...parts.slice(0, -1)].join("")], alias, "name");
      }
      if (mine) for (const part of parts) if (part.length > 1) this.#add([part], alias, "name", true);
      for (const id of [person.id, person.sisId, person.login, person.handle]) {
        const pieces = wordsOf(id ?? "");
        if (pieces.join("").length >= (mine ? 4 : 5)) this.#add(pieces, alias, "id");
      }
    }
  }

  scrub(text: string): Scrubbed {
    const found: Record<ScrubKind, number> = { name: 0, email: 0, id: 0, home: 0, author: 0 };
    const lines = text.split("\n").map((line) => this.#line(line, found));
    return { text: lines.join("\n"), found };
  }

  #add(words: readonly string[], alias: string, kind: ScrubKind, capital = false): void {
    const [first] = words;
    if (first === undefined || first === "" || words.join("").length < 2) return;
    // A name of one word is an ordinary word too often.
    const single = words.length === 1 && kind === "name";
    const sequence = { words, with: alias, kind, capital: capital || (single && words.join("").length < 8) };
    const known = this.#names.get(first) ?? [];
    this.#names.set(
      first,
      [...known, sequence].sort((one, other) => other.words.length - one.words.length),
    );
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
    return this.#words(prepared, count);
  }

  #words(line: string, count: (kind: ScrubKind, text: string) => string): string {
    const words = [...line.matchAll(word)].map(({ 0: text, index }) => ({
      text,
      plain: plain(text),
      from: index,
      to: index + text.length,
    }));
    let out = "";
    let at = 0;
    for (let index = 0; index < words.length; ) {
      const here = words[index];
      const match = here && this.#names.get(here.plain)?.find((sequence) => this.#fits(line, words, index, sequence));
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

  #fits(
    line: string,
    words: readonly { readonly text: string; readonly plain: string; readonly from: number; readonly to: number }[],
    index: number,
    { words: wanted, capital }: Sequence,
  ): boolean {
    for (const [offset, one] of wanted.entries()) {
      const here = words[index + offset];
      if (here === undefined || here.plain !== one) return false;
      if (capital && !/^\p{Lu}/u.test(here.text) && /^\p{Ll}/u.test(here.text)) return false;
      if (offset === 0) continue;
      const gap = line.slice(words[index + offset - 1]?.to, here.from);
      if (gap.length > LONGEST_GAP || !/^[\s._,'’-]*$/.test(gap)) return false;
    }
    return true;
  }
}

function wordsOf(text: string): string[] {
  return [...text.matchAll(word)].map(([one]) => plain(one));
}

function plain(text: string): string {
  return text.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();
}
