/** One error in a file that the user wrote: position, code, message, and how to fix it. */
export interface Finding {
  readonly code: string;
  readonly file: string;
  /** The line, counted from 1. */
  readonly line: number;
  /** The column, counted from 1. */
  readonly column: number;
  readonly message: string;
  readonly fix: string;
}

export function formatFinding(finding: Finding): string {
  const { file, line, column, code, message, fix } = finding;
  return `${file}:${line}:${column}: ${code}: ${message} ${fix}`;
}
