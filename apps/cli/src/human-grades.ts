/**
 * Reads grades by people from a table with columns for the student and for each criterion (or the total). Pure.
 *
 * H1  Columns are read as those of a roster, and rows are matched to students by the rules of the intake (`People`, P1 to P6).
 * H2  A student with two rows is a question: it is unknown which of them counts.
 */
import { readPeople } from "@markmill/classroom";
import { decodeText, readTable } from "@markmill/classroom/csv";
import type { GradeSheet } from "@markmill/classroom/gradebook";
import {
  type Agreement,
  agreement,
  doubtTexts,
  type MarkPair,
  People,
  plainKey,
  type Rubric,
  readPoints,
  scalePoints,
  spellingsOf,
  stepOf,
} from "@markmill/grading";

export interface HumanGrades {
  /** By student key, and then by criterion id: the points. The id `total` is the whole. */
  readonly marks: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** Names in the table that match no student of the class. */
  readonly unknown: readonly string[];
  /** Rows that may belong to these students and were left out. */
  readonly doubtful: readonly DoubtfulRow[];
  readonly columns: readonly string[];
}

interface DoubtfulRow {
  readonly line: number;
  /** As written in the table. */
  readonly name: string;
  /** Keys of students. */
  readonly among: readonly string[];
  readonly why: string;
}

/** null: no column identifies students, or no column has points. */
export function readHumanGrades(bytes: Uint8Array, sheet: GradeSheet): HumanGrades | null {
  const { rows } = readTable(decodeText(bytes).text);
  const heads = rows[0]?.cells.map(({ text }) => plain(text)) ?? [];
  const { people, columns: who } = readPeople(rows);
  const keyAt = heads.indexOf("key");
  const ids = new Map(
    sheet.criteria.flatMap(({ id, title }) => [[plain(id), id] as const, [plain(title), id] as const]),
  );
  for (const word of ["total", "grade", "points", "score"]) if (!ids.has(word)) ids.set(word, "total");
  const columns = heads.flatMap((head, at) =>
    ids.has(head) && !who.has(at) && at !== keyAt ? [{ at, id: ids.get(head) ?? "" }] : [],
  );
  if ((who.size === 0 && keyAt < 0) || columns.length === 0) return null;
  const students = sheet.rows.map(({ student }) => student);
  // If the class has no ids, teachers use its keys as ids.
  const idKinds = students.some(({ id }) => id !== undefined) ? (["id"] as const) : (["id", "key"] as const);
  const everybody = new People(students);
  // A column "student" may contain names or keys.
  const studentAt = heads.indexOf("student");
  const keys = new Set(students.map((student) => plainKey(student.key)));
  const told = people.flatMap(({ row, person }) => {
    const { id = "", participant = "", sisId = "", login = "", email = "" } = person;
    const student = row.cells[studentAt]?.text.trim() ?? "";
    const key = row.cells[keyAt]?.text.trim() || (keys.has(plainKey(student)) ? student : "");
    const isKey = student !== "" && key === student && everybody.named(student).length === 0;
    const isNamed = !isKey && spellingsOf({ key: "", ...person }).size > 0;
    const name = isNamed ? (person.sortableName ?? person.name) : "";
    const clue = {
      keys: [
        { kinds: ["key"] as const, text: key },
        { kinds: idKinds, text: id },
        { kinds: ["participant"] as const, text: participant },
        { kinds: ["sisId"] as const, text: sisId },
        { kinds: ["login"] as const, text: login },
        { kinds: ["email"] as const, text: email },
      ],
      name,
    };
    const called = [key, id, participant, login, email, sisId, name].find((text) => text !== "");
    return called === undefined ? [] : [{ row, clue, called }];
  });
  const found = everybody.findAll(told.map(({ clue }) => clue));
  const linesOf = new Map<string, number[]>();
  for (const [at, one] of found.entries())
    if (one.is === "one") linesOf.set(one.who.key, [...(linesOf.get(one.who.key) ?? []), told[at]?.row.line ?? 0]);
  const marks = new Map<string, ReadonlyMap<string, number>>();
  const unknown: string[] = [];
  const doubtful: DoubtfulRow[] = [];
  for (const [at, { row, called }] of told.entries()) {
    const one = found[at] ?? { is: "nobody" };
    if (one.is === "nobody") {
      unknown.push(called);
      continue;
    }
    if (one.is === "question") {
      const among = one.among.map(({ key }) => key);
      doubtful.push({ line: row.line, name: called, among, why: doubtTexts[one.why] });
      continue;
    }
    const lines = linesOf.get(one.who.key) ?? [];
    if (lines.length > 1) {
      const why = `the student has several rows: lines ${lines.join(", ")}`;
      doubtful.push({ line: row.line, name: called, among: [one.who.key], why });
      continue;
    }
    const points = columns.flatMap(({ at: cell, id }) => {
      const read = readPoints(row.cells[cell]?.text ?? "");
      return read === null ? [] : [[id, read] as const];
    });
    marks.set(one.who.key, new Map(points));
  }
  return { marks, unknown, doubtful, columns: columns.map(({ id }) => id) };
}

export interface AgreementRow {
  readonly criterion: string;
  readonly agreement: Agreement | null;
}

/** Compares the machine's proposals with people's grades. Without a proposal there is nothing to compare. */
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
  const number = (value: number | null) => (value === null ? "–" : scalePoints(value, 1, 1, 2).toFixed(2));
  const lines = [["criterion", "submissions", "exact", "≤1 step", "MAE", "r", "ICC", "leniency"]];
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
