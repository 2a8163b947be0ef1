/** What is wrong or doubtful in a definition: what, where, why, how to fix it, under a stable code. */
export interface Finding {
  readonly severity: "error" | "warning";
  readonly code: string;
  readonly message: string;
  readonly fix: string;
  readonly at: Place;
  /** The file it speaks of, where another source may have it. */
  readonly about?: string;
}

/** line and column start at 1; columns count UTF-16 units, as editors do. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}
