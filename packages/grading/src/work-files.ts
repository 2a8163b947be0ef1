/** The text of a work, as evidence is looked up in it. */
export interface WorkFiles {
  readonly paths: readonly string[];
  /** null: there is no such file, or it is no text. */
  readonly linesOf: (path: string) => readonly string[] | null;
}

export function workFiles(texts: ReadonlyMap<string, string> | Readonly<Record<string, string>>): WorkFiles {
  const known = texts instanceof Map ? texts : new Map(Object.entries(texts));
  const split = new Map<string, readonly string[]>();
  return {
    paths: [...known.keys()],
    linesOf: (path) => {
      const text = known.get(path);
      if (text === undefined) return null;
      const lines = split.get(path) ?? text.split(/\r\n|\n|\r/);
      split.set(path, lines);
      return lines;
    },
  };
}
