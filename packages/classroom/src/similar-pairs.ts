/**
 * Works that look alike, as pairs for a person to look at; never a grade. Fingerprints are compared by the core of Dolos. Its parsers need
 * a compiler at install time, so tokens are our own: names, numbers and texts are one each, so that renaming hides nothing.
 */
import { File, FingerprintIndex, Region, TokenizedFile } from "@dodona/dolos-core";

export interface SimilarPair {
  readonly one: string;
  readonly other: string;
  /** Share of both that is in both, 0 to 1. */
  readonly similarity: number;
  /** Tokens of the longest piece in common. */
  readonly longest: number;
}

export interface SimilarOptions {
  /** What everybody was given: not counted. */
  readonly template?: string;
  readonly above?: number;
  readonly most?: number;
}

/** Tokens in a row that make a fingerprint, and such rows in a window, as Dolos has them by default for programs of this size. */
const KGRAM = 15;
const WINDOW = 9;
const MOST_TOKENS = 50_000;

/** By the key of each work, its program text. */
export function similarPairs(works: ReadonlyMap<string, string>, options: SimilarOptions = {}): SimilarPair[] {
  const { template, above = 0.5, most = 50 } = options;
  const index = new FingerprintIndex(KGRAM, WINDOW);
  // Shorter than one fingerprint: everything that small is alike.
  const files = [...works]
    .map(([key, text]) => tokenized(key, text))
    .filter(({ tokens }) => tokens.length >= KGRAM + WINDOW);
  index.addFiles(files);
  // After the others: it takes its fingerprints from those that are there.
  if (template !== undefined) index.addIgnoredFile(tokenized("template", template));
  return index
    .allPairs()
    .filter(({ similarity }) => similarity >= above)
    .map(({ leftFile, rightFile, similarity, longest }) => ({
      one: leftFile.path,
      other: rightFile.path,
      similarity,
      longest,
    }))
    .sort((one, other) => other.similarity - one.similarity || (one.one + one.other < other.one + other.other ? -1 : 1))
    .slice(0, most);
}

const keywords = new Set(
  "if else for while do switch case return throw try catch new function class const let var import export in of def elif except lambda public private static void int string bool".split(
    " ",
  ),
);
const piece =
  /\/\/[^\n]*|#[^\n]*|\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|[\p{L}_$][\p{L}\p{N}_$]*|\d[\w.]*|[^\s\w]/gu;

function tokenized(key: string, text: string): TokenizedFile {
  const tokens: string[] = [];
  for (const [token] of text.matchAll(piece)) {
    if (tokens.length === MOST_TOKENS) break;
    if (/^(?:\/\/|#|\/\*)/.test(token)) continue;
    if (/^["'`]/.test(token)) tokens.push("text");
    else if (/^\d/.test(token)) tokens.push("number");
    else if (/^[\p{L}_$]/u.test(token)) tokens.push(keywords.has(token) ? token : "name");
    else tokens.push(token);
  }
  // Where a piece stands is not asked for, so all stand at the top.
  const place = new Region(0, 0, 0, 1);
  return new TokenizedFile(
    new File(key, text),
    tokens,
    tokens.map(() => place),
  );
}
