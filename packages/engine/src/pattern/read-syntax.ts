import { type CharacterSet, characterSet, type Member, shorthand, unicodeProperty } from "./character-set.ts";
import { assertion, patternBounds, Refusal } from "./pattern.ts";
import type { Syntax, SyntaxTree } from "./syntax-tree.ts";

interface Flags {
  readonly ignoreCase: boolean;
  readonly multiline: boolean;
  readonly dotAll: boolean;
  readonly verbose: boolean;
}

const flagLetters: Readonly<Record<string, keyof Flags | undefined>> = {
  i: "ignoreCase",
  m: "multiline",
  s: "dotAll",
  x: "verbose",
};

const controlEscapes: Readonly<Record<string, number | undefined>> = {
  a: 0x07,
  f: 0x0c,
  n: 0x0a,
  r: 0x0d,
  t: 0x09,
  v: 0x0b,
};

const hexDigitsOf: Readonly<Record<string, number | undefined>> = { x: 2, u: 4, U: 8 };

const linearOnly = "patterns run in time linear in the text, which this would break";

const lineBreak: Member = { kind: "ranges", ranges: [[0x0a, 0x0a]] };

/** Throws a Refusal, whose offset counts UTF-16 units. */
export function readSyntax(source: string): SyntaxTree {
  let at = 0;
  let depth = 0;
  const groupNames: (string | null)[] = [];
  let globalFlags: Flags = { ignoreCase: false, multiline: false, dotAll: false, verbose: false };

  const root = readChoice(globalFlags, true);
  if (at < source.length) throw new Refusal("This parenthesis closes nothing. Write \\) for the character.", at);
  return { root, groupNames };

  function readChoice(flags: Flags, outermost: boolean): Syntax {
    const options = [readSequence(flags, outermost)];
    while (accept("|")) options.push(readSequence(outermost ? globalFlags : flags, false));
    const [only] = options;
    return options.length === 1 && only !== undefined ? only : { kind: "choice", options };
  }

  /** `outermost`: flags at the beginning of this sequence apply to the whole pattern. */
  function readSequence(given: Flags, outermost: boolean): Syntax {
    let flags = given;
    const items: Syntax[] = [];
    while (at < source.length) {
      if (flags.verbose && skipped()) continue;
      const next = source[at];
      if (next === "|" || next === ")") break;
      const start = at;
      if (skipComment()) continue;
      const switched = readGlobalFlags();
      if (switched !== undefined) {
        if (!outermost || items.length > 0) {
          throw new Refusal("Flags for the whole pattern stand at its start. Write (?i:…) for a part of it.", start);
        }
        for (const flag of switched) globalFlags = { ...globalFlags, [flag]: true };
        flags = globalFlags;
        continue;
      }
      const counts = readQuantifier();
      if (counts === undefined) {
        items.push(readAtom(flags));
        continue;
      }
      const item = items.at(-1);
      if (item === undefined || item.kind === "assertion") {
        throw new Refusal(`There is nothing to repeat here. Write \\${next} for the character.`, start);
      }
      if (item.kind === "repeat") {
        throw new Refusal("This repeats what is repeated already. Put the first repeat into a group (?:…).", start);
      }
      const lazy = accept("?");
      if (!lazy && source[at] === "+") {
        throw new Refusal(`Possessive repeats are not available: ${linearOnly}. Leave the + out.`, at);
      }
      items[items.length - 1] = { kind: "repeat", item, ...counts, lazy, offset: start };
    }
    const [only] = items;
    return items.length === 1 && only !== undefined ? only : { kind: "sequence", items };
  }

  /** Skips white space and # comments of a verbose pattern. */
  function skipped(): boolean {
    const start = at;
    while (at < source.length && " \t\n\r\f\v".includes(source[at] ?? "")) at++;
    if (source[at] === "#") {
      const end = source.indexOf("\n", at);
      at = end < 0 ? source.length : end + 1;
    }
    return at > start;
  }

  function skipComment(): boolean {
    if (!source.startsWith("(?#", at)) return false;
    const end = source.indexOf(")", at);
    if (end < 0) throw new Refusal("This comment is not closed. Add a ).", at);
    at = end + 1;
    return true;
  }

  function readGlobalFlags(): readonly (keyof Flags)[] | undefined {
    const end = source.startsWith("(?", at) ? source.indexOf(")", at) : -1;
    const letters = source.slice(at + 2, Math.max(end, at + 2));
    if (letters.length > 20 || !/^[a-zA-Z]+$/.test(letters)) return undefined;
    const flags = readFlagLetters(letters, at + 2);
    at = end + 1;
    return flags;
  }

  function readFlagLetters(letters: string, start: number): readonly (keyof Flags)[] {
    return [...letters].flatMap((letter, index) => {
      // Patterns always use Unicode, so the flag `u` has no effect.
      if (letter === "u") return [];
      const flag = Object.hasOwn(flagLetters, letter) ? flagLetters[letter] : undefined;
      if (flag === undefined) {
        throw new Refusal(`There is no flag ${letter} here. Known are i, m, s, x and u.`, start + index);
      }
      return [flag];
    });
  }

  function readQuantifier(): { readonly min: number; readonly max: number } | undefined {
    if (accept("*")) return { min: 0, max: Number.POSITIVE_INFINITY };
    if (accept("+")) return { min: 1, max: Number.POSITIVE_INFINITY };
    if (accept("?")) return { min: 0, max: 1 };
    if (source[at] !== "{") return undefined;
    const start = at;
    at++;
    const low = readDigits();
    const comma = accept(",");
    const high = comma ? readDigits() : low;
    if (!accept("}") || (low === "" && !comma)) {
      // The brace is not a quantifier, so it is text.
      at = start;
      return undefined;
    }
    const min = Number(low);
    const max = high === "" ? Number.POSITIVE_INFINITY : Number(high);
    if (min > max) throw new Refusal("The least number of repeats is greater than the most. Swap them.", start);
    if (min > patternBounds.instructions || (max > patternBounds.instructions && high !== "")) {
      throw new Refusal(`At most ${patternBounds.instructions} repeats can be counted. Use * or +.`, start);
    }
    return { min, max };
  }

  function readDigits(): string {
    const start = at;
    while (at < source.length && isDigit(source[at])) at++;
    return source.slice(start, at);
  }

  function readAtom(flags: Flags): Syntax {
    const start = at;
    const codePoint = readCodePoint();
    switch (String.fromCodePoint(codePoint)) {
      case "(":
        return readGroup(flags, start);
      case "[":
        return set(readClass(flags, start));
      case "\\":
        return readEscape(flags, start);
      case ".":
        return set(characterSet(flags.dotAll ? [] : [lineBreak], true, false));
      case "^":
        return { kind: "assertion", assertion: flags.multiline ? assertion.lineStart : assertion.textStart };
      case "$":
        return { kind: "assertion", assertion: flags.multiline ? assertion.lineEnd : assertion.lastLineEnd };
      default:
        return literal(codePoint, flags);
    }
  }

  function readGroup(flags: Flags, start: number): Syntax {
    if (depth >= patternBounds.nesting) {
      throw new Refusal(`Groups are nested deeper than ${patternBounds.nesting}. Flatten the pattern.`, start);
    }
    if (!accept("?")) return readCapture(null, flags, start);
    if (accept(":")) return readBody(flags, start);
    if (accept("P")) {
      if (accept("<")) return readCapture(readName(), flags, start);
      if (accept("=")) throw new Refusal(`Backreferences are not available: ${linearOnly}.`, start);
      throw new Refusal("This group is unknown. Write (?P<name>…), (?:…) or \\(.", start);
    }
    if (accept("=") || accept("!")) throw new Refusal(`Lookahead is not available: ${linearOnly}.`, start);
    if (accept("<")) {
      if (accept("=") || accept("!")) throw new Refusal(`Lookbehind is not available: ${linearOnly}.`, start);
      return readCapture(readName(), flags, start);
    }
    if (accept(">")) throw new Refusal(`Atomic groups are not available: ${linearOnly}. Write (?:…).`, start);
    if (accept("(")) throw new Refusal(`Conditional groups are not available: ${linearOnly}.`, start);
    return readBody(readScopedFlags(flags, start), start);
  }

  function readCapture(name: string | null, flags: Flags, start: number): Syntax {
    if (groupNames.length >= patternBounds.groups) {
      throw new Refusal(
        `There are more than ${patternBounds.groups} groups. Write (?:…) where nothing is kept.`,
        start,
      );
    }
    groupNames.push(name);
    const index = groupNames.length;
    return { kind: "group", index, item: readBody(flags, start) };
  }

  function readBody(flags: Flags, start: number): Syntax {
    depth++;
    const item = readChoice(flags, false);
    depth--;
    if (!accept(")")) throw new Refusal("This group is not closed. Add a ), or write \\( for the character.", start);
    // The sequence around the item allows a group of one assertion or one repeat to be repeated.
    return { kind: "sequence", items: [item] };
  }

  function readName(): string {
    const start = at;
    const end = source.indexOf(">", at);
    const name = source.slice(at, Math.max(end, at));
    if (end < 0) throw new Refusal("The name of this group is not closed. Add a >.", start);
    if (!/^[\p{L}\p{Nl}_][\p{L}\p{M}\p{N}_]*$/u.test(name)) {
      throw new Refusal("The name of a group is made of letters, digits and _, a letter or _ first.", start);
    }
    if (groupNames.includes(name)) throw new Refusal(`The group name ${name} is taken. Choose another.`, start);
    at = end + 1;
    return name;
  }

  function readScopedFlags(flags: Flags, start: number): Flags {
    const on = readFlagLetters(readLetters(), start + 2);
    const minus = at;
    const off = accept("-") ? readFlagLetters(readLetters(), minus + 1) : [];
    if (at === start + 2 || at === minus + 1 || !accept(":")) {
      throw new Refusal("This group is unknown. Write (?:…), (?i:…), (?P<name>…) or \\(.", start);
    }
    if (off.some((flag) => on.includes(flag))) throw new Refusal("A flag is turned both on and off.", minus);
    return { ...flags, ...of(on, true), ...of(off, false) };
  }

  function readLetters(): string {
    const start = at;
    while (/^[a-zA-Z]$/.test(source[at] ?? "")) at++;
    return source.slice(start, at);
  }

  function readEscape(flags: Flags, start: number): Syntax {
    const letter = source[at];
    switch (letter) {
      case "A":
        at++;
        return { kind: "assertion", assertion: assertion.textStart };
      case "Z":
      case "z":
        at++;
        return { kind: "assertion", assertion: assertion.textEnd };
      case "b":
        at++;
        return { kind: "assertion", assertion: assertion.wordBoundary };
      case "B":
        at++;
        return { kind: "assertion", assertion: assertion.noWordBoundary };
    }
    // \0 and three octal digits are a character; other numbers are a backreference.
    const octal = /^(?:0[0-7]{0,2}|[0-3][0-7]{2})/.exec(source.slice(at, at + 3))?.[0];
    if (octal !== undefined) {
      at += octal.length;
      return literal(Number.parseInt(octal, 8), flags);
    }
    if (isDigit(letter)) throw new Refusal(`Backreferences are not available: ${linearOnly}.`, start);
    const member = readMember(flags, start);
    return typeof member === "number" ? literal(member, flags) : set(characterSet([member], false, flags.ignoreCase));
  }

  /** Reads one character or a class of characters after a backslash, inside or outside brackets. */
  function readMember(flags: Flags, start: number): number | Member {
    if (at >= source.length) throw new Refusal("A backslash ends the pattern. Write \\\\ for the character.", start);
    const codePoint = readCodePoint();
    const letter = String.fromCodePoint(codePoint);
    if (!/^[a-zA-Z0-9]$/.test(letter)) return codePoint;
    const control = Object.hasOwn(controlEscapes, letter) ? controlEscapes[letter] : undefined;
    if (control !== undefined) return control;
    const digits = Object.hasOwn(hexDigitsOf, letter) ? hexDigitsOf[letter] : undefined;
    if (digits !== undefined) return readHexadecimal(letter, digits, start);
    if (letter === "p" || letter === "P") return readProperty(letter === "P", flags, start);
    const kind = shorthand(letter);
    if (kind !== undefined) return kind;
    throw new Refusal(`The escape \\${letter} is unknown. Write ${letter} for the character.`, start);
  }

  function readHexadecimal(letter: string, digits: number, start: number): number {
    const text = source.slice(at, at + digits);
    if (text.length < digits || !/^[0-9a-fA-F]+$/.test(text)) {
      throw new Refusal(`After \\${letter} stand ${digits} hexadecimal digits.`, start);
    }
    const codePoint = Number.parseInt(text, 16);
    if (codePoint > 0x10ffff) throw new Refusal("Unicode ends at \\U0010FFFF.", start);
    at += digits;
    return codePoint;
  }

  function readProperty(negated: boolean, flags: Flags, start: number): Member {
    const end = source[at] === "{" ? source.indexOf("}", at) : -1;
    const name = source.slice(at + 1, Math.max(end, at + 1));
    const member = end < 0 ? undefined : unicodeProperty(name, negated, flags.ignoreCase);
    if (member === undefined) {
      throw new Refusal("There is no such property. Write for example \\p{L}, \\p{Lu} or \\p{Script=Greek}.", start);
    }
    at = end + 1;
    return member;
  }

  function readClass(flags: Flags, start: number): CharacterSet {
    const negated = accept("^");
    const members: Member[] = [];
    const first = at;
    while (at === first || source[at] !== "]") {
      if (at >= source.length) throw new Refusal("This class is not closed. Add a ], or write \\[.", start);
      const from = at;
      const low = readClassMember(flags, start);
      if (source[at] !== "-" || source[at + 1] === "]") {
        members.push(typeof low === "number" ? { kind: "ranges", ranges: [[low, low]] } : low);
        continue;
      }
      at++;
      const high = readClassMember(flags, start);
      if (typeof low !== "number" || typeof high !== "number") {
        throw new Refusal("A range goes from one character to another. Write \\- for the character.", from);
      }
      if (low > high) throw new Refusal("This range ends before it begins. Swap its ends.", from);
      members.push({ kind: "ranges", ranges: [[low, high]] });
    }
    at++;
    return characterSet(members, negated, flags.ignoreCase);
  }

  function readClassMember(flags: Flags, classStart: number): number | Member {
    if (at >= source.length) throw new Refusal("This class is not closed. Add a ], or write \\[.", classStart);
    const start = at;
    if (!accept("\\")) return readCodePoint();
    const octal = /^[0-7]{1,3}/.exec(source.slice(at, at + 3))?.[0];
    if (octal !== undefined) {
      const codePoint = Number.parseInt(octal, 8);
      if (codePoint > 0o377) throw new Refusal("An octal escape ends at \\377. Write \\xhh or \\uhhhh.", start);
      at += octal.length;
      return codePoint;
    }
    return accept("b") ? 0x08 : readMember(flags, start);
  }

  function readCodePoint(): number {
    const codePoint = source.codePointAt(at) ?? 0;
    at += codePoint > 0xffff ? 2 : 1;
    return codePoint;
  }

  function accept(character: string): boolean {
    if (source[at] !== character) return false;
    at++;
    return true;
  }
}

function literal(codePoint: number, flags: Flags): Syntax {
  return set(characterSet([{ kind: "ranges", ranges: [[codePoint, codePoint]] }], false, flags.ignoreCase));
}

function set(characters: CharacterSet): Syntax {
  return { kind: "set", set: characters };
}

function of(flags: readonly (keyof Flags)[], value: boolean): Partial<Flags> {
  return Object.fromEntries(flags.map((flag) => [flag, value]));
}

function isDigit(character: string | undefined): boolean {
  return character !== undefined && character >= "0" && character <= "9";
}
