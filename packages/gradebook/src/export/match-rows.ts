// Which row of the teacher's file is whose. Keys first, names last, and a name only where it is one person's.
import type { GradeRow } from "../grade-sheet.ts";

export class RowsByStudent {
  readonly #byKey = new Map<string, GradeRow>();
  readonly #byName = new Map<string, GradeRow | null>();
  readonly #left: Set<GradeRow>;

  constructor(rows: readonly GradeRow[], keysOf: (row: GradeRow) => readonly (string | undefined)[]) {
    this.#left = new Set(rows);
    for (const row of rows) {
      for (const key of keysOf(row)) if (key !== undefined && key !== "") this.#byKey.set(key.toLowerCase(), row);
      const name = letters(row.student.name);
      this.#byName.set(name, this.#byName.has(name) ? null : row);
    }
  }

  find(keys: readonly string[], name: string): GradeRow | null {
    const keyed = keys.map((key) => this.#byKey.get(key.trim().toLowerCase())).find((row) => row !== undefined);
    const found = keyed ?? this.#byName.get(letters(name)) ?? null;
    if (found !== null) this.#left.delete(found);
    return found;
  }

  /** Who has a grade and no row in the teacher's file. */
  get left(): readonly GradeRow[] {
    return [...this.#left];
  }
}

/** "Lovelace, Ada" and "Ada Lovelace" are one name. */
function letters(name: string): string {
  const [last = "", first = ""] = name.includes(",") ? name.split(",", 2) : ["", name];
  return `${first} ${last}`
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "")
    .join(" ");
}
