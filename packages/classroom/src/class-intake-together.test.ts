import { afterEach, describe, expect, it } from "vitest";
import type { AttemptChoice } from "./attempt-choices.ts";
import type { readClass } from "./class-intake.ts";
import { type Files, zipOf } from "./testing-class.ts";
import { both, deleteFolders, roster } from "./testing-intake.ts";

afterEach(deleteFolders);

describe("a submission of several students", () => {
  const submission = (name: string, time: string, ...logins: string[]) =>
    `${name}:\n  :submitters:\n${logins.map((login) => `  - :name: ${login}\n    :sid: ${login}\n`).join("")}  :created_at: 2026-11-20 ${time}:00 Z\n`;
  const exported = (...submissions: string[]): Files => ({
    "submission_metadata.yml": `---\n${submissions.join("")}`,
    ...Object.fromEntries(submissions.map((text, at) => [`${text.split(":", 1)[0]}/main.js`, `${at}`])),
  });
  const tutorial = roster(
    "id,name,group\nada,Ada Lovelace,T1\nalan,Alan Turing,T1\ngrace,Grace Hopper,T1\nedsger,Edsger Dijkstra,T1\n",
  );
  const counted = ({ submissions }: Awaited<ReturnType<typeof readClass>>) =>
    Object.fromEntries(submissions.map(({ label, countsFor }) => [label, countsFor]));

  it("leads to a question about its students on the roster if an unknown person submitted it with them", async () => {
    const found = await both(exported(submission("s1", "10:00", "ada", "zed")), { roster: tutorial });
    expect(found.submissions).toEqual([]);
    expect(found.unmatched).toMatchObject([{ name: "s1", why: "ambiguous", may: ["ada"] }]);
    expect(found.problems[0]?.message).toContain('"zed" is not on the roster');
  });

  it("is kept apart from the submission of another pair of the same tutorial group, and both count", async () => {
    const files = exported(submission("s1", "10:00", "ada", "alan"), submission("s2", "11:00", "grace", "edsger"));
    const found = await both(files, { roster: tutorial });
    expect(counted(found)).toEqual({ s1: ["ada", "alan"], s2: ["grace", "edsger"] });
    expect(found.submissions.map(({ key, attempt }) => [key, attempt])).toEqual([
      ["ada+alan#1", 1],
      ["edsger+grace#1", 1],
    ]);
    expect(found.withoutWork).toEqual([]);
  });

  it.each([
    ["last", { s1: ["alan"], s2: ["ada"] }],
    ["first", { s1: ["ada", "alan"], s2: [] }],
    ["best", { s1: ["ada", "alan"], s2: ["ada"] }],
    ["last-before-deadline", { s1: ["ada", "alan"], s2: [] }],
  ] as const)("made together first and alone later, attempts: %s", async (attempts, expected) => {
    const files = exported(submission("s1", "10:00", "ada", "alan"), submission("s2", "12:00", "ada"));
    const found = await both(files, { roster: tutorial, attempts, deadline: Date.UTC(2026, 10, 20, 11) });
    expect(counted(found)).toEqual(expected);
    const [told, ...more] = found.problems.filter(({ code }) => code === "INTAKE_TOGETHER_AND_ALONE");
    expect(more).toEqual([]);
    for (const words of ["Ada Lovelace", "Alan Turing", "s1", "s2", "alone", `attempts: ${attempts}`])
      expect(told?.message).toContain(words);
  });

  it("counts for the student who is in only one, and the teacher is asked about the other student", async () => {
    const alone = await both(
      { "ada/a.js": "1", "T1/a.js": "2" },
      { roster: roster("id,name,group\nada,Ada,T1\nalan,Alan,T1\n") },
    );
    expect(alone.submissions).toMatchObject([
      { label: "T1", countsFor: ["alan"], content: { is: "taken" } },
      { label: "ada", countsFor: ["ada"], content: { is: "undecided" } },
    ]);
    expect(alone.problems.map(({ code }) => code)).toEqual(["INTAKE_UNORDERED"]);
  });

  describe("a choice of the teacher", () => {
    const people = roster("id,name,group\nada,Ada,T1\nalan,Alan,T1\ngrace,Grace,T2\n");
    const pairs = exported(submission("s1", "10:00", "ada", "alan"), submission("s2", "10:00", "ada", "grace"));
    const chosen = (label: string, among: readonly string[] | null) => () =>
      new Map([["ada", { label, among }]]) as ReadonlyMap<string, AttemptChoice>;

    it("decides which of two submissions counts for a student when both count only for others", async () => {
      const open = await both(pairs, { roster: people });
      expect(counted(open)).toEqual({ s1: ["alan"], s2: ["grace"] });
      const [question] = open.problems.filter(({ code }) => code === "INTAKE_UNORDERED");
      expect(question?.fix).toContain("--counts 'ada=s1'");
      const settled = await both(pairs, { roster: people, choices: chosen("s1", null) });
      expect(counted(settled)).toEqual({ s1: ["ada", "alan"], s2: ["grace"] });
      expect(settled.problems.map(({ code }) => code)).toEqual(["INTAKE_TOGETHER_AND_ALONE"]);
      expect(settled.choices).toEqual([{ student: "ada", label: "s1", among: ["s1", "s2"] }]);
    });

    it("goes before the policy for attempts, and complete choices leave no question", async () => {
      const files = {
        "ada.zip": zipOf({ a: "1" }),
        "ada-final.zip": zipOf({ a: "2" }),
        "ada (2).zip": zipOf({ a: "3" }),
      };
      for (const attempts of ["last", "first", "best"] as const)
        for (const label of Object.keys(files)) {
          const found = await both(files, { roster: people, attempts, choices: chosen(label, null) });
          expect(found.submissions.filter(({ counts }) => counts)).toMatchObject([
            { label, countsFor: ["ada"], content: { is: "taken" } },
          ]);
        }
    });

    it("stays valid when another submission is withdrawn, and ends when a new one arrives or the chosen one disappears", async () => {
      const files = { "ada.zip": zipOf({ a: "1" }), "ada-final.zip": zipOf({ a: "2" }) };
      const choices = chosen("ada.zip", ["ada.zip", "ada-final.zip", "ada-old.zip"]);
      expect(counted(await both(files, { roster: people, choices }))).toEqual({
        "ada.zip": ["ada"],
        "ada-final.zip": [],
      });
      const more = await both({ ...files, "ada-new.zip": zipOf({ a: "3" }) }, { roster: people, choices });
      expect(more.choices).toEqual([]);
      expect(more.problems.map(({ code }) => code)).toEqual(["INTAKE_CHOICE", "INTAKE_UNORDERED"]);
      expect(more.problems[0]?.message).toContain("ada-new.zip");
      const gone = await both({ "ada-final.zip": zipOf({ a: "2" }) }, { roster: people, choices });
      expect(counted(gone)).toEqual({ "ada-final.zip": ["ada"] });
      expect(gone.problems).toMatchObject([{ code: "INTAKE_CHOICE", severity: "warning" }]);
    });

    it("of a submission that the student does not have is an error that lists the student's submissions", async () => {
      const found = await both(pairs, { roster: people, choices: chosen("s3", null) });
      expect(found.problems[0]).toMatchObject({ code: "INTAKE_CHOICE", severity: "error" });
      expect(found.problems[0]?.fix).toContain("--counts 'ada=s2'");
    });
  });

  it("has one owner in any order of its people, and owners with unusual keys stay apart", async () => {
    const files = exported(submission("s1", "10:00", "ada", "alan"), submission("s2", "11:00", "alan", "ada"));
    expect(counted(await both(files, { roster: tutorial }))).toEqual({ s1: [], s2: ["ada", "alan"] });
    const odd = roster("id,name\na,a\nb,b\na+b,a+b\n");
    const found = await both(exported(submission("s1", "10:00", "a", "b"), submission("s2", "11:00", "a+b")), {
      roster: odd,
    });
    expect(new Set(found.submissions.map(({ key }) => key)).size).toBe(2);
  });
});
