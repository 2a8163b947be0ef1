/** One thing wrong with a file the user wrote: where, what and why, and how to put it right. */
export interface Finding {
  readonly code: string;
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  readonly message: string;
  readonly fix: string;
}

export function formatFinding(finding: Finding): string {
  const { file, line, column, code, message, fix } = finding;
  return `${file}:${line}:${column}: ${code}: ${message} ${fix}`;
}
