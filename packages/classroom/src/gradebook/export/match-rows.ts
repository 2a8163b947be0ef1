/**
 * Decides which row of the platform's file belongs to which student, by the rules of the intake (`People` in packages/grading, P1 to P6).
 *
 * M1  Every kind of key has its own namespace. A login never matches an id, and a participant number never matches an ID number.
 * M2  A match needs one equal key. The name must not contradict it, and no other key of the row may belong to another student.
 * M3  A row with two possible students, or a student with two possible rows, is not decided: all of them are left out and named.
 * M4  A name alone decides only if one student and one row have it, and no key that both sides have differs.
 * M5  A row that fits only the names of students who have other rows belongs to no student of the class: platforms also list other people
 *     with equal names.
 *
 * The result does not depend on the order of rows or students. Pure.
 */
import { type Clue, type Identified, People, plainKey } from "@markmill/grading";
import type { GradeRow } from "../grade-sheet.ts";

const keyKinds = ["participant", "id", "sisId", "login", "email"] as const;
export type KeyKind = (typeof keyKinds)[number];
export type RowKeys = Readonly<Partial<Record<KeyKind, string>>>;

export interface TemplateRow {
  readonly line: number;
  readonly name: string;
  readonly keys: RowKeys;
}

/** Why a row gets no grade although it may belong to a student. */
export type RowDoubt =
  /** See M3 in the file header. */
  | { readonly is: "several students"; readonly students: readonly GradeRow[] }
  /** M3: `lines` contains the numbers of all lines that may belong to this student. */
  | { readonly is: "several rows"; readonly student: GradeRow; readonly lines: readonly number[] }
  /** See M2 in the file header. */
  | { readonly is: "other name"; readonly student: GradeRow }
  /** See M4 in the file header. */
  | { readonly is: "other key"; readonly student: GradeRow; readonly kind: KeyKind };

type RowMatch =
  | { readonly is: "matched"; readonly student: GradeRow }
  | { readonly is: "doubtful"; readonly doubt: RowDoubt }
  | { readonly is: "nobody" };

export interface RowMatches {
  /** The match of each row, by its index. */
  readonly rows: readonly RowMatch[];
  /** Students without a row and without a doubtful one. */
  readonly left: readonly GradeRow[];
}

/**
 * A roster often has one number, and it is unknown which of the platform's numbers it is. `alsoId` names the other kind that a student's id
 * may be. The whole file decides (see kindsOfId). A student with a key of that kind shows that the roster distinguishes the two.
 */
export function matchRows(
  students: readonly GradeRow[],
  template: readonly TemplateRow[],
  { alsoId }: { readonly alsoId?: KeyKind } = {},
): RowMatches {
  const rowOf = new Map(students.map((row) => [row.student, row]));
  const people = new People(students.map(({ student }) => student));
  const idKinds = kindsOfId(people, students, template, alsoId);
  const clues = template.map((row) => clueOf(row, idKinds));
  const found = people.findAll(clues);
  const placesOf = new Map<Student, number[]>();
  for (const [at, one] of found.entries())
    for (const student of keyed(one)) placesOf.set(student, [...(placesOf.get(student) ?? []), at]);
  const toRow = (student: Student) => rowOf.get(student) as GradeRow;
  const doubtful = (doubt: RowDoubt): RowMatch => ({ is: "doubtful", doubt });
  const severalStudents = (all: readonly Student[]) => doubtful({ is: "several students", students: all.map(toRow) });
  const severalRows = (student: Student, places: readonly number[]) =>
    doubtful({ is: "several rows", student: toRow(student), lines: places.map((at) => template[at]?.line ?? 0) });
  const named = placesByName(people, template);

  /** See M4 and M5 in the file header. */
  const byName = (clue: RowClue, among: readonly Student[]): RowMatch => {
    const free = among.filter((student) => !placesOf.has(student));
    const kinds = free.map((student) => differingKind(student, clue));
    const [only, ...more] = free;
    if (only === undefined) return { is: "nobody" };
    if (kinds.every((kind) => kind !== null)) {
      const [kind] = kinds as KeyKind[];
      if (more.length > 0 || kind === undefined) return { is: "nobody" };
      return doubtful({ is: "other key", student: toRow(only), kind });
    }
    return among.length > 1 ? severalStudents(among) : severalRows(only, named.get(only) ?? []);
  };
  const matchOf = (one: Identified<Student>, at: number, clue: RowClue): RowMatch => {
    if (one.is === "nobody") return one;
    if (one.is === "one") {
      const places = [...new Set([...(placesOf.get(one.who) ?? []), at])];
      return places.length > 1 ? severalRows(one.who, places) : { is: "matched", student: toRow(one.who) };
    }
    const [first] = one.among;
    switch (one.why) {
      case "keys differ":
        return severalStudents(one.among);
      case "name differs":
        // `People` lists the student with the key first.
        return first === undefined ? { is: "nobody" } : doubtful({ is: "other name", student: toRow(first) });
      case "namesakes":
      case "another key":
      case "matched already":
        return byName(clue, one.among);
    }
  };
  const rows = found.map((one, at) => matchOf(one, at, clues[at] ?? { keys: [], name: "" }));
  const mentioned = new Set(rows.flatMap((row) => studentsOf(row)));
  return { rows, left: students.filter((one) => !mentioned.has(one)) };
}

type Student = GradeRow["student"];
type IdKinds = readonly KeyKind[];

/** Each cell with the kinds of a student's key that it may be. */
function clueOf({ keys, name }: TemplateRow, idKinds: IdKinds): RowClue {
  return {
    name,
    keys: keyKinds.flatMap((cell): RowClue["keys"] => {
      const kinds = [...(cell === "id" ? [] : [cell]), ...(idKinds.includes(cell) ? (["id"] as const) : [])];
      return given(keys[cell]) && kinds.length > 0 ? [{ cell, kinds, text: keys[cell] ?? "" }] : [];
    }),
  };
}

interface RowClue extends Clue {
  /** `cell` is the kind of key that the platform's column contains. */
  readonly keys: readonly { readonly cell: KeyKind; readonly kinds: readonly KeyKind[]; readonly text: string }[];
}

/** Students to whom the row may belong by a key (M3). */
function keyed(one: Identified<Student>): readonly Student[] {
  if (one.is === "one") return one.by === "key" ? [one.who] : [];
  return one.is === "question" && one.why === "keys differ" ? one.among : [];
}

function placesByName(people: People<Student>, template: readonly TemplateRow[]): ReadonlyMap<Student, number[]> {
  const places = new Map<Student, number[]>();
  for (const [at, { name }] of template.entries())
    for (const student of people.named(name)) places.set(student, [...(places.get(student) ?? []), at]);
  return places;
}

function studentsOf(row: RowMatch): readonly GradeRow[] {
  if (row.is === "nobody") return [];
  if (row.is === "matched") return [row.student];
  return row.doubt.is === "several students" ? row.doubt.students : [row.doubt.student];
}

/** The kind whose keys find more students. If both find the same number, either is possible, and both are compared. */
function kindsOfId(
  people: People<Student>,
  students: readonly GradeRow[],
  template: readonly TemplateRow[],
  alsoId: KeyKind | undefined,
): IdKinds {
  if (alsoId === undefined || students.some(({ student }) => given(student[alsoId]))) return ["id"];
  const agreeing = (kind: KeyKind) =>
    template.filter(({ keys, name }) => {
      const one = people.find({ keys: [{ kinds: ["id"], text: keys[kind] ?? "" }], name });
      return one.is === "one" && one.by === "key";
    }).length;
  const [own, also] = [agreeing("id"), agreeing(alsoId)];
  if (own === also) return ["id", alsoId];
  return own > also ? ["id"] : [alsoId];
}

/** The first kind of key that both the row and the student have and that differs. null: none. */
function differingKind(student: Student, { keys }: RowClue): KeyKind | null {
  for (const { cell, kinds, text } of keys) {
    const own = kinds.flatMap((kind) => (given(student[kind]) ? (student[kind] ?? []) : []));
    if (own.length > 0 && !own.some((one) => plainKey(one) === plainKey(text))) return cell;
  }
  return null;
}

function given(text: string | undefined): boolean {
  return text !== undefined && plainKey(text) !== "";
}
