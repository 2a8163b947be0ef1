export { exportFindingCodes } from "./export/export-codes.ts";
export type { ExportedFile } from "./export/export-finding.ts";
export { type ExportTarget, exportGrades, exportTargets } from "./export/export-grades.ts";
export { fileNameOf } from "./export/file-name.ts";
export {
  formatPoints,
  type GradeRow,
  type GradeSheet,
  type RowStatus,
  statusOf,
} from "./grade-sheet.ts";
export { checkExport } from "./import-rules/check-export.ts";
export { classHtml } from "./report/class-report.ts";
export { feedbackText } from "./report/feedback-text.ts";
export { studentPdf } from "./report/load-student-pdf.ts";
export { studentHtml } from "./report/student-html.ts";
export { studentMarkdown } from "./report/student-markdown.ts";
export { reportFor, type StudentReport } from "./report/student-report.ts";
