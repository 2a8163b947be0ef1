/**
 * Finds the code points that are one letter if case is ignored, as in Python's `re`: simple case folding, and also the Turkish İ and ı with
 * i and I.
 *
 * Only these spans contain letters with case. Reading them takes about 10 ms, once. The test reads all of Unicode.
 */
const casedSpans: readonly (readonly [number, number])[] = [
  [0x0000, 0x058f],
  [0x10a0, 0x2dff],
  [0xa640, 0xabff],
  [0xfb00, 0xfb06],
  [0xff21, 0xff5a],
  [0x10400, 0x10dff],
  [0x118a0, 0x118df],
  [0x16e40, 0x16eff],
  [0x1e900, 0x1e95f],
];

/** Their case mappings have several characters, so no single mapping leads from the first to the second. */
const irregular: ReadonlyMap<number, number> = new Map([
  [0x0130, 0x0069],
  [0x1fd3, 0x0390],
  [0x1fe3, 0x03b0],
  [0xfb05, 0xfb06],
]);

export function foldCase(codePoint: number): number {
  const upper = single(String.fromCodePoint(codePoint).toUpperCase()) ?? codePoint;
  const lower = single(String.fromCodePoint(upper).toLowerCase()) ?? upper;
  return irregular.get(lower) ?? lower;
}

function single(text: string): number | undefined {
  const codePoint = text.codePointAt(0);
  return codePoint !== undefined && text.length === (codePoint > 0xffff ? 2 : 1) ? codePoint : undefined;
}

let families: ReadonlyMap<number, readonly number[]> | undefined;

/** For each code point with case variants: all its variants, including itself. */
export function caseFamilies(): ReadonlyMap<number, readonly number[]> {
  if (families === undefined) {
    const byFold = new Map<number, number[]>();
    for (const [from, to] of casedSpans) {
      for (let codePoint = from; codePoint <= to; codePoint++) {
        const fold = foldCase(codePoint);
        const family = byFold.get(fold);
        if (family === undefined) byFold.set(fold, [codePoint]);
        else family.push(codePoint);
      }
    }
    families = new Map(
      [...byFold.values()]
        .filter((family) => family.length > 1)
        .flatMap((family) => family.map((codePoint) => [codePoint, family] as const)),
    );
  }
  return families;
}
