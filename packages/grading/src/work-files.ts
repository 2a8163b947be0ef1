import { stripWords } from "./strip-words.ts";

/** The text of a submission in which evidence is looked up. */
export interface WorkFiles {
  readonly paths: readonly string[];
  /** Returns null if the file does not exist or is not text. */
  readonly linesOf: (path: string) => readonly string[] | null;
  /** The same lines with comments blanked. Prose beside a program counts as a comment on it. A submission of prose alone stays as it is. */
  readonly codeOf: (path: string) => readonly string[] | null;
}

/** `pathOf` returns the submitted name of a file, by which its language is recognised. */
export function workFiles(
  texts: ReadonlyMap<string, string> | Readonly<Record<string, string>>,
  origins: ReadonlyMap<string, string> = new Map(),
): WorkFiles {
  const pathOf = (name: string) => origins.get(name) ?? name;
  const known = texts instanceof Map ? texts : new Map(Object.entries(texts));
  const split = new Map<string, readonly string[]>();
  const code = new Map<string, readonly string[]>();
  let programs: boolean | null = null;
  return {
    paths: [...known.keys()],
    linesOf: (path) => {
      const text = known.get(path);
      if (text === undefined) return null;
      const lines = split.get(path) ?? text.split(/\r\n|\n|\r/);
      split.set(path, lines);
      return lines;
    },
    codeOf: (path) => {
      const text = known.get(path);
      if (text === undefined) return null;
      const found = code.get(path);
      if (found !== undefined) return found;
      programs ??= [...known.keys()].some((name) => !stripWords(pathOf(name), "").prose);
      const stripped = stripWords(pathOf(path), text);
      const kept = stripped.prose && !programs ? text : stripped.code;
      const lines = kept.split(/\r\n|\n|\r/);
      code.set(path, lines);
      return lines;
    },
  };
}
