/**
 * Works that look alike, as pairs for a person to look at; never a grade. Fingerprints are those of the core of Dolos. Its parsers need
 * a compiler at install time, so tokens are our own: names, numbers and texts are one each, so that renaming hides nothing.
 *
 * L1  A text is read once, whatever is in it: what has no end is looked for once. Dolos' own pairs take time by the product of what two works have
 *     in common, so pairs are counted here, by the fingerprints of the smaller work.
 * L2  Tokens of a work, and what is looked up for all of them, are capped by their number. Works that are thereby compared in part only are told.
 */
import { File, type FileEntry, FingerprintIndex, Region, TokenizedFile } from "@dodona/dolos-core";

interface SimilarPair {
  readonly one: string;
  readonly other: string;
  /** Share of both that is in both, 0 to 1. */
  readonly similarity: number;
}

export interface SimilarWorks {
  readonly pairs: readonly SimilarPair[];
  /** Keys of works that are too long, or of which there are too many, to be compared as a whole and with all others. */
  readonly partly: readonly string[];
}

export interface SimilarOptions {
  /** What everybody was given: not counted. */
  readonly template?: string;
  readonly above?: number;
  readonly most?: number;
  /** Fingerprints that are looked up, for each work there is. */
  readonly effort?: number;
}

/** Tokens in a row that make a fingerprint, and such rows in a window, as Dolos has them by default for programs of this size. */
const KGRAM = 15;
const WINDOW = 9;
const MOST_TOKENS = 50_000;
const EFFORT = 200_000;

/** By the key of each work, its program text. */
export function similarPairs(works: ReadonlyMap<string, string>, options: SimilarOptions = {}): SimilarWorks {
  const { template, above = 0.5, most = 50, effort = EFFORT } = options;
  const index = new FingerprintIndex(KGRAM, WINDOW);
  const partly = new Set<string>();
  // Shorter than one fingerprint: everything that small is alike.
  const files = [...works]
    .map(([key, text]) => {
      const { file, cut } = tokenized(key, text);
      if (cut) partly.add(key);
      return file;
    })
    .filter(({ tokens }) => tokens.length >= KGRAM + WINDOW);
  index.addFiles(files);
  // After the others: it takes its fingerprints from those that are there.
  if (template !== undefined) index.addIgnoredFile(tokenized("template", template).file);
  // The smallest first: a few that are very large leave out pairs of their own, and of nobody else.
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

/** In the order of their keys. */
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

/** Kinds of tokens in a row. What begins like a comment or a text and has no end is a sign like any other (L1). */
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
  // Where a piece stands is not asked for, so all stand at the top.
  const place = new Region(0, 0, 0, 1);
  const file = new TokenizedFile(
    new File(key, text),
    tokens,
    tokens.map(() => place),
  );
  return { file, cut };
}
