/** Grades of people, from a table with a column for the student and one for each criterion (or the total). Pure. */
import { decodeText, readTable } from "@markmill/csv";
import type { GradeSheet } from "@markmill/gradebook";
import { type Agreement, agreement, type MarkPair, type Rubric, readPoints, stepOf } from "@markmill/grading";

export interface HumanGrades {
  /** By student key, points by criterion id; `total` is the whole. */
  readonly marks: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** Names in the table that nobody in the class has. */
  readonly unknown: readonly string[];
  readonly columns: readonly string[];
}

/** null: no column says who a student is, or none what they got. */
export function readHumanGrades(bytes: Uint8Array, sheet: GradeSheet): HumanGrades | null {
  const { rows } = readTable(decodeText(bytes).text);
  const [header, ...body] = rows;
  const heads = header?.cells.map(({ text }) => plain(text)) ?? [];
  const who = ["key", "id", "student id", "sid", "login", "email", "student", "name"]
    .map((word) => heads.indexOf(word))
    .filter((at) => at >= 0);
  const ids = new Map(
    sheet.criteria.flatMap(({ id, title }) => [[plain(id), id] as const, [plain(title), id] as const]),
  );
  for (const word of ["total", "grade", "points", "score"]) if (!ids.has(word)) ids.set(word, "total");
  const columns = heads.flatMap((head, at) =>
    ids.has(head) && !who.includes(at) ? [{ at, id: ids.get(head) ?? "" }] : [],
  );
  if (who.length === 0 || columns.length === 0) return null;
  const students = new Map<string, string>();
  for (const { student } of sheet.rows)
    for (const alias of [student.key, student.id, student.sisId, student.login, student.email, student.name])
      if (alias !== undefined) students.set(plain(alias), student.key);
  const marks = new Map<string, ReadonlyMap<string, number>>();
  const unknown: string[] = [];
  for (const { cells } of body) {
    const names = who.map((at) => cells[at]?.text.trim() ?? "").filter((text) => text !== "");
    if (names.length === 0) continue;
    const key = names.map((text) => students.get(plain(text))).find((one) => one !== undefined);
    if (key === undefined) {
      unknown.push(names[0] ?? "");
      continue;
    }
    const points = columns.flatMap(({ at, id }) => {
      const read = readPoints(cells[at]?.text ?? "");
      return read === null ? [] : [[id, read] as const];
    });
    marks.set(key, new Map(points));
  }
  return { marks, unknown, columns: columns.map(({ id }) => id) };
}

export interface AgreementRow {
  readonly criterion: string;
  readonly agreement: Agreement | null;
}

/** What the machine proposed beside what people gave; where nobody proposed anything there is nothing to compare. */
export function agreementRows(
  rubric: Rubric,
  proposals: ReadonlyMap<
    string,
    {
      readonly criteria: readonly { readonly id: string; readonly is: string; readonly points?: number }[];
      readonly points: number | null;
    }
  >,
  { marks }: HumanGrades,
): AgreementRow[] {
  const pairsOf = (id: string): MarkPair[] =>
    [...marks].flatMap(([key, own]) => {
      const human = own.get(id);
      const proposal = proposals.get(key);
      const ai = id === "total" ? proposal?.points : proposal?.criteria.find((one) => one.id === id)?.points;
      return human === undefined || ai === undefined || ai === null ? [] : [{ human, ai }];
    });
  const rows = rubric.criteria.map((criterion) => ({
    criterion: criterion.id,
    agreement: agreement(pairsOf(criterion.id), stepOf(criterion)),
  }));
  return [...rows, { criterion: "total", agreement: agreement(pairsOf("total"), 1) }].filter(
    (row) => row.agreement !== null,
  );
}

export function agreementTable(rows: readonly AgreementRow[]): string[] {
  const percent = (share: number) => `${Math.round(share * 100)} %`;
  const number = (value: number | null) => (value === null ? "–" : value.toFixed(2));
  const lines = [["criterion", "works", "exact", "≤1 step", "MAE", "r", "ICC", "leniency"]];
  for (const { criterion, agreement: found } of rows) {
    if (found === null) continue;
    const { pairs, exact, withinOneStep, mae, correlation, icc, leniency } = found;
    const sign = leniency > 0 ? "+" : "";
    lines.push([
      criterion.slice(0, 20),
      String(pairs),
      percent(exact),
      percent(withinOneStep),
      number(mae),
      number(correlation),
      number(icc),
      `${sign}${number(leniency)}`,
    ]);
  }
  const widths = (lines[0] ?? []).map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  return lines.map((line) =>
    line.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join("  "),
  );
}

function plain(text: string): string {
  return text.normalize("NFKC").trim().toLowerCase();
}
