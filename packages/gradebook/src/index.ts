export type { Exported, ExportedFile, ExportFinding } from "./export/export-finding.ts";
export { type ExportTarget, exportGrades, exportTargets } from "./export/export-grades.ts";
export { fileNameOf } from "./export/file-name.ts";
export type { CanvasOptions } from "./export/to-canvas.ts";
export { type GradedStudent, type GradeRow, type GradeSheet, statusOf } from "./grade-sheet.ts";
export { checkExport, type ExportCheck } from "./import-rules/check-export.ts";
export { type ClassReportInput, classHtml } from "./report/class-report.ts";
export {
  type ReportInput,
  reportFor,
  type StudentReport,
  studentHtml,
  studentMarkdown,
} from "./report/student-report.ts";
