import { Scrubber } from "@markmill/grading";
import { describe, expect, it } from "vitest";
import { readRoster } from "./roster.ts";

const read = (text: string | Buffer, columns = {}) => readRoster(Buffer.from(text as string), "roster.csv", columns);
const people = (text: string | Buffer, columns = {}) => {
  const { members, findings } = read(text, columns);
  expect(findings).toEqual([]);
  return members.map(({ at: _, ...member }) => member);
};
const codes = (text: string, columns = {}) =>
  read(text, columns).findings.map(({ code, at: { line } }) => `${code}:${line}`);

describe("reading a roster", () => {
  it("from Canvas handles points, a test student and sections, and keeps leading zeros in ids", () => {
    const text = `Student,ID,SIS User ID,SIS Login ID,Section,Sheet 1 (12)\r
    Points Possible,,,,,10.0\r
"Lovelace, Ada",101,0042,ada,Group A,\r
"Student, Test",999,,,Group A,\r
`;
    expect(read(text).kind).toBe("canvas");
    expect(people(text)).toEqual([
      {
        key: "101",
        id: "101",
        sisId: "0042",
        login: "ada",
        section: "Group A",
        name: "Ada Lovelace",
        sortableName: "Lovelace, Ada",
      },
    ]);
  });

  it("from Moodle finds participants and submission times", () => {
    const text =
      '\ufeffIdentifier,"Full name","Email address",Status,Grade,"Last modified (submission)"\nParticipant 77,"Ada Lovelace",ada@x.org,x,-,2026-11-01 10:00:00Z\n';
    expect(read(text).kind).toBe("moodle");
    expect(people(text)).toMatchObject([
      { key: "77", participant: "77", email: "ada@x.org", submittedAt: "2026-11-01 10:00:00Z" },
    ]);
  });

  const clock = { zone: "Europe/Berlin", from: "timezone" } as const;
  const worksheet = (header: string, ...times: string[]) =>
    readRoster(
      Buffer.from(`id,name,"${header}"\n${times.map((time, at) => `${at},Student ${at},"${time}"`).join("\n")}\n`),
      "roster.csv",
      {},
      clock,
    );

  it.each([
    ["Last modified (submission)", "Friday, 13 November 2026, 5:16 PM"],
    ["Zuletzt geändert (Abgabe)", "Freitag, 13. November 2026, 17:16"],
    ["Dernière modification (travail remis)", "vendredi 13 novembre 2026, 17:16"],
    ["Última modificación (entrega)", "viernes, 13 de noviembre de 2026, 17:16"],
    ["Submission Time", "2026-11-13 17:16:00"],
  ])("reads times in the column %s in the zone of the class", (header, time) => {
    const { members, findings, mapping } = worksheet(header, time, "-", "");
    expect(findings).toEqual([]);
    expect(mapping[2]).toMatchObject({ as: "submittedAt" });
    expect(members.map(({ submittedAt }) => submittedAt)).toEqual(["2026-11-13T16:16:00.000Z", undefined, undefined]);
  });

  it("refuses every unreadable time at its place", () => {
    const { findings } = worksheet(
      "Submission Time",
      ...["30 February 2026, 5:16 PM", "Thursday, 13 November 2026, 5:16 PM", "2026-11-13T17:16:00Z", "gestern"],
    );
    expect(findings.map(({ code, severity, at }) => `${severity} ${code}:${at.line}:${at.column}`)).toEqual([
      "error ROSTER_TIME:2:13",
      "error ROSTER_TIME:3:13",
      "error ROSTER_TIME:5:13",
    ]);
    expect(findings[1]?.message).toContain("is no thursday but a friday");
  });

  it("reports which zone was assumed when the class has none", () => {
    const text = "id,Submitted at\n1,2026-11-13 17:16\n2,2026-11-13 17:16\n";
    expect(codes(text)).toEqual(["ROSTER_TIME_ZONE:1"]);
    const { findings, members } = readRoster(Buffer.from(text), "r.csv", {}, { zone: "+01:00", from: "deadline" });
    expect(findings[0]?.message).toContain("+01:00, as the deadline");
    expect(members[0]?.submittedAt).toBe("2026-11-13T16:16:00.000Z");
  });

  it.each([
    ["Identifier", "Participant 4102", "ID number"],
    ["ID", "Teilnehmer/in 4102", "ID-Nummer"],
    ["ID", "Teilnehmer/in4102", "ID-Nummer"],
    ["Identifikator", "Teilnehmer*in 4102", "Matrikelnummer"],
    ["Identifiant", "Participant 4102", "Numéro d'identification"],
    ["Identificador", "Participante 4102", "Número de ID"],
    ["Identificatore", "Partecipante 4102", "Codice identificativo"],
    ["Tunniste", "Osallistuja 4102", "id"],
    ["Идентификатор", "Участник 4102", "id"],
  ])("from Moodle finds participant numbers in a column %s with %s, apart from %s", (header, cell, number) => {
    const text = `\ufeff${header};Full name;${number}\n${cell};Ada Lovelace;0815\n`;
    expect(read(text).kind).toBe("moodle");
    expect(people(text)).toEqual([{ key: "0815", id: "0815", participant: "4102", name: "Ada Lovelace" }]);
  });

  it("recognises an unlisted word for participant because it is the same in every row", () => {
    expect(people("Identifier,name\nKursist 7,Ada\nKursist 8,Bob\n")).toMatchObject([
      { participant: "7" },
      { participant: "8" },
    ]);
  });

  it("does not treat other ids as participant numbers", () => {
    expect(people("identifier,name\nada01,Ada\nbob02,Bob\n")).toMatchObject([{ id: "ada01" }, { id: "bob02" }]);
    expect(people("ID,name\ns0101,Ada\ns0102,Bob\n")).toMatchObject([{ id: "s0101" }, { id: "s0102" }]);
    expect(people("Identifier,name\n1001,Ada\n1002,Bob\n")).toMatchObject([{ id: "1001" }, { id: "1002" }]);
    expect(people("Teilnehmer/in,E-Mail\nAda Lovelace,a@x.org\n")).toMatchObject([{ name: "Ada Lovelace" }]);
  });

  it("accepts the participant column that class.yaml names", () => {
    expect(people("number,name\n4102,Ada\n", { participant: "number" })).toMatchObject([{ participant: "4102" }]);
    expect(codes("number,name\nnone,Ada\n", { participant: "number" })).toEqual(["ROSTER_PARTICIPANT:2"]);
  });

  it.each([
    ["Name;Vorname", "Lovelace;Ada"],
    ["Vorname;Name", "Ada;Lovelace"],
    ["Nachname;Vorname", "Lovelace;Ada"],
    ["Nachname;Name", "Lovelace;Ada"],
    ["Last name,First name", "Lovelace,Ada"],
    ["Surname,First name", "Lovelace,Ada"],
    ["First name,Surname", "Ada,Lovelace"],
    ["Cognome,Nome", "Lovelace,Ada"],
    ["Nom;Prénom", "Lovelace;Ada"],
    ["Name;Vorname", '"Ada Lovelace";Ada'],
    ["Name;Vorname", '"Lovelace, Ada";Ada'],
  ])("with the columns %s and the cells %s keeps given name and surname", (header, cells) => {
    const separator = header.includes(";") ? ";" : ",";
    const [person] = people(`Login${separator}${header}\nal${separator}${cells}\n`);
    expect(person?.name).toBe("Ada Lovelace");
  });

  it("finds a surname in the column Name, so that it is removed from the student's texts", () => {
    const members = people("Name;Vorname\nLovelace;Ada\nTuring;Alan\n");
    const scrubber = new Scrubber(members, new Map(members.map(({ key }, at) => [key, `Student ${at + 1}`])), [
      members[0]?.key ?? "",
    ]);
    const { text } = scrubber.scrub("// Solution by Lovelace, with help of Alan Turing");
    expect(text).not.toMatch(/Lovelace|Turing/);
  });

  it("recognises a surname that is also a given name", () => {
    expect(people("Name;Vorname\nThomas;Thomas\nKim;Lee\n")).toMatchObject([
      { name: "Thomas Thomas", sortableName: "Thomas, Thomas" },
      { name: "Lee Kim" },
    ]);
  });

  it("from Moodle's participants finds names, ID numbers and addresses, and ignores empty cells and dashes", () => {
    const text = `\ufeff"First name",Surname,"ID number","Email address"
Ada,Lovelace,0815,ada@x.org
Alan,Turing,-,alan@x.org
Anna,Schmidt,-,anna@x.org
`;
    expect(people(text)).toMatchObject([
      { key: "0815", name: "Ada Lovelace" },
      { key: "alan@x.org", name: "Alan Turing" },
      { key: "anna@x.org", name: "Anna Schmidt" },
    ]);
  });

  it("gives each student a unique key if one's login is another's id", () => {
    const text = "id,login,email,name\n,7,b@x.org,Bob\n7,ada,a@x.org,Ada\n,8,,Eve\n8,eve,,Eva\n";
    expect(people(text).map(({ key, name }) => [key, name])).toEqual([
      ["b@x.org", "Bob"],
      ["7", "Ada"],
      ["Eve", "Eve"],
      ["8", "Eva"],
    ]);
    expect(people("id,login\n,7\n7,x\n").map(({ key }) => key)).toEqual(["login 7", "7"]);
  });

  it("reports a git handle that two students have, unless they are one group", () => {
    const { members, findings } = read("id,name,github\n1,Ada,code\n2,Bob,Code\n");
    expect(findings).toMatchObject([{ severity: "warning", code: "ROSTER_DUPLICATE", at: { line: 3 } }]);
    expect(members).toHaveLength(2);
    expect(codes("id,name,github,group\n1,Ada,code,T\n2,Bob,Code,T\n")).toEqual([]);
  });

  it("refuses a participant number that two students have", () => {
    expect(codes("Identifier,name\nParticipant 7,Ada\nParticipant 7,Bob\n")).toEqual(["ROSTER_DUPLICATE:3"]);
  });

  it("from Gradescope finds first and last names", () => {
    const text = "First Name,Last Name,SID,Email,Sections\nAda,Lovelace,007,ada@x.org,A\n";
    expect(read(text).kind).toBe("gradescope");
    expect(people(text)).toMatchObject([{ key: "007", name: "Ada Lovelace", sortableName: "Lovelace, Ada" }]);
  });

  it("written by hand accepts semicolons, tabs, umlauts and any column order", () => {
    expect(people("Nachname;Vorname;E-Mail-Adresse;Gruppe\nMüller;Jörg;j@x.org;Team 1\n")).toMatchObject([
      { key: "j@x.org", name: "Jörg Müller", group: "Team 1" },
    ]);
    expect(people("login\tname\tai consent\tLanguage\nzhang\t张伟\tno\tzh\n")).toMatchObject([
      { key: "zhang", name: "张伟", aiConsent: "none", language: "zh" },
    ]);
    expect(people(Buffer.from("\ufeffname,login\nJosé,jose\n", "utf16le"))).toMatchObject([{ name: "José" }]);
  });

  it("reports a guessed encoding", () => {
    const { members, findings } = read(Buffer.from("name,login\nJos\xe9,jose\n", "latin1"));
    expect(members).toMatchObject([{ name: "José" }]);
    expect(findings).toMatchObject([{ severity: "warning", code: "ROSTER_ENCODING" }]);
  });

  it("keeps a name with a quoted line break in one row", () => {
    expect(people('id,name\n1,"Ada\nLovelace"\n2,Bob\n')).toMatchObject([{ name: "Ada Lovelace" }, { name: "Bob" }]);
  });

  it("shows the meaning of each column", () => {
    expect(read("id,shoe size,e-mail\n1,42,a@x.org\n").mapping).toEqual([
      { header: "id", as: "id" },
      { header: "shoe size", as: null },
      { header: "e-mail", as: "email" },
    ]);
  });

  it("uses the teacher's mapping by header or number, with or without a header row", () => {
    expect(people("Matrikel,Wer\n7,Ada\n", { id: "matrikel", name: "Wer" })).toMatchObject([{ key: "7", name: "Ada" }]);
    expect(people("ada,Ada Lovelace,a@x.org\nbob,Bob,b@x.org\n", { login: 1, name: 2, email: 3 })).toMatchObject([
      { key: "ada" },
      { key: "bob" },
    ]);
    expect(codes("a,b\n1,2\n", { id: 3 })).toEqual(["ROSTER_COLUMN:1"]);
    expect(codes("a,b\n1,2\n", { idd: 1 })).toEqual(["ROSTER_COLUMN:1"]);
    expect(read("Matrikl,b\n1,2\n", { id: "Matrikel" }).findings[0]?.fix).toMatch("Did you mean Matrikl?");
  });

  it("refuses two people with one key, with both lines, and drops a repeated row", () => {
    const { members, findings } = read("id,name,email\n1,Ada,a@x.org\n2,Bob,b@x.org\n3,Eve,A@x.org\n2,Bob,b@x.org\n");
    expect(findings).toMatchObject([
      {
        severity: "error",
        code: "ROSTER_DUPLICATE",
        at: { line: 4 },
        message: expect.stringMatching("line 2 and in line 4"),
      },
      { severity: "warning", code: "ROSTER_TWICE", at: { line: 5 } },
    ]);
    expect(members).toHaveLength(2);
  });

  it("keeps people with equal names apart by their keys, and refuses them without keys", () => {
    expect(people("id,name\n1,Ada\n2,Ada\n")).toHaveLength(2);
    expect(codes("name,section\nAda,1\nAda,2\n")).toEqual(["ROSTER_DUPLICATE:3"]);
  });

  it.each([
    ["", "ROSTER_EMPTY:1"],
    ["id,name\n", "ROSTER_EMPTY:1"],
    ['id,name\n1,"Ada\n', "ROSTER_QUOTE:2"],
    ["foo,bar\n1,2\n", "ROSTER_HEADER:1"],
    ["id,ai consent\n1,perhaps\n", "ROSTER_CONSENT:2"],
    ["id,email\n1,nobody\n", "ROSTER_EMAIL:2"],
    ["id,name\n1,Ada,Extra\n", "ROSTER_CELLS:2"],
    ["id,name\n,\n1,Ada\n", "ROSTER_ROW:2"],
  ])("reports an error for %j", (text, code) => {
    expect(codes(text)).toContain(code);
  });
});

describe("roster cells with unusual content", () => {
  const read = (text: string) => readRoster(Buffer.from(text), "roster.csv");

  it("have line breaks and invisible letters in a quoted name replaced by blanks", () => {
    expect(read('id;name\n1;"Ada\r\nByron"\n2;"Bo\u0000b"\n').members.map(({ name }) => name)).toEqual([
      "Ada Byron",
      "Bo b",
    ]);
  });

  it("use the first of two columns with one meaning, and a finding reports it", () => {
    const { members, findings } = read("id,email,E-Mail Address,name\n1,a@x,b@x,Ada\n");
    expect(members[0]?.email).toBe("a@x");
    expect(findings.map(({ code, severity, at }) => [severity, code, at.column])).toEqual([
      ["warning", "ROSTER_AMBIGUOUS", 10],
    ]);
    const said = readRoster(Buffer.from("id,email,E-Mail Address,name\n1,a@x,b@x,Ada\n"), "r.csv", {
      email: "E-Mail Address",
    });
    expect(said.members[0]?.email).toBe("b@x");
  });
});
