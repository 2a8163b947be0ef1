import { caseFamilies } from "./fold-case.ts";

export interface CharacterSet {
  /** Sorted, disjoint pairs: first, last, first, last … */
  readonly ranges: readonly number[];
  readonly properties: readonly CharacterProperty[];
  readonly negated: boolean;
  /** Has the other cases of its ranges, too. They are not written out: a wide range has thousands. */
  readonly ignoreCase: boolean;
}

interface CharacterProperty {
  /** The text between the brackets of a RegExp class. It is only tested against one character, so the time is constant. */
  readonly unicode: string;
  readonly negated: boolean;
}

type Range = readonly [first: number, last: number];

const lastCodePoint = 0x10ffff;

/** The characters for which `str.isspace` is true. RegExp's own `\s` also contains U+FEFF and lacks U+001C to U+001F and U+0085. */
const spaces: readonly Range[] = [
  [0x09, 0x0d],
  [0x1c, 0x20],
  [0x85, 0x85],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
];

/** The characters for which `str.isalnum` is true, and the underscore. Combining marks are not word characters. */
const wordCharacters = "\\p{L}\\p{N}_";

/** One member of a set as written: characters, or a property. */
export type Member =
  | { readonly kind: "ranges"; readonly ranges: readonly Range[] }
  | { readonly kind: "property"; readonly property: CharacterProperty };

/** `\d \D \w \W \s \S` */
export function shorthand(letter: string): Member | undefined {
  switch (letter) {
    case "d":
    case "D":
      return { kind: "property", property: { unicode: "\\p{Nd}", negated: letter === "D" } };
    case "w":
    case "W":
      return { kind: "property", property: { unicode: wordCharacters, negated: letter === "W" } };
    case "s":
      return { kind: "ranges", ranges: spaces };
    case "S":
      return { kind: "ranges", ranges: complement(spaces) };
    default:
      return undefined;
  }
}

/** `\p{name}`. Returns undefined if the runtime's Unicode version has no such property. */
export function unicodeProperty(name: string, negated: boolean, ignoreCase: boolean): Member | undefined {
  if (!/^\w{1,60}(?:=\w{1,60})?$/.test(name)) return undefined;
  // If case is ignored, "upper case letter" means any letter that has case.
  const unicode = `\\p{${ignoreCase && /^L[ult]$/.test(name) ? "LC" : name}}`;
  try {
    propertyTest(unicode);
  } catch {
    return undefined;
  }
  return { kind: "property", property: { unicode, negated } };
}

export function characterSet(members: readonly Member[], negated: boolean, ignoreCase: boolean): CharacterSet {
  const ranges = merge(members.flatMap((member) => (member.kind === "ranges" ? member.ranges : [])));
  const properties = members.flatMap((member) => (member.kind === "property" ? [member.property] : []));
  return { ranges: ranges.flat(), properties, negated, ignoreCase: ignoreCase && ranges.some(hasCase) };
}

/** Whether a range may hold letters with case. */
function hasCase([first, last]: Range): boolean {
  return first < last || caseFamilies().has(first);
}

export function contains(set: CharacterSet, codePoint: number): boolean {
  const { ranges, properties, negated, ignoreCase } = set;
  const found =
    inRanges(ranges, codePoint) ||
    (ignoreCase && anyInRanges(ranges, caseFamilies().get(codePoint))) ||
    hasProperty(properties, codePoint);
  return found !== negated;
}

function anyInRanges(ranges: readonly number[], codePoints: readonly number[] | undefined): boolean {
  return codePoints?.some((codePoint) => inRanges(ranges, codePoint)) === true;
}

function hasProperty(properties: readonly CharacterProperty[], codePoint: number): boolean {
  if (properties.length === 0) return false;
  const character = String.fromCodePoint(codePoint);
  return properties.some(({ unicode, negated }) => propertyTest(unicode).test(character) !== negated);
}

export function isWordCharacter(codePoint: number): boolean {
  return propertyTest(wordCharacters).test(String.fromCodePoint(codePoint));
}

/** Returns the only character of a set, or undefined if the set has several. */
export function onlyMember(set: CharacterSet): number | undefined {
  const [first, last] = set.ranges;
  const single = set.ranges.length === 2 && first === last && set.properties.length === 0;
  return single && !set.negated && !set.ignoreCase ? first : undefined;
}

/** This map stays small: Unicode has some hundred properties, and only existing ones are added. */
const propertyTests = new Map<string, RegExp>();

function propertyTest(unicode: string): RegExp {
  let test = propertyTests.get(unicode);
  if (test === undefined) {
    test = new RegExp(`[${unicode}]`, "u");
    propertyTests.set(unicode, test);
  }
  return test;
}

function inRanges(ranges: readonly number[], codePoint: number): boolean {
  let low = 0;
  let high = ranges.length / 2;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (codePoint > (ranges[2 * middle + 1] ?? 0)) low = middle + 1;
    else high = middle;
  }
  const first = ranges[2 * low];
  return first !== undefined && first <= codePoint;
}

function merge(ranges: readonly Range[]): readonly Range[] {
  const merged: [number, number][] = [];
  for (const [first, last] of [...ranges].sort((a, b) => a[0] - b[0])) {
    const previous = merged.at(-1);
    if (previous !== undefined && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last);
    else merged.push([first, last]);
  }
  return merged;
}

function complement(ranges: readonly Range[]): readonly Range[] {
  const rest: Range[] = [];
  let next = 0;
  for (const [first, last] of ranges) {
    if (first > next) rest.push([next, first - 1]);
    next = last + 1;
  }
  if (next <= lastCodePoint) rest.push([next, lastCodePoint]);
  return rest;
}
