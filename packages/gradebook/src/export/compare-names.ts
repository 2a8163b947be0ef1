/** Compares two spellings of a person's name, as two systems write it. Pure. */

export type NameComparison = "same" | "differ" | "unknown";

/**
 * "same": one spelling has all words of the other, in any order ("Lovelace, Ada", "Ada King Lovelace"); an initial stands for its
 * word. "unknown": a name is missing, or the two share no script, so nothing can be said.
 */
export function compareNames(one: string, other: string): NameComparison {
  const [left, right] = [nameWords(one), nameWords(other)];
  if (left.length === 0 || right.length === 0) return "unknown";
  if (left.join(" ") === right.join(" ")) return "same";
  const scripts = scriptsOf(right);
  if (![...scriptsOf(left)].some((script) => scripts.has(script))) return "unknown";
  const [few, many] = left.length <= right.length ? [left, right] : [right, left];
  const free = [...many];
  // Whole words first, so that an initial does not take the place of a word.
  const initials = few.filter((word) => !take(free, (candidate) => candidate === word));
  const missing = initials.filter(
    (word) => !take(free, (candidate) => (word.length === 1 || candidate.length === 1) && candidate[0] === word[0]),
  );
  // One initial alone says too little to agree.
  return missing.length === 0 && few.some((word) => word.length > 1 || scriptsOf([word]).has("other"))
    ? "same"
    : "differ";
}

/** Words without case, accents and order: "Lovelace, Ada" and "Ada Lovelace" have the same. */
export function nameWords(name: string): readonly string[] {
  return name
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll("ß", "ss")
    .replaceAll(/[øö]|oe/g, "o")
    .replaceAll(/æ|ae/g, "a")
    .replaceAll("ue", "u")
    .replaceAll("ł", "l")
    .replaceAll(/['’`]/g, "")
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "")
    .sort();
}

function scriptsOf(words: readonly string[]): Set<"latin" | "other"> {
  const text = words.join("");
  return new Set([
    ...(/[\p{Script=Latin}\p{N}]/u.test(text) ? (["latin"] as const) : []),
    ...(/(?![\p{Script=Latin}\p{N}])\p{L}/u.test(text) ? (["other"] as const) : []),
  ]);
}

function take(from: string[], fits: (word: string) => boolean): boolean {
  const at = from.findIndex(fits);
  if (at >= 0) from.splice(at, 1);
  return at >= 0;
}
