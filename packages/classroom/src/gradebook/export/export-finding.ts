import type { ExportFindingCode } from "./export-codes.ts";

/**
 * A finding about an exported file. "error": no file is written. "left out": the file is written without a row or a student with a grade.
 * "warning": the file is complete, but the teacher should know about this. Lines count from 1; null: the file as a whole.
 */
export interface ExportFinding {
  readonly severity: "error" | "left out" | "warning";
  readonly code: ExportFindingCode;
  readonly message: string;
  readonly fix: string;
  readonly line: number | null;
}

export interface ExportedFile {
  readonly name: string;
  readonly text: string;
}

export type Exported =
  | {
      readonly ok: true;
      readonly files: readonly ExportedFile[];
      /** The number of rows that got a grade. */
      readonly written: number;
      readonly findings: readonly ExportFinding[];
    }
  | { readonly ok: false; readonly findings: readonly ExportFinding[] };

export function refused(findings: readonly ExportFinding[]): Exported {
  return { ok: false, findings };
}
