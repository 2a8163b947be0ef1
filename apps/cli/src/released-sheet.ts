/** Of a class only what was given out, as it was given out. Pure. */
import type { GradeSheet } from "@markmill/gradebook";
import type { ClassSheet } from "@markmill/stack";

/** `changed`: students whose grade is another one since its release. Nobody has released the new one, so neither is handed over. */
export function releasedSheet({ sheet, works }: ClassSheet): {
  readonly sheet: GradeSheet;
  readonly changed: readonly string[];
} {
  const changed: string[] = [];
  const rows = sheet.rows.map((row) => {
    if (row.grade === null) return row;
    const released = works.get(row.student.key)?.grade?.released ?? null;
    if (released !== null && released.total === row.grade.total) return row;
    if (released !== null) changed.push(row.student.name);
    return { ...row, grade: null, open: true as const, feedback: "" };
  });
  return { sheet: { ...sheet, rows }, changed };
}
