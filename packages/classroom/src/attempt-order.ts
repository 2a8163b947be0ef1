/**
 * Decides which of several submissions is the first or the last one. Pure.
 *
 * T1  The platform's attempt number decides, then the time, then a number in the name: `ada (2)`, `ada_v2`, `ada-2`, `attempt 3`.
 * T2  A property decides only if all submissions have it. If several share the extreme value, the next property decides among them.
 * T3  The alphabet never decides. If no property decides, the answer is null, and the teacher is asked.
 */
import { plainName } from "@markmill/grading";

export interface Dated {
  /** Name of the folder or file. */
  readonly label: string;
  /** The number that the platform or the teacher's pattern gives. */
  readonly attempt: number | null;
  /** The submission time, in ms. */
  readonly instant: number | null;
}

/** `keys`: ids of the owner, which are not attempt numbers. */
export function chooseAttempt<One extends Dated>(
  works: readonly One[],
  which: "first" | "last",
  keys: ReadonlySet<string> = new Set(),
): One | null {
  const values = [
    (some: readonly One[]) => some.map(({ attempt }) => attempt),
    (some: readonly One[]) => some.map(({ instant }) => instant),
    (some: readonly One[]) =>
      numbersInNames(
        some.map(({ label }) => label),
        keys,
      ),
  ];
  let left = works;
  for (const valuesOf of values) {
    const found = valuesOf(left);
    if (!found.every((value) => value !== null)) continue;
    const extreme = found.reduce((one, other) => (which === "last" ? Math.max(one, other) : Math.min(one, other)));
    left = left.filter((_, index) => found[index] === extreme);
    if (left.length === 1) return left[0] ?? null;
  }
  return null;
}

/** Sorts oldest first, to number the submissions. Ties are sorted by name, which does not affect which one counts. */
export function numberingOrder(one: Dated, other: Dated): number {
  return (
    (one.attempt ?? 0) - (other.attempt ?? 0) ||
    (one.instant ?? 0) - (other.instant ?? 0) ||
    compareNaturally(stemOf(one.label), stemOf(other.label))
  );
}

/** null: the name has no number. A name without a number counts as 0 if the other names are equal to it without their numbers. */
function numbersInNames(labels: readonly string[], keys: ReadonlySet<string>): readonly (number | null)[] {
  const marked = labels.map((label) => markedNumber(stemOf(label), keys));
  if (marked.every((one) => one !== null)) return marked.map((one) => one?.number ?? null);
  const parts = labels.map((label, index) => marked[index] ?? trailingNumber(stemOf(label), keys));
  const bases = new Set(labels.map((label, index) => plainName(parts[index]?.base ?? stemOf(label))));
  return bases.size === 1 ? parts.map((one) => one?.number ?? 0) : labels.map(() => null);
}

interface Numbered {
  readonly base: string;
  readonly number: number;
}

const marks = [
  /\s?\((\d{1,4})\)/u,
  /(?<![\p{L}\p{N}])(?:v|ver|version|attempt|try|versuch|tentative|essai|intento)[\s_.-]?(\d{1,4})(?![\p{L}\p{N}])/iu,
];

/** Finds a number marked as an attempt, such as `v2`. Two different marked numbers give no answer. */
export function markedNumber(stem: string, keys: ReadonlySet<string> = new Set()): Numbered | null {
  const found = marks.flatMap((mark) =>
    [...stem.matchAll(new RegExp(mark.source, `${mark.flags}g`))].filter(([, digits = ""]) => !keys.has(digits)),
  );
  const numbers = new Set(found.map(([, digits]) => Number(digits)));
  const [number] = numbers;
  if (numbers.size !== 1 || number === undefined) return null;
  return { base: found.reduce((left, [text]) => left.replace(text, ""), stem), number };
}

function trailingNumber(stem: string, keys: ReadonlySet<string>): Numbered | null {
  const found = /(?<![\s_-])[\s_-]+(\d{1,2})$/u.exec(stem);
  const [, digits = ""] = found ?? [];
  return found === null || keys.has(digits) ? null : { base: stem.slice(0, found.index), number: Number(digits) };
}

/** The name without its extension. */
export function stemOf(label: string): string {
  return label.replace(/\.(?:tar\.gz|[A-Za-z0-9]{1,5})$/, "");
}

/** Compares digits by value: attempt 10 comes after attempt 9. */
function compareNaturally(one: string, other: string): number {
  const parts = (text: string) => text.toLowerCase().match(/\d+|\D+/g) ?? [];
  const [left, right] = [parts(one), parts(other)];
  for (let at = 0; at < Math.max(left.length, right.length); at += 1) {
    const [a = "", b = ""] = [left[at], right[at]];
    if (a === b) continue;
    if (/^\d/.test(a) && /^\d/.test(b) && Number(a) !== Number(b)) return Number(a) - Number(b);
    return a < b ? -1 : 1;
  }
  return one < other ? -1 : one > other ? 1 : 0;
}
