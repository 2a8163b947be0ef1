/** A mistake or a doubt in a definition: what, where, why and how to fix it, with a stable code. */
export interface Finding {
  readonly severity: "error" | "warning";
  readonly code: string;
  readonly message: string;
  readonly fix: string;
  readonly at: Place;
  /** The file that is missing, if another source may provide it. */
  readonly about?: string;
}

/** line and column start at 1. Columns count UTF-16 units, as editors do. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}
