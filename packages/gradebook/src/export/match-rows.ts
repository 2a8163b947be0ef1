/**
 * Decides which row of the platform's file belongs to which student.
 *
 * M1  Every kind of key has its own namespace. A login never matches an id, and a participant number never matches an ID number.
 * M2  A match needs one equal key, and the names must not contradict it.
 * M3  A row with two possible students, or a student with two possible rows, is not decided: all of them are left out and named.
 * M4  A name alone decides only when it is one student's and one row's, and no key that both sides have differs.
 *
 * The result does not depend on the order of rows or students. Pure.
 */
import type { GradeRow } from "../grade-sheet.ts";
import { compareNames, nameWords } from "./compare-names.ts";

const keyKinds = ["participant", "id", "sisId", "login", "email"] as const;
export type KeyKind = (typeof keyKinds)[number];
export type RowKeys = Readonly<Partial<Record<KeyKind, string>>>;

export interface TemplateRow {
  readonly line: number;
  readonly name: string;
  readonly keys: RowKeys;
}

/** Why a row gets no grade although a student may belong to it. */
export type RowDoubt =
  /** M3. */
  | { readonly is: "several students"; readonly students: readonly GradeRow[] }
  /** M3: `lines` has the lines of all rows that may be this student's. */
  | { readonly is: "several rows"; readonly student: GradeRow; readonly lines: readonly number[] }
  /** M2. */
  | { readonly is: "other name"; readonly student: GradeRow }
  /** M4. */
  | { readonly is: "other key"; readonly student: GradeRow; readonly kind: KeyKind };

type RowMatch =
  | { readonly is: "matched"; readonly student: GradeRow }
  | { readonly is: "doubtful"; readonly doubt: RowDoubt }
  | { readonly is: "nobody" };

export interface RowMatches {
  /** By the row's place in what was given. */
  readonly rows: readonly RowMatch[];
  /** Students with no row, and with no doubt about one. */
  readonly left: readonly GradeRow[];
}

/**
 * A roster often has one number and does not say which of the platform's it is: `alsoId` names the other kind that a student's id may
 * be. The whole file decides (see kindsOfId); it is not asked where a student has a key of that kind.
 */
export function matchRows(
  students: readonly GradeRow[],
  template: readonly TemplateRow[],
  { alsoId }: { readonly alsoId?: KeyKind } = {},
): RowMatches {
  const idKinds = kindsOfId(students, template, alsoId);
  const comparable = (student: GradeRow["student"]): readonly (readonly [KeyKind, string])[] =>
    keyKinds
      .flatMap((kind): (readonly [KeyKind, string | undefined])[] =>
        kind === "id" ? idKinds.map((one) => [one, student.id] as const) : [[kind, student[kind]]],
      )
      .flatMap(([kind, key]) => (key !== undefined && given(key) ? [[kind, plainKey(key)] as const] : []));
  const index = new Map<string, GradeRow[]>();
  const names = new Map<string, GradeRow[]>();
  for (const row of students) {
    for (const [kind, key] of comparable(row.student)) push(index, `${kind} ${key}`, row);
    const name = nameWords(nameOf(row)).join(" ");
    if (name !== "") push(names, name, row);
  }
  // M1, M2: keys first, for all rows, so that the order of rows decides nothing.
  const keyed = template.map(({ keys, name }) => {
    const found = keyKinds.flatMap((kind) => index.get(`${kind} ${plainKey(keys[kind] ?? "")}`) ?? []);
    const candidates = [...new Set(found)];
    return {
      agreed: candidates.filter((one) => compareNames(nameOf(one), name) !== "differ"),
      differ: candidates.filter((one) => compareNames(nameOf(one), name) === "differ"),
    };
  });
  const rowsOf = new Map<GradeRow, number[]>();
  for (const [at, { agreed }] of keyed.entries())
    for (const one of agreed) rowsOf.set(one, [...(rowsOf.get(one) ?? []), at]);
  const rowNames = new Map<string, number>();
  for (const { name } of template) {
    const words = nameWords(name).join(" ");
    rowNames.set(words, (rowNames.get(words) ?? 0) + 1);
  }
  const byName = ({ name, keys }: TemplateRow): RowMatch => {
    const words = nameWords(name).join(" ");
    const namesakes = (words === "" ? [] : (names.get(words) ?? [])).filter((one) => !rowsOf.has(one));
    const [only] = namesakes;
    if (only === undefined) return { is: "nobody" };
    const differing = namesakes.map((one) => ({ one, kind: differingKey(keys, comparable(one.student)) }));
    if (differing.every(({ kind }) => kind !== null)) {
      const { one, kind } = differing[0] as { one: GradeRow; kind: KeyKind };
      return namesakes.length > 1
        ? { is: "nobody" }
        : { is: "doubtful", doubt: { is: "other key", student: one, kind } };
    }
    // M4: the name is one student's among all, also among those who have a row already.
    if ((names.get(words)?.length ?? 0) > 1) {
      return { is: "doubtful", doubt: { is: "several students", students: names.get(words) ?? [] } };
    }
    if ((rowNames.get(words) ?? 0) > 1) {
      const lines = template.flatMap((row) => (nameWords(row.name).join(" ") === words ? [row.line] : []));
      return { is: "doubtful", doubt: { is: "several rows", student: only, lines } };
    }
    return { is: "matched", student: only };
  };
  const rows = template.map((row, at): RowMatch => {
    const { agreed, differ } = keyed[at] ?? { agreed: [], differ: [] };
    const [only, ...others] = agreed;
    if (only === undefined) {
      const [other] = differ;
      if (other === undefined) return byName(row);
      return { is: "doubtful", doubt: { is: "other name", student: other } };
    }
    if (others.length > 0) return { is: "doubtful", doubt: { is: "several students", students: agreed } };
    const places = rowsOf.get(only) ?? [];
    if (places.length > 1) {
      const lines = places.map((place) => template[place]?.line ?? 0);
      return { is: "doubtful", doubt: { is: "several rows", student: only, lines } };
    }
    return { is: "matched", student: only };
  });
  const mentioned = new Set(rows.flatMap((row) => studentsOf(row)));
  return { rows, left: students.filter((one) => !mentioned.has(one)) };
}

function studentsOf(row: RowMatch): readonly GradeRow[] {
  if (row.is === "nobody") return [];
  if (row.is === "matched") return [row.student];
  return row.doubt.is === "several students" ? row.doubt.students : [row.doubt.student];
}

/** The kind with more equal keys whose names agree. If both have the same number, either may be meant, and both are compared. */
function kindsOfId(
  students: readonly GradeRow[],
  template: readonly TemplateRow[],
  alsoId: KeyKind | undefined,
): readonly KeyKind[] {
  if (alsoId === undefined || students.some(({ student }) => given(student[alsoId]))) return ["id"];
  const byId = new Map<string, GradeRow[]>();
  for (const row of students) if (given(row.student.id)) push(byId, plainKey(row.student.id ?? ""), row);
  const agreeing = (kind: KeyKind) =>
    template.filter(({ keys, name }) =>
      (byId.get(plainKey(keys[kind] ?? "")) ?? []).some((one) => compareNames(nameOf(one), name) !== "differ"),
    ).length;
  const [own, also] = [agreeing("id"), agreeing(alsoId)];
  if (own === also) return ["id", alsoId];
  return own > also ? ["id"] : [alsoId];
}

/** The first kind of key that both have, and that differs; null: none. One equal key of the kind is enough. */
function differingKey(keys: RowKeys, own: readonly (readonly [KeyKind, string])[]): KeyKind | null {
  for (const [kind] of own) {
    const cell = plainKey(keys[kind] ?? "");
    if (cell !== "" && !own.some(([other, key]) => other === kind && key === cell)) return kind;
  }
  return null;
}

/** Empty where the student's name is only one of the keys again. */
function nameOf({ student }: GradeRow): string {
  const { key, name } = student;
  const keys = [key, ...keyKinds.map((kind) => student[kind])];
  return keys.some((one) => plainKey(one ?? "") === plainKey(name)) ? "" : name;
}

function plainKey(text: string): string {
  return text.trim().normalize("NFC").toLowerCase();
}

function given(text: string | undefined): boolean {
  return text !== undefined && text.trim() !== "";
}

function push<V>(map: Map<string, V[]>, key: string, value: V): void {
  map.set(key, [...(map.get(key) ?? []), value]);
}
