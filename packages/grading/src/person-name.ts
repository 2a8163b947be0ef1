/**
 * Compares names of people as different systems spell them. Pure.
 *
 * N1  Case, accents, apostrophes and punctuation do not count. Nor does the spelling of an umlaut: ü, u and ue are one letter.
 * N2  Any word may come first: "Jan van der Berg", "van der Berg, Jan" and "Berg Jan van der" are one name.
 * N3  N1 and N2 can make two people look alike. That leads to a question; it never decides between them.
 */

/** The letters and digits of a name without spaces (N1). */
export function plainName(text: string): string {
  return text
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll("ß", "ss")
    .replaceAll(/[øœ]/g, "oe")
    .replaceAll("æ", "ae")
    .replaceAll("ł", "l")
    .replaceAll("đ", "d")
    .replaceAll("ı", "i")
    .replaceAll(/[^\p{L}\p{N}]/gu, "")
    .replaceAll(/([aou])e/g, "$1");
}

/** The words of a name as written. An apostrophe is part of its word. */
export function nameWords(text: string): string[] {
  return text
    .normalize("NFC")
    .replaceAll(/['’`´]/g, "")
    .split(/[^\p{L}\p{N}\p{M}]+/u)
    .filter((word) => word !== "");
}

/** All plain spellings of a whole name (N2). `sortable` is "Last, First". */
export function nameSpellings(name: string, sortable?: string): ReadonlySet<string> {
  const turns = [nameWords(name), ...(sortable === undefined ? [] : [nameWords(sortable)])].flatMap((words) =>
    words.map((_, at) => [...words.slice(at), ...words.slice(0, at)]),
  );
  return new Set(turns.map((words) => plainName(words.join(""))).filter((spelling) => spelling !== ""));
}

/**
 * Counts the letters that a person's name shares with a given name. 0: the names contradict each other. null: no answer is possible,
 * because a name is missing or the names are in different scripts.
 *
 * Two names agree if one has all words of the other; an initial matches its word. A given name without spaces, as Canvas writes it, agrees
 * if it contains all words of the person's name.
 */
export function commonLetters(name: string, said: string): number | null {
  const [own, other] = [plainWords(name), plainWords(said)];
  if (own.length === 0 || other.length === 0) return null;
  if (isLatin(own.join("")) !== isLatin(other.join(""))) return null;
  const [few, many] = own.length <= other.length ? [own, other] : [other, own];
  const shared = wordsIn(few, many);
  if (shared > 0) return shared;
  const [only, ...more] = other;
  if (only === undefined || more.length > 0) return 0;
  let left = only;
  for (const word of [...own].sort((one, two) => two.length - one.length)) {
    if (!left.includes(word)) return 0;
    left = left.replace(word, " ");
  }
  return own.join("").length;
}

/** The words of a name, each in its plain spelling. */
export function plainWords(text: string): string[] {
  return nameWords(text)
    .map(plainName)
    .filter((word) => word !== "");
}

/** Counts the letters of `few` whose words all occur in `many`. 0: a word is missing, or there are only initials. */
function wordsIn(few: readonly string[], many: readonly string[]): number {
  const free = [...many];
  const take = (fits: (word: string) => boolean) => {
    const at = free.findIndex(fits);
    if (at >= 0) free.splice(at, 1);
    return at >= 0;
  };
  // Match whole words first, so that an initial does not use up a word.
  const missing = few.filter((word) => !take((one) => one === word));
  const whole = few.filter((word) => !missing.includes(word));
  const abbreviated = missing.every((word) =>
    take((one) => (one.length === 1 || word.length === 1) && one[0] === word[0] && isLatin(word)),
  );
  return abbreviated && whole.some((word) => word.length > 1 || !isLatin(word)) ? whole.join("").length : 0;
}

function isLatin(text: string): boolean {
  return /[\p{Script=Latin}\p{N}]/u.test(text);
}
