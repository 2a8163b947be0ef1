/**
 * Simulates Moodle's import of a grading worksheet: which rows it accepts, and which it silently skips. The code is independent of the
 * export, in order to check it.
 */
import { readTable } from "../../csv/read-table.ts";

export interface MoodleBook {
  readonly most: number;
  readonly rows: Readonly<Record<string, MoodleRow>>;
  /** The words of the site's language. */
  readonly words: {
    readonly identifier: string;
    readonly grade: string;
    readonly modified: string;
    readonly feedback: string;
  };
}

interface MoodleRow {
  readonly grade: number | null;
  readonly feedback: string;
  readonly locked: boolean;
  /** Seconds since 1970. 0: never graded. */
  readonly modified: number;
}

/** The worksheet's header in these languages. */
const languages = [
  {
    identifier: "Identifier",
    grade: "Grade",
    modified: "Last modified (grade)",
    feedback: "Feedback comments",
    most: "Maximum Grade",
    locked: "Grade can be changed",
  },
  {
    identifier: "ID",
    grade: "Bewertung",
    modified: "Zuletzt geändert (Bewertung)",
    feedback: "Feedback als Kommentar",
    most: "Bestwertung",
    locked: "Bewertung kann geändert werden",
  },
  {
    identifier: "Identificador",
    grade: "Calificación",
    modified: "Última modificación (calificación)",
    feedback: "Comentarios de retroalimentación",
    most: "Calificación máxima",
    locked: "La calificación puede cambiarse",
  },
  {
    identifier: "Identifiant",
    grade: "Note",
    modified: "Dernière modification (note)",
    feedback: "Feedback par commentaires",
    most: "Note maximale",
    locked: "La note peut être modifiée",
  },
];

/** The grades that a worksheet was made from. null: its language is not known here. */
export function moodleBook(file: string): MoodleBook | null {
  const [header = [], ...body] = readTable(file).rows.map((row) => row.cells.map((cell) => cell.text.trim()));
  const words = languages.find(({ identifier, grade, modified }) =>
    [identifier, grade, modified].every((word) => header.includes(word)),
  );
  if (words === undefined) return null;
  const cell = (row: readonly string[], word: string) => row[header.indexOf(word)] ?? "";
  const rows = Object.fromEntries(
    body.map((row) => [
      /(?<!\d)(\d+)$/.exec(cell(row, words.identifier))?.[1] ?? "",
      {
        grade: parse(cell(row, words.grade)),
        feedback: cell(row, words.feedback),
        locked: /^(?:no|nein|non)$/i.test(cell(row, words.locked)),
        modified: stamp(cell(row, words.modified)),
      },
    ]),
  );
  const most = Math.max(0, ...body.map((row) => parse(cell(row, words.most)) ?? 0));
  return { most: most === 0 ? Number.POSITIVE_INFINITY : most, rows, words };
}

export interface MoodleImport {
  readonly error: string | null;
  readonly updates: readonly { readonly id: string; readonly grade: number | null; readonly feedback: string | null }[];
  readonly skipped: readonly {
    readonly id: string;
    readonly why: "unknown" | "equal" | "empty" | "negative" | "above maximum" | "no number" | "locked" | "newer";
  }[];
  readonly after: MoodleBook;
}

export function importMoodle(book: MoodleBook, file: string, now: number, ignoreModified = false): MoodleImport {
  const [header = [], ...rows] = readTable(file).rows.map((row) => row.cells.map((cell) => cell.text));
  const place = (word: string) => header.findIndex((title) => title.trim() === word);
  const [idAt, gradeAt, modifiedAt, feedbackAt] = [
    place(book.words.identifier),
    place(book.words.grade),
    place(book.words.modified),
    place(book.words.feedback),
  ];
  if (idAt < 0 || gradeAt < 0 || modifiedAt < 0) {
    return { error: "The worksheet lacks a column", updates: [], skipped: [], after: book };
  }
  const updates: { id: string; grade: number | null; feedback: string | null }[] = [];
  const skipped: { id: string; why: MoodleImport["skipped"][number]["why"] }[] = [];
  const after: Record<string, MoodleRow> = { ...book.rows };
  for (const row of rows) {
    const id = /(?<!\d)(\d+)\s*$/.exec(row[idAt] ?? "")?.[1] ?? "";
    const known = book.rows[id];
    const why =
      known === undefined
        ? "unknown"
        : refusal(row[gradeAt] ?? "", known, book.most, stamp(row[modifiedAt] ?? ""), ignoreModified);
    if (known === undefined || why === "unknown") {
      skipped.push({ id, why: "unknown" });
      continue;
    }
    const feedback = feedbackAt < 0 ? null : (row[feedbackAt] ?? "");
    const newFeedback =
      feedback !== null && feedback !== "" && feedback !== known.feedback && (why === null || why === "equal")
        ? feedback
        : null;
    if (why !== null && newFeedback === null) {
      skipped.push({ id, why });
      continue;
    }
    const grade = why === null ? parse(row[gradeAt] ?? "") : null;
    updates.push({ id, grade, feedback: newFeedback });
    after[id] = { ...known, grade: grade ?? known.grade, feedback: newFeedback ?? known.feedback, modified: now };
  }
  return { error: null, updates, skipped, after: { ...book, rows: after } };
}

function refusal(
  text: string,
  known: MoodleRow,
  most: number,
  fileModified: number,
  ignoreModified: boolean,
): MoodleImport["skipped"][number]["why"] | null {
  const plain = text.trim();
  if (plain === "" || plain === "-") return "empty";
  const grade = parse(plain);
  if (grade === null) return "no number";
  if (known.grade !== null && Math.abs(known.grade - grade) < 0.000_05) return "equal";
  if (grade < 0) return "negative";
  if (grade > most) return "above maximum";
  if (known.locked) return "locked";
  // The grade was given more than a minute after the worksheet was downloaded.
  return !ignoreModified && known.modified > fileModified + 60 ? "newer" : null;
}

function parse(text: string): number | null {
  const plain = text.trim().replace(",", ".");
  return /^-?\d+(?:\.\d+)?$/.test(plain) ? Number(plain) : null;
}

function stamp(text: string): number {
  const at = Date.parse(text.trim());
  return Number.isNaN(at) ? 0 : Math.floor(at / 1000);
}
