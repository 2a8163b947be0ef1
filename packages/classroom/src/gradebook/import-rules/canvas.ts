/**
 * Simulates Canvas' import of a gradebook file, from the rules of its importer. The code is independent of the export, in order to check
 * it. If an exported gradebook is imported again, nothing may change.
 */
import { readTable } from "../../csv/read-table.ts";

export interface CanvasBook {
  readonly students: readonly {
    readonly id: string;
    readonly sisId: string;
    readonly login: string;
    readonly name: string;
  }[];
  readonly assignments: readonly { readonly id: string; readonly title: string; readonly points: number | null }[];
  /** Scores by student id and assignment id, as text. EX means excused. */
  readonly scores: Readonly<Record<string, string>>;
}

export interface CanvasImport {
  readonly error: string | null;
  readonly newAssignments: readonly string[];
  readonly newStudents: readonly string[];
  readonly pointsChanged: readonly string[];
  readonly changes: readonly {
    readonly student: string;
    readonly assignment: string;
    readonly from: string;
    readonly to: string;
  }[];
  readonly after: CanvasBook;
}

export function importCanvas(book: CanvasBook, file: string): CanvasImport {
  const nothing = { newAssignments: [], newStudents: [], pointsChanged: [], changes: [], after: book };
  const text = file.replace(/^\ufeff/, "");
  const [header, ...rows] = readTable(text, guess(text)).rows.map((row) => row.cells.map((cell) => cell.text.trim()));
  if (header === undefined || header.length <= 3) return { ...nothing, error: "Invalid header row" };
  const split = /^last\s?name/i.test(header[0] ?? "");
  const idAt = split ? 2 : 1;
  if (!(split || header[0]?.includes("Student")) || !header[idAt]?.includes("ID")) {
    return { ...nothing, error: "Invalid header row" };
  }
  const order = ["SIS User ID", "SIS Login ID", "Integration ID", "Root Account"];
  let at = idAt + 1;
  const places: Record<string, number> = {};
  for (const name of order) {
    if (header[at] === name) {
      places[name] = at;
      at += 1;
    }
  }
  if (!header[at]?.includes("Section")) return { ...nothing, error: "Invalid header row" };
  const assignments = [...book.assignments];
  const newAssignments: string[] = [];
  const columns: { readonly index: number; readonly id: string }[] = [];
  const isTotal =
    /^(?:.*\s)?(?:Current|Final|Unposted Current|Unposted Final|Override) (?:Score|Grade|Points|Status)$/i;
  for (let index = at + 1; index < header.length; index += 1) {
    const title = header[index] ?? "";
    if (title === "" || isTotal.test(title) || /\(read only\)/i.test(title)) continue;
    const id = /\((\d+)\)\s*$/.exec(title)?.[1];
    const known = assignments.find((one) => one.id === id) ?? assignments.find((one) => one.title === title);
    if (known === undefined) {
      newAssignments.push(title);
      const made = { id: `new-${title}`, title, points: null };
      assignments.push(made);
      columns.push({ index, id: made.id });
    } else columns.push({ index, id: known.id });
  }
  const pointsChanged: string[] = [];
  const newStudents: string[] = [];
  const scores: Record<string, string> = { ...book.scores };
  const changes: { student: string; assignment: string; from: string; to: string }[] = [];
  for (const row of rows) {
    const name = split ? `${row[0]}, ${row[1]}` : (row[0] ?? "");
    if (/Points Possible/.test(row[0] ?? "")) {
      for (const { index, id } of columns) {
        const wanted = number(row[index] ?? "");
        const place = assignments.findIndex((one) => one.id === id);
        const before = assignments[place];
        if (wanted === null || before === undefined || before.points === wanted) continue;
        pointsChanged.push(before.title);
        assignments[place] = { ...before, points: wanted };
      }
      continue;
    }
    if (
      row.every((cell) => cell === "") ||
      /^\s*(?:Muted|Manual Posting)/.test(row.slice(at + 1).find((cell) => cell !== "") ?? "")
    )
      continue;
    const cell = (column: string) => (places[column] === undefined ? "" : (row[places[column]] ?? ""));
    const student =
      book.students.find((one) => row[idAt] !== "" && one.id === row[idAt]) ??
      book.students.find((one) => cell("SIS User ID") !== "" && one.sisId === cell("SIS User ID")) ??
      book.students.find((one) => cell("SIS Login ID") !== "" && one.login === cell("SIS Login ID")) ??
      book.students.find((one) => one.name === name);
    if (student === undefined) {
      newStudents.push(name);
      continue;
    }
    for (const { index, id } of columns) {
      const place = `${student.id}/${id}`;
      const from = scores[place] ?? "";
      const to = score(row[index] ?? "");
      if (from === to) continue;
      changes.push({ student: student.id, assignment: id, from, to });
      scores[place] = to;
    }
  }
  return { error: null, newAssignments, newStudents, pointsChanged, changes, after: { ...book, assignments, scores } };
}

/** Reads a gradebook from an exported file. */
export function canvasBook(file: string): CanvasBook {
  const text = file.replace(/^\ufeff/, "");
  const [header = [], ...rows] = readTable(text, guess(text)).rows.map((row) =>
    row.cells.map((cell) => cell.text.trim()),
  );
  const section = header.findIndex((title) => title.includes("Section"));
  const columns = header.flatMap((title, index) => {
    const [, name = "", id] = /^(.*)\s\((\d+)\)$/s.exec(title) ?? [];
    return index > section && id !== undefined ? [{ index, id, title: name }] : [];
  });
  const points = rows.find((row) => /Points Possible/.test(row[0] ?? ""));
  const people = rows.filter((row) => row !== points && row[1] !== "" && row[1] !== undefined);
  const scores: Record<string, string> = {};
  for (const row of people)
    for (const { index, id } of columns)
      if ((row[index] ?? "") !== "") scores[`${row[1]}/${id}`] = score(row[index] ?? "");
  return {
    students: people.map((row) => ({
      id: row[1] ?? "",
      sisId: row[header.indexOf("SIS User ID")] ?? "",
      login: row[header.indexOf("SIS Login ID")] ?? "",
      name: row[0] ?? "",
    })),
    assignments: columns.map(({ index, id, title }) => ({ id, title, points: number(points?.[index] ?? "") })),
    scores,
  };
}

/** Semicolon or comma: the more frequent one in the first three lines. */
function guess(text: string): "," | ";" {
  const lines = text.split("\n", 3).join("");
  return lines.split(";").length > lines.split(",").length ? ";" : ",";
}

function number(text: string): number | null {
  const plain = text.trim().replace(/^(-?\d+),(\d+)$/, "$1.$2");
  return /^-?\d+(?:\.\d+)?$/.test(plain) ? Number(plain) : null;
}

/** Scores are compared at two decimals. */
function score(text: string): string {
  if (/^ex$/i.test(text.trim())) return "EX";
  const value = number(text);
  return value === null ? text.trim() : value.toFixed(2);
}
