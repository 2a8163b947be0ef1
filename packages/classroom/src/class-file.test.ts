import { describe, expect, it } from "vitest";
import { readClassFile } from "./class-file.ts";

const read = (text: string) => readClassFile(text, "class.yaml");
const complaint = (text: string) => {
  const { class: found, findings } = read(text);
  expect(found).toBeNull();
  for (const { fix } of findings) expect(fix).toMatch(/\S/);
  return findings.map(({ code, at, message, fix }) => ({ code, line: at.line, column: at.column, message, fix }));
};

describe("class.yaml", () => {
  it("needs only submissions", () => {
    expect(read("submissions: export.zip").class).toEqual({
      clock: { zone: "UTC", from: "nothing" },
      submissions: "export.zip",
      columns: {},
      requires: [],
      layout: "auto",
      late: { graceMs: 0, percentPerDay: 0, mostPercent: 100 },
      attempts: "last",
      budget: {},
      aiConsent: "any",
      params: {},
    });
  });

  it("can set every property of a class", () => {
    const text = `
name: Programming 1
workflow: grade.wf.md
roster: roster.csv
columns: { id: Matrikel, email: 3 }
submissions: handed-in
match: "^(?<student>[a-z]+)-(?<attempt>[0-9]+)"
deadline: 2026-11-20T23:59:00+01:00
late: { grace: 15m, percentPerDay: 10, mostPercent: 50 }
attempts: last-before-deadline
rubric: rubric.md
model: tutor
budget: { class: $20, student: 0.50 }
concurrency: 8
sandbox: jail
language: de
aiConsent: local
params: { SHEET: 3, STRICT: true }
`;
    expect(read(text)).toMatchObject({
      findings: [],
      class: {
        deadline: Date.UTC(2026, 10, 20, 22, 59),
        late: { graceMs: 900_000, percentPerDay: 10, mostPercent: 50 },
        budget: { class: 20e9, student: 0.5e9 },
        columns: { id: "Matrikel", email: 3 },
        params: { SHEET: "3", STRICT: "true" },
      },
    });
    expect(read("submissions: x\nbudget: $3").class?.budget).toEqual({ class: 3e9 });
  });

  it("sets where repositories are, and which places of a roster may receive credentials", () => {
    const from = "https://host/course/{login}.git";
    expect(read(`repositories: ${from}`).class?.repositories).toEqual({ from, allow: [] });
    expect(read("repositories: roster").class?.repositories).toEqual({ from: "roster", allow: [] });
    const text = "repositories:\n  from: roster\n  allow: [https://host/course/, 'git@h:x/sheet-*', file:///srv/x]";
    expect(read(text).class?.repositories?.allow).toMatchObject([
      { is: "host", at: { host: "host", segments: ["course"] }, begins: null },
      { is: "host", at: { scheme: "ssh", user: "git" }, begins: "sheet-" },
      { is: "folder", path: "/srv/x" },
    ]);
  });

  it.each([
    "https://{login}/x.git",
    "https://{handle}.host/x",
    "ssh://{login}@host/x",
    "https://host:{id}/{id}",
    "https://host/x",
  ])("does not let a roster choose the host: %s", (address) => {
    expect(complaint(`repositories: "${address}"`)).toEqual([
      expect.objectContaining({ code: "CLASS_VALUE", line: 1, column: 15 }),
    ]);
  });

  it("reports where a key is misspelt and suggests the right one", () => {
    expect(complaint("name: A\nsubmission: x\n")).toEqual([
      expect.objectContaining({
        code: "CLASS_KEY",
        line: 2,
        column: 1,
        fix: expect.stringMatching("mean submissions?"),
      }),
    ]);
    expect(complaint("submissions: x\nlate:\n  graze: 1h\n")).toEqual([
      expect.objectContaining({ code: "CLASS_KEY", line: 3, column: 3, fix: expect.stringMatching("mean grace?") }),
    ]);
  });

  it.each([
    ["submissions: x\ndeadline: 2026-11-20 23:59", "CLASS_VALUE", 2, 11],
    ["submissions: x\ndeadline: tomorrow", "CLASS_VALUE", 2, 11],
    ["submissions: x\ndeadline: 2026-02-30T23:59:00+01:00", "CLASS_VALUE", 2, 11],
    ["submissions: x\ndeadline: 2026-04-31T23:59:00Z", "CLASS_VALUE", 2, 11],
    ["submissions: x\ndeadline: 2026-11-20T24:61:00Z", "CLASS_VALUE", 2, 11],
    ["submissions: x\ndeadline: 2026-13-20T23:59:00Z", "CLASS_VALUE", 2, 11],
    ["submissions: x\ndeadline: Thursday, 13 November 2026, 5:16 PM UTC", "CLASS_VALUE", 2, 11],
    ["submissions: x\ntimezone: Berlin", "CLASS_VALUE", 2, 11],
    ["submissions: x\nrequires: [a.c, /b.c]", "CLASS_VALUE", 2, 17],
    ["submissions: x\nbudget: lots", "CLASS_VALUE", 2, 9],
    ["submissions: x\nconcurrency: 0", "CLASS_VALUE", 2, 14],
    ["submissions: x\nmatch: '('", "CLASS_VALUE", 2, 8],
    ["repositories: { from: roster, allow: [http://h/x] }", "CLASS_VALUE", 1, 39],
    ["repositories: { from: roster, alow: [] }", "CLASS_KEY", 1, 31],
    ["submissions: x\nmatch: '^x$'", "CLASS_VALUE", 2, 8],
    ["submissions: x\nattempts: last-before-deadline", "CLASS_DEADLINE", 2, 11],
    ["submissions: x\nsubmissions: y", "CLASS_YAML", 2, 1],
    ["submissions: [x", "CLASS_YAML", 1, 16],
    ["name: x", "CLASS_SUBMISSIONS", 1, 1],
    ["- a list", "CLASS_VALUE", 1, 1],
  ])("with %j is refused at its place", (text, code, line, column) => {
    expect(complaint(text)).toContainEqual(expect.objectContaining({ code, line, column }));
  });

  it.each([
    ["deadline: 2026-11-20 23:59\ntimezone: Europe/Berlin", "Europe/Berlin", "timezone", 22],
    ["deadline: 2026-11-20T23:59:00+01:00", "+01:00", "deadline", 22],
    ["deadline: 2026-11-20T23:59:00Z\ntimezone: Asia/Tokyo", "Asia/Tokyo", "timezone", 23],
    ["deadline: Freitag, 20. November 2026, 23:59\ntimezone: Europe/Berlin", "Europe/Berlin", "timezone", 22],
  ])("with %j has the time zone %s", (text, zone, from, hour) => {
    const read = readClassFile(`submissions: x\n${text}`, "class.yaml");
    expect(read.findings).toEqual([]);
    expect(read.class).toMatchObject({ clock: { zone, from }, deadline: Date.UTC(2026, 10, 20, hour, 59) });
  });
});
