/** The word an unknown one was probably meant to be. Kept apart from @markmill/definition, whose import costs a parser. */
export function closest(word: string, candidates: readonly string[]): string | null {
  const near = candidates
    .map((candidate) => ({ candidate, distance: distance(word.toLowerCase(), candidate.toLowerCase()) }))
    .sort((one, other) => one.distance - other.distance)[0];
  return near !== undefined && near.distance <= Math.max(1, Math.floor(word.length / 3)) ? near.candidate : null;
}

function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const swap = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
