/**
 * Restores the names of resubmitted files. Canvas adds -1, -2, … to them, and the export contains only the latest files: only
 * `median-1.py`. Pure.
 *
 * C1  A suffix is removed only if the submission has no file of the plain name, and no other file that would get it.
 * C2  If the class requires files, the plain name must fulfil a requirement that is otherwise not fulfilled. No other requirement may
 *     depend on the suffix.
 * C3  If no requirement decides, more of the other submissions must have the plain name than have it with a suffix. If students submit
 *     `part-1.py` and `part-2.py`, these are the real names.
 * C4  All other files keep their names. A note of the submission reports a changed name.
 */
import { showName } from "@markmill/grading/submission";
import type { Piece, Work } from "./layout.ts";
import { missingPaths } from "./required-paths.ts";

/** No learning platform gives a file a longer name. */
const longestName = 400;
const suffixed = /^(?<stem>.*[^-\s])-(?<count>[1-9]\d{0,2})(?<ending>(?:\.[^./]+)*)$/su;

export function plainCanvasNames(works: readonly Work[], requires: readonly string[]): readonly Work[] {
  const plain = new Map<string, number>();
  const withSuffix = new Map<string, number>();
  for (const work of works) {
    const own = namesOf(work);
    for (const name of new Set(own)) count(plain, name);
    for (const name of new Set(own.flatMap((one) => withoutSuffix(one)))) count(withSuffix, name);
  }
  // The submission itself is one of those with a suffix.
  const isUsual = (name: string) => (plain.get(name) ?? 0) > (withSuffix.get(name) ?? 0) - 1;
  return works.map((work) => {
    const pieces = work.pieces.map((piece) => renamed(piece, namesOf(work), requires, isUsual));
    return { ...work, pieces };
  });
}

function renamed(
  piece: Piece,
  names: readonly string[],
  requires: readonly string[],
  isUsual: (name: string) => boolean,
): Piece {
  const { as } = piece;
  if (as === null) return piece;
  const others = names.filter((name) => name !== as);
  const missing = missingPaths(requires, names);
  const found = withoutSuffix(as).find((plain) => {
    if (others.some((name) => name === plain || withoutSuffix(name).includes(plain))) return false;
    const then = missingPaths(requires, [...others, plain]);
    if (then.some((path) => !missing.includes(path))) return false;
    return then.length < missing.length || isUsual(plain);
  });
  if (found === undefined) return piece;
  const suffix = suffixed.exec(as)?.groups?.count ?? "";
  const note = `${showName(as)} was renamed to ${showName(found)}, because Canvas adds -${suffix} to a resubmitted file.`;
  return { ...piece, as: found, note };
}

/** `a-1-2.py` may have been `a-1.py` or `a.py`. */
function withoutSuffix(name: string): readonly string[] {
  if (name.length > longestName) return [];
  const { stem, ending = "" } = suffixed.exec(name)?.groups ?? {};
  return stem === undefined ? [] : [`${stem}${ending}`, ...withoutSuffix(`${stem}${ending}`)];
}

function namesOf({ pieces }: Work): string[] {
  return pieces.flatMap(({ as }) => (as === null ? [] : [as]));
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
