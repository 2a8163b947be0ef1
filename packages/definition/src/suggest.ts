/** Longer words are not compared, because a word of this length is rarely a misspelt name. */
const LONGEST_WORD = 64;
/** Each comparison costs some microseconds. With more candidates than this, there is no suggestion. */
const MOST_CANDIDATES = 2000;

/** Returns the candidate that a misspelt word most likely means, or null. Case is ignored. Of equal candidates, the earlier one wins. */
export function suggest(word: string, candidates: Iterable<string>): string | null {
  const wanted = word.toLowerCase();
  if (wanted.length === 0 || wanted.length > LONGEST_WORD) return null;
  let best: string | null = null;
  let distance = Math.floor(wanted.length / 3) + 1;
  let seen = 0;
  for (const candidate of candidates) {
    if (seen++ === MOST_CANDIDATES) break;
    if (Math.abs(candidate.length - wanted.length) >= distance) continue;
    const found = editDistance(wanted, candidate.toLowerCase());
    if (found < distance) {
      best = candidate;
      distance = found;
    }
  }
  return best;
}

/** The number of insertions, deletions, replacements and swaps of neighbours that turn one text into the other. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
