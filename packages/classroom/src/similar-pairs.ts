/**
 * Finds pairs of similar submissions for a person to compare; it never changes a grade. The fingerprints come from the core of Dolos. Its
 * parsers need a compiler at install time, so the tokens are our own: all names are one token, all numbers another and all texts a third,
 * so that renaming hides nothing.
 *
 * L1  A text is read once, whatever its content: a missing end is searched for once. Dolos' own pairs take time by the product of the
 *     common parts, so pairs are counted here, by the fingerprints of the smaller submission.
 * L2  The tokens of one submission, and the fingerprints looked up for all of them, are limited in number. Submissions that are therefore
 *     compared only in part are reported.
 */
import { File, type FileEntry, FingerprintIndex, Region, TokenizedFile } from "@dodona/dolos-core";

interface SimilarPair {
  readonly one: string;
  readonly other: string;
  /** The share of both submissions that they have in common, 0 to 1. */
  readonly similarity: number;
}

export interface SimilarWorks {
  readonly pairs: readonly SimilarPair[];
  /** Keys of submissions that were compared only in part, because they are too long or too many. */
  readonly partly: readonly string[];
}

export interface SimilarOptions {
  /** The template that all students received. It is not counted. */
  readonly template?: string;
  readonly above?: number;
  readonly most?: number;
  /** The number of fingerprints to look up for each submission. */
  readonly effort?: number;
}

/** The number of tokens per fingerprint, and of fingerprints per window: Dolos' defaults for programs of this size. */
const KGRAM = 15;
const WINDOW = 9;
const MOST_TOKENS = 50_000;
const EFFORT = 200_000;

/** Takes the program text of each submission, by key. */
export function similarPairs(works: ReadonlyMap<string, string>, options: SimilarOptions = {}): SimilarWorks {
  const { template, above = 0.5, most = 50, effort = EFFORT } = options;
  const index = new FingerprintIndex(KGRAM, WINDOW);
  const partly = new Set<string>();
  // Texts shorter than one fingerprint are left out, because such small texts are all alike.
  const files = [...works]
    .map(([key, text]) => {
      const { file, cut } = tokenized(key, text);
      if (cut) partly.add(key);
      return file;
    })
    .filter(({ tokens }) => tokens.length >= KGRAM + WINDOW);
  index.addFiles(files);
  // Added last, because it removes its fingerprints from the files that exist.
  if (template !== undefined) index.addIgnoredFile(tokenized("template", template).file);
  // The smallest first, so that a few very large submissions lose only their own pairs.
  const entries = index.entries().sort((one, other) => one.shared.size - other.shared.size);
  const pairs: SimilarPair[] = [];
  let left = effort * entries.length;
  for (const [at, large] of entries.entries()) {
    for (const small of entries.slice(0, at)) {
      left -= small.shared.size + 1;
      if (left < 0) {
        partly.add(large.file.path);
        break;
      }
      const similarity = similarityOf(small, large);
      if (similarity >= above) pairs.push(pairOf(small, large, similarity));
    }
  }
  pairs.sort(
    (one, other) => other.similarity - one.similarity || (one.one + one.other < other.one + other.other ? -1 : 1),
  );
  return { pairs: pairs.slice(0, most), partly: [...partly] };
}

function similarityOf(small: FileEntry, large: FileEntry): number {
  let covered = 0;
  for (const fingerprint of small.shared) {
    if (!large.shared.has(fingerprint)) continue;
    covered += fingerprint.occurrencesOf(small.file).length + fingerprint.occurrencesOf(large.file).length;
  }
  const all = [small, large].reduce((sum, { kgrams, ignored }) => sum + kgrams.length - ignored.size, 0);
  return all > 0 ? covered / all : 0;
}

/** Returns the pair with its keys in order. */
function pairOf(
  { file: { path: first } }: FileEntry,
  { file: { path: second } }: FileEntry,
  similarity: number,
): SimilarPair {
  return first < second ? { one: first, other: second, similarity } : { one: second, other: first, similarity };
}

const keywords = new Set(
  "if else for while do switch case return throw try catch new function class const let var import export in of def elif except lambda public private static void int string bool".split(
    " ",
  ),
);
const piece = /\/\/[^\n]*|#[^\n]*|\/\*|[\p{L}_$][\p{L}\p{N}_$]*|\d[\w.]*|[^\s\w]/gu;
const quoted = {
  '"': /"(?:\\.|[^"\\\n])*"/uy,
  "'": /'(?:\\.|[^'\\\n])*'/uy,
  "`": /`(?:\\.|[^`\\])*`/uy,
} as const;

/** Yields the kinds of tokens. The start of a comment or text without an end is an ordinary sign (L1). */
function* tokensOf(text: string): Generator<string> {
  const openUntil = { '"': 0, "'": 0, "`": 0, "/*": 0 };
  piece.lastIndex = 0;
  for (let found = piece.exec(text); found !== null; found = piece.exec(text)) {
    const [token] = found;
    const at = found.index;
    if (token === "/*") {
      const end = at < openUntil["/*"] ? -1 : text.indexOf("*/", at + 2);
      if (end < 0) {
        openUntil["/*"] = text.length;
        piece.lastIndex = at + 1;
        yield "/";
      } else piece.lastIndex = end + 2;
    } else if (token === '"' || token === "'" || token === "`") {
      const pattern = quoted[token];
      pattern.lastIndex = at;
      if (at >= openUntil[token] && pattern.test(text)) {
        piece.lastIndex = pattern.lastIndex;
        yield "text";
        continue;
      }
      const end = token === "`" ? -1 : text.indexOf("\n", at);
      if (at >= openUntil[token]) openUntil[token] = end < 0 ? text.length : end;
      yield token;
    } else if (/^(?:\/\/|#)/.test(token)) continue;
    else if (/^\d/.test(token)) yield "number";
    else if (/^[\p{L}_$]/u.test(token)) yield keywords.has(token) ? token : "name";
    else yield token;
  }
}

function tokenized(key: string, text: string): { readonly file: TokenizedFile; readonly cut: boolean } {
  const tokens: string[] = [];
  let cut = false;
  for (const token of tokensOf(text)) {
    cut = tokens.length === MOST_TOKENS;
    if (cut) break;
    tokens.push(token);
  }
  // The position of a token is not used, so all are at the top.
  const place = new Region(0, 0, 0, 1);
  const file = new TokenizedFile(
    new File(key, text),
    tokens,
    tokens.map(() => place),
  );
  return { file, cut };
}
