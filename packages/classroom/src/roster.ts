/**
 * Reads a roster from CSV. Columns are recognised by their headers, in the spellings of Canvas, Moodle, Gradescope and of people. A mapping
 * by the teacher takes precedence. Two people with one key are refused with both lines, because a grade must not reach the wrong person.
 *
 * R1  The participant number of a Moodle worksheet and the "ID number" are two kinds of key. A worksheet is recognised by its cells, a word
 *     and a number ("Participant 4102", "Teilnehmer/in 4102"), because the header of that column is "ID" in some languages.
 * R2  "Name" beside "Vorname" is the surname, unless most cells contain the given name.
 */
import { type Finding, type Place, Report } from "@markmill/definition";
import { type AiConsent, nameWords, plainKey, plainName } from "@markmill/grading";
import type { ClassFindingCode } from "./class-codes.ts";
import { type ClassClock, given } from "./class-file.ts";
import { decodeText } from "./csv/decode-text.ts";
import { type Cell, type Row, readTable } from "./csv/read-table.ts";
import type { Member } from "./member.ts";
import { memberKeys } from "./member-keys.ts";
import { isParticipantWord, splitParticipant } from "./participant-word.ts";
import { submittedTimes } from "./submitted-times.ts";

export interface Roster {
  readonly kind: RosterKind;
  readonly members: readonly Member[];
  /** The meaning of each column, to be shown before anything else happens. */
  readonly mapping: readonly { readonly header: string; readonly as: Field | null }[];
  readonly findings: readonly Finding[];
}

export type RosterKind = "canvas" | "moodle" | "gradescope" | "plain";

const headers = {
  id: [
    ...["id", "student id", "user id", "sid", "id number", "student number", "matriculation number", "matrikelnummer"],
    ...["matrikel nr", "matrikelnr", "matr nr", "id nummer", "numero de id", "numero d identification"],
    ...["codice identificativo", "numero di matricola", "matricola"],
  ],
  name: [
    ...["name", "full name", "student", "student name", "vollstandiger name", "nombre completo", "nom complet"],
    ...["cognome nome", "nome completo"],
  ],
  firstName: ["first name", "firstname", "first", "given name", "vorname", "prenom", "nombre", "nome", "voornaam"],
  lastName: [
    ...["last name", "lastname", "last", "surname", "family name", "nachname", "familienname", "nom", "nom de famille"],
    ...["apellidos", "apellido s", "apellido", "cognome", "achternaam"],
  ],
  email: [
    ...["email", "email address", "e mail", "mail", "e mail address", "e mail adresse", "mailadresse"],
    ...["correo", "correo electronico", "direccion de correo", "direccion email", "adresse de courriel", "courriel"],
    ...["adresse e mail", "indirizzo email"],
  ],
  login: [
    ...["login", "login id", "username", "user name", "sis login id", "benutzername", "anmeldename", "nutzername"],
    ...["nom d utilisateur", "nombre de usuario"],
  ],
  sisId: ["sis id", "sis user id"],
  handle: ["git", "git handle", "github", "github username", "gitlab", "gitlab username"],
  repository: [
    ...[
      "repository",
      "repository url",
      "repository link",
      "repo",
      "repo url",
      "repo link",
      "git url",
      "git repository",
    ],
    ...["git repo", "clone url", "github url", "github repository", "github repo", "gitlab url", "git link"],
  ],
  section: ["section", "sections", "section name"],
  group: ["group", "group name", "team", "gruppe", "groupe", "grupo", "gruppo"],
  language: ["language", "lang", "preferred language", "sprache"],
  aiConsent: ["ai consent", "ai", "consent"],
  participant: ["identifier", "teilnehmer in", "identifikator", "identificador", "identifiant", "identificatore"],
  submittedAt: [
    ...["last modified submission", "submission time", "submitted at", "submission date", "abgabezeit", "abgegeben am"],
    ...["zuletzt geandert abgabe", "letzte anderung abgabe", "ultima modificacion entrega", "fecha de entrega"],
    ...["derniere modification travail remis", "derniere modification remise", "derniere modification devoir"],
    ...["ultima modifica consegna", "ultima modificacao envio", "laatst gewijzigd inzending"],
  ],
} as const;

type Field = keyof typeof headers;
const fields = Object.keys(headers) as Field[];
const byHeader = new Map<string, Field>(
  fields.flatMap((field) => headers[field].map((name) => [name, field] as const)),
);
/** Fields that identify a person. */
const identifying: ReadonlySet<Field> = new Set([
  "id",
  "participant",
  "sisId",
  "login",
  "email",
  "handle",
  "name",
  "firstName",
  "lastName",
] as const);
const MOST_MEMBERS = 100_000;

export function readRoster(
  bytes: Uint8Array,
  file: string,
  columns: Readonly<Record<string, string | number>> = {},
  clock: ClassClock = { zone: "UTC", from: "nothing" },
): Roster {
  const report = new Report<ClassFindingCode>();
  const none = (): Roster => ({ kind: "plain", members: [], mapping: [], findings: report.findings });
  const decoded = decodeText(bytes);
  const start = { file, line: 1, column: 1 };
  if (decoded.guessed) {
    report.warn(
      "ROSTER_ENCODING",
      start,
      "The roster is not UTF-8 and was read as Windows-1252. Check that accents are right.",
      "Save the roster as CSV UTF-8.",
    );
  }
  const table = readTable(decoded.text);
  if (table.openQuote !== null) {
    report.error(
      "ROSTER_QUOTE",
      { file, line: table.openQuote.line, column: table.openQuote.column },
      "A quote starts here and is never closed.",
      "Close the quote, or write it twice if it is part of the text.",
    );
    return none();
  }
  const [first] = table.rows;
  if (first === undefined) {
    report.error("ROSTER_EMPTY", start, "The roster has no rows.", "Export the roster again, with its header.");
    return none();
  }
  if (table.rows.length > MOST_MEMBERS) {
    report.error("ROSTER_LONG", start, `The roster has more than ${MOST_MEMBERS} rows.`, "Split the roster.");
    return none();
  }
  const found = mapColumns(table.rows, columns, file, report);
  if (found === null) return none();
  const { mapping, headed } = found;
  const kind = headed || mapping.includes("participant") ? kindOf(first.cells, mapping) : "plain";
  const body = table.rows.slice(headed ? 1 : 0);
  const times = submittedTimes(
    body,
    mapping.indexOf("submittedAt"),
    { file, clock, header: headed ? first : null },
    report,
  );
  const members = collect(body, mapping, kind, file, times, report);
  const shown = mapping.map((as, index) => ({
    header: headed ? (first.cells[index]?.text ?? "") : `column ${index + 1}`,
    as,
  }));
  return { kind, members, mapping: shown, findings: report.findings };
}

/** Reads the people from the rows of any table, by the headers and rules of a roster. */
export function readPeople(rows: readonly Row[]): {
  readonly people: readonly { readonly row: Row; readonly person: Person }[];
  /** Columns that identify a person, by index. Empty: none was recognised. */
  readonly columns: ReadonlyMap<number, Field>;
} {
  const report = new Report<ClassFindingCode>();
  const found = mapColumns(rows, {}, "", report);
  const mapping = (found?.mapping ?? []).map((field) => (field !== null && identifying.has(field) ? field : null));
  const people = rows.slice(1).map((row) => {
    const at = { file: "", line: row.line, column: 1 };
    return { row, person: personOf(row, mapping, at, undefined, report) };
  });
  return { people, columns: new Map(mapping.flatMap((field, at) => (field === null ? [] : [[at, field] as const]))) };
}

/** Finds the meaning of each column, and whether the first row is a header. null: it cannot be decided. */
function mapColumns(
  rows: readonly Row[],
  columns: Readonly<Record<string, string | number>>,
  file: string,
  report: Report<ClassFindingCode>,
): { readonly mapping: readonly (Field | null)[]; readonly headed: boolean } | null {
  const [first = { line: 1, cells: [] }, ...body] = rows;
  const mapping: (Field | null)[] = first.cells.map(() => null);
  const names = first.cells.map(({ text }) => headerWords(text));
  let headed = false;
  let failed = false;
  for (const [field, wanted] of Object.entries(columns)) {
    if (!isField(field)) {
      report.error(
        "ROSTER_COLUMN",
        { file, line: 1, column: 1 },
        `${field.slice(0, 40)} is not a field of a student in a roster.`,
        `${report.didYouMean(field, fields)}Known: ${fields.join(", ")}.`,
      );
      failed = true;
      continue;
    }
    const index = typeof wanted === "number" ? wanted - 1 : names.indexOf(headerWords(wanted));
    if (index < 0 || index >= mapping.length) {
      const texts = first.cells.map(({ text }) => text.trim());
      report.error(
        "ROSTER_COLUMN",
        { file, line: first.line, column: 1 },
        `The roster has no column ${typeof wanted === "number" ? wanted : `"${wanted.slice(0, 40)}"`} for ${field}.`,
        `${typeof wanted === "number" ? "" : report.didYouMean(wanted, texts)}It has: ${texts.join(", ").slice(0, 300)}.`,
      );
      failed = true;
      continue;
    }
    if (typeof wanted === "string") headed = true;
    mapping[index] = field;
  }
  if (failed) return null;
  const taken = new Set(mapping.filter((field) => field !== null));
  const sniffed = sniffColumns(names, body);
  if (headed || Object.keys(columns).length === 0 || sniffed.filter((field) => field !== null).length >= 2) {
    for (const [index, field] of sniffed.entries()) {
      if (field === null || mapping[index] !== null) continue;
      if (taken.has(field)) {
        report.warn(
          "ROSTER_AMBIGUOUS",
          { file, line: first.line, column: first.cells[index]?.column ?? 1 },
          `Two columns could be ${field}. "${(first.cells[mapping.indexOf(field)]?.text ?? "").trim().slice(0, 40)}" is used, "${(first.cells[index]?.text ?? "").trim().slice(0, 40)}" is not.`,
          `To use the other column, write in class.yaml: \`columns: { ${field}: HEADER }\`.`,
        );
        continue;
      }
      mapping[index] = field;
      taken.add(field);
      headed = true;
    }
  }
  const keys: Field[] = ["id", "participant", "email", "login", "name", "sisId"];
  if (keys.some((field) => taken.has(field)) || (taken.has("firstName") && taken.has("lastName"))) {
    const isBare = names[mapping.indexOf("name")] === "name" || columns.name !== undefined;
    return { mapping: surnameColumn(mapping, isBare, headed ? body : rows), headed };
  }
  const texts = first.cells.map(({ text }) => text.trim()).join(", ");
  const near = first.cells
    .map(({ text }) =>
      report.didYouMean(headerWords(text), byHeader.keys()).replace("Did you mean ", `"${text.trim()}": did you mean `),
    )
    .find((hint) => hint !== "");
  report.error(
    "ROSTER_HEADER",
    { file, line: first.line, column: 1 },
    `No column identifies the students: ${texts.slice(0, 200)}.`,
    `${near ?? ""}Name the columns id, name, email or login, or set them in class.yaml, such as \`columns: { email: 3 }\`.`,
  );
  return null;
}

/** The meaning of each header, if header and cells agree (R1). */
function sniffColumns(names: readonly string[], body: readonly Row[]): (Field | null)[] {
  const cellsOf = (index: number) => body.map(({ cells }) => cells[index]?.text.trim() ?? "");
  return names.map((name, index) => {
    const known = byHeader.get(name) ?? null;
    if (known !== null && known !== "id" && known !== "participant") return known;
    const cells = cellsOf(index).filter((cell) => cell !== "");
    const split = cells.map(splitParticipant);
    const words = new Set(split.map((one) => one?.word ?? ""));
    const [word = ""] = words;
    if (words.size > 0 && [...words].every(isParticipantWord)) return "participant";
    if (known !== "participant") return known;
    // A word for participants that no list here contains is the same in every row.
    if (words.size === 1 && cells.length > 1 && /\p{L}{4}/u.test(word)) return "participant";
    return name === "teilnehmer in" ? "name" : cells.length === 0 ? "participant" : "id";
  });
}

/** R2: finds the meaning of the column "Name" if another column contains a part of the name. */
function surnameColumn(mapping: readonly (Field | null)[], isBare: boolean, body: readonly Row[]): (Field | null)[] {
  const cellsOf = (index: number) => body.map(({ cells }) => cells[index]?.text.trim() ?? "");
  const [whole, given, family] = [mapping.indexOf("name"), mapping.indexOf("firstName"), mapping.indexOf("lastName")];
  const part = given >= 0 && family < 0 ? given : family >= 0 && given < 0 ? family : -1;
  if (!isBare || whole < 0 || part < 0 || hasPart(cellsOf(whole), cellsOf(part))) return [...mapping];
  return mapping.map((field, index) => (index !== whole ? field : part === given ? "lastName" : "firstName"));
}

/** Whether most names contain the part and one more word. In some rows the given name can be a short form. */
function hasPart(names: readonly string[], parts: readonly string[]): boolean {
  const both = names.flatMap((name, at) => {
    const part = parts[at] ?? "";
    return name === "" || part === ""
      ? []
      : [[nameWords(name).map(plainName), nameWords(part).map(plainName)] as const];
  });
  const having = both.filter(([all, some]) => all.length > some.length && some.every((one) => all.includes(one)));
  return having.length * 2 > both.length;
}

function kindOf(cells: readonly Cell[], mapping: readonly (Field | null)[]): RosterKind {
  const names = cells.map(({ text }) => headerWords(text));
  if (mapping.includes("participant")) return "moodle";
  if (names[0]?.includes("student") && names[1] === "id" && names.some((name) => name.includes("section"))) {
    return "canvas";
  }
  return names.includes("sid") && names.includes("email") ? "gradescope" : "plain";
}

type Person = Omit<Member, "key">;

function collect(
  rows: readonly Row[],
  mapping: readonly (Field | null)[],
  kind: RosterKind,
  file: string,
  times: ReadonlyMap<number, string>,
  report: Report<ClassFindingCode>,
): Member[] {
  const people: Person[] = [];
  const handles = new Map<string, Person>();
  const seen = new Map<string, { readonly line: number; readonly same: string }>();
  for (const row of rows) {
    const at = { file, line: row.line, column: 1 };
    if (kind === "canvas" && isNoStudent(row)) continue;
    const person = personOf(row, mapping, at, times.get(row.line), report);
    const { id, participant, login, email, sisId, handle } = person;
    const own = { id, participant, login, email, sisId };
    const alone = Object.values(own).every((text) => text === undefined);
    if (alone && person.name === "") {
      report.warn("ROSTER_ROW", at, "The row names no student and was skipped.", "Complete the row, or remove it.");
      continue;
    }
    const same = JSON.stringify(person);
    const keys = { ...own, ...(alone ? { name: person.name } : {}) };
    let duplicate = false;
    for (const [field, value] of Object.entries(keys)) {
      if (value === undefined) continue;
      const name = `${field}:${plainKey(value)}`;
      const before = seen.get(name);
      if (before === undefined) {
        seen.set(name, { line: row.line, same });
        continue;
      }
      duplicate = true;
      if (before.same === same) {
        report.warn(
          "ROSTER_TWICE",
          at,
          `The row is the same as line ${before.line} and was skipped.`,
          "Remove one of the two rows.",
        );
      } else {
        report.error(
          "ROSTER_DUPLICATE",
          at,
          `The ${field} ${value.slice(0, 60)} appears in line ${before.line} and in line ${row.line}.`,
          "Give each student a unique key.",
        );
      }
      break;
    }
    if (duplicate) continue;
    const twin = handle === undefined ? undefined : handles.get(plainKey(handle));
    if (twin !== undefined && (twin.group === undefined || twin.group !== person.group)) {
      report.warn(
        "ROSTER_DUPLICATE",
        at,
        `The git handle ${(handle ?? "").slice(0, 60)} appears in line ${twin.at?.line} and in line ${row.line}.`,
        "Correct it, or put the students into the same group if they work together.",
      );
    }
    people.push({ ...person, at });
    if (handle !== undefined) handles.set(plainKey(handle), { ...person, at });
  }
  if (people.length === 0 && !report.hasErrors) {
    report.error("ROSTER_EMPTY", { file, line: 1, column: 1 }, "The roster has no students.", "Export it again.");
  }
  const keys = memberKeys(people);
  return people.map((person, index) => ({ key: keys[index] ?? "", ...person }));
}

/** Canvas puts rows with points and notices between the students, and a test student at the end. */
function isNoStudent({ cells: [first, second] }: Row): boolean {
  const name = first?.text.trim() ?? "";
  return (
    /points possible/i.test(name) ||
    /^student, test$/i.test(name) ||
    (name === "" && (second?.text.trim() ?? "") === "")
  );
}

function personOf(
  row: Row,
  mapping: readonly (Field | null)[],
  at: Place,
  submittedAt: string | undefined,
  report: Report<ClassFindingCode>,
): Person {
  const value = (field: Field): string | undefined => {
    // Line breaks and other invisible characters in a quoted cell become blanks. A dash means an empty cell.
    const text = row.cells[mapping.indexOf(field)]?.text.replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
    const isEmpty = text === undefined || text === "" || /^[-–—]$/.test(text);
    return mapping.includes(field) && !isEmpty ? text.normalize("NFC") : undefined;
  };
  if (row.cells.length > mapping.length && row.cells.slice(mapping.length).some(({ text }) => text.trim() !== "")) {
    report.warn(
      "ROSTER_CELLS",
      at,
      `The row has ${row.cells.length} cells, but the header has ${mapping.length}.`,
      "Put cells that contain a separator into quotes.",
    );
  }
  const identifier = value("participant");
  const participant = /(?<!\d)(\d+)$/.exec(identifier ?? "")?.[1];
  if (identifier !== undefined && participant === undefined) {
    report.warn(
      "ROSTER_PARTICIPANT",
      at,
      `"${identifier.slice(0, 40)}" has no participant number at its end.`,
      "Download the grading worksheet again, or check `columns` in class.yaml.",
    );
  }
  const [first, last, whole] = [value("firstName"), value("lastName"), value("name")];
  const split = /^([^,]+),\s*(\S.*)$/.exec(whole ?? "");
  const parts = [first, last].filter((part) => part !== undefined);
  const sortableName = parts.length === 2 ? `${last}, ${first}` : split === null ? undefined : whole;
  const name =
    parts.length === 2 || whole === undefined ? parts.join(" ") : split === null ? whole : `${split[2]} ${split[1]}`;
  const email = value("email");
  if (email !== undefined && !/^[^\s@]+@[^\s@]+$/.test(email)) {
    report.warn(
      "ROSTER_EMAIL",
      at,
      `${email.slice(0, 60)} is not an e-mail address.`,
      "Correct the address, or check the columns.",
    );
  }
  const consent = value("aiConsent");
  const aiConsent = consent === undefined ? undefined : readConsent(consent);
  if (aiConsent === null) {
    report.error(
      "ROSTER_CONSENT",
      at,
      `"${(consent ?? "").slice(0, 40)}" is not a valid answer to whether a model may see the submission.`,
      "Write none, local or any.",
    );
  }
  const member = given({
    id: value("id"),
    participant,
    sisId: value("sisId"),
    login: value("login"),
    email,
    handle: value("handle"),
    repository: value("repository"),
    sortableName,
    section: value("section"),
    group: value("group"),
    language: value("language"),
    aiConsent: aiConsent ?? undefined,
    submittedAt,
  });
  const key = member.login ?? member.email ?? member.id ?? member.participant ?? member.sisId;
  return { ...member, name: name || (key ?? "") };
}

/** A refusal is accepted in any spelling. Text that means neither yes nor no is an error. */
function readConsent(text: string): AiConsent | null {
  const word = text.trim().toLowerCase();
  if (["any", "yes", "y", "true", "1", "ja", "oui", "si", "sí"].includes(word)) return "any";
  if (["none", "no", "n", "false", "0", "nein", "non"].includes(word)) return "none";
  return word === "local" ? "local" : null;
}

function headerWords(text: string): string {
  return text
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}

function isField(name: string): name is Field {
  return Object.hasOwn(headers, name);
}
