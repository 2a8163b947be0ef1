import type { ExportFindingCode } from "./export-codes.ts";

/** What is wrong or worth knowing about a file that is handed over. Lines count from 1; null: the file as a whole. */
export interface ExportFinding {
  readonly severity: "error" | "warning";
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
      /** Rows that got a grade. */
      readonly written: number;
      readonly findings: readonly ExportFinding[];
    }
  | { readonly ok: false; readonly findings: readonly ExportFinding[] };

export function refused(findings: readonly ExportFinding[]): Exported {
  return { ok: false, findings };
}
