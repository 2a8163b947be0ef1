import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { type IntakeOptions, readClass } from "./class-intake.ts";
import { readClassFolder } from "./read-class-folder.ts";
import { zipOf } from "./testing-class.ts";
import { both, canvasRoster, deleteFolders, folder, roster, summary } from "./testing-intake.ts";

afterEach(deleteFolders);

describe("reading a Canvas export", () => {
  const files = {
    "lovelaceada_101_5001_main.js": "1",
    "lovelaceada_101_5002_notes.txt": "2",
    "müllerjörg_LATE_102_5003_hw.zip": zipOf({ "hw/main.js": "3" }),
    "oneilzoë_103_text.html": "<p>four</p>",
    "stranger_999_5009_main.js": "x",
    "readme.txt": "not by Canvas",
  };

  it("lists students with unknown lateness if lateness costs points", async () => {
    const files = { "lovelaceada_LATE_101_9_a.js": "1", "mullerjorg_102_8_a.js": "2" };
    const late = { graceMs: 0, percentPerDay: 10, mostPercent: 30 };
    const told = (await readClass(folder(files), { roster: roster(canvasRoster), late })).problems;
    expect(told.find(({ code }) => code === "INTAKE_LATE_UNKNOWN")?.message).toBe(
      "101#1: late, but the delay is unknown. No points are deducted.",
    );
    const free = await readClass(folder(files), { roster: roster(canvasRoster), late: { ...late, percentPerDay: 0 } });
    expect(free.problems.map(({ code }) => code)).not.toContain("INTAKE_LATE_UNKNOWN");
    const plain = { roster: roster(canvasRoster), late, deadline: Date.UTC(2026, 0, 1) };
    const untimed = await readClass(folder({ "ada/a.js": "1", "jorg/a.js": "2" }), plain);
    expect(untimed.problems.find(({ code }) => code === "INTAKE_LATE_UNKNOWN")?.message).toContain(
      "the hand-in time is unknown",
    );
  });

  it("gives one submission per user, with original file names, unpacked archives and the late mark", async () => {
    const found = await both(files, { roster: roster(canvasRoster) });
    expect(found.layout).toBe("canvas");
    expect(summary(found)).toEqual([
      ["101#1", "main.js notes.txt"],
      ["102#1", "main.js"],
      ["103#1", "text.html"],
    ]);
    expect(found.submissions.map(({ lateness }) => lateness.is)).toEqual(["on time", "late", "on time"]);
    expect(found.withoutWork).toEqual(["104"]);
    expect(found.unmatched).toEqual([
      { name: "readme.txt", why: "no rule", near: [] },
      { name: "stranger_999_5009_main.js", why: "unknown", near: [] },
    ]);
  });

  it("matches by name if the roster's numbers are not those of Canvas", async () => {
    const plain = roster("id,name\n101,Sam Adams\n7,Ada Lovelace\n");
    const found = await both({ "lovelaceada_101_5001_main.js": "1" }, { roster: plain });
    expect(found.submissions).toMatchObject([{ by: ["7"] }]);
  });

  it("lists the export's own students if there is no roster, anonymous ones too", async () => {
    const found = await both({
      "anon_aB3xZ_5001_main.js": "1",
      "LATE_anon_Qq9_5002_main.js": "2",
      "anon_Zz1_link.html": "3",
    });
    expect(found.members.map(({ key }) => key)).toEqual(["anon_Qq9", "anon_Zz1", "anon_aB3xZ"]);
    expect(found.submissions.map(({ lateness }) => lateness.is)).toEqual(["late", "on time", "on time"]);
    expect(found.problems).toMatchObject([{ code: "INTAKE_LINK" }]);
  });

  it("removes Canvas's suffix from resubmitted files and reports it with the submission", async () => {
    const again = { "lovelaceada_101_5001_median-1.py": "1", "adamssam_104_5002_median.py": "2" };
    const found = await both(again, { roster: roster(canvasRoster), requires: ["median.py"] });
    expect(summary(found)).toEqual([
      ["104#1", "median.py"],
      ["101#1", "median.py"],
    ]);
    expect(found.submissions[1]?.content).toMatchObject({ notes: [expect.stringContaining("median-1.py")] });
  });

  it("keeps two files with the same name apart", async () => {
    const found = await both({ "a_1_10_x.js": "1", "a_1_11_x.js": "2", "b_2_12_x.js": "1" });
    expect(summary(found)).toEqual([
      ["1#1", "11_x.js x.js"],
      ["2#1", "x.js"],
    ]);
  });
});

describe("reading a Moodle export", () => {
  const worksheet = `Identifier,"Full name","Email address"
Participant 11,"Ada Lovelace",ada@x.org
Participant 12,"Jörg Müller",j@x.org
Participant 13,"Zoë O'Neil",z@x.org
`;

  it("reads folders of old and new versions, with the data of other plugins beside the files", async () => {
    const found = await both(
      {
        "Ada Lovelace_11_assignsubmission_file/main.js": "1",
        "Ada Lovelace_11_assignsubmission_onlinetext/onlinetext.html": "<p>",
        "Jörg Müller_12_assignsubmission_file_/hw/main.js": "2",
        "zoe99_Zoë O'Neil_13_assignsubmission_file_/main.js": "3",
      },
      { roster: roster(worksheet) },
    );
    expect(found.layout).toBe("moodle");
    expect(summary(found)).toEqual([
      ["11#1", "main.js onlinetext/onlinetext.html"],
      ["12#1", "main.js"],
      ["13#1", "main.js"],
    ]);
    expect(found.submissions.every(({ lateness }) => lateness.is === "unknown")).toBe(true);
  });

  it("keeps participant numbers and ID numbers apart, and asks if number and name disagree", async () => {
    const numbers = roster(`ID;"Vollständiger Name";ID-Nummer
Teilnehmer/in 4101;"Ada Lovelace";4102
Teilnehmer/in 4102;"Alan Turing";4101
`);
    const found = await both(
      {
        "Ada Lovelace_4101_assignsubmission_file_/main.js": "1",
        "Alan Turing_4102_assignsubmission_file_/main.js": "2",
      },
      { roster: numbers },
    );
    expect(found.members.map(({ name, id, participant }) => [name, id, participant])).toEqual([
      ["Ada Lovelace", "4102", "4101"],
      ["Alan Turing", "4101", "4102"],
    ]);
    expect(found.submissions.map(({ sources, by }) => [sources[0], ...by])).toEqual([
      ["Ada Lovelace_4101_assignsubmission_file_", "4102"],
      ["Alan Turing_4102_assignsubmission_file_", "4101"],
    ]);
    const swapped = await both({ "Alan Turing_4101_assignsubmission_file_/main.js": "1" }, { roster: numbers });
    expect(swapped.submissions).toEqual([]);
    expect(swapped.unmatched).toMatchObject([
      { why: "ambiguous", near: ["Ada Lovelace", "Alan Turing"], may: ["4102", "4101"] },
    ]);
    expect(swapped.problems[0]?.message).toContain(
      "Ada Lovelace (4102) or Alan Turing (4101): its key and its name belong to different students.",
    );
    expect(swapped.problems[0]?.fix).toContain("correct the name and the number in the folder name");
    const corrected = await both({ "Alan Turing_4102_assignsubmission_file_/main.js": "1" }, { roster: numbers });
    expect(corrected.submissions).toMatchObject([{ by: ["4101"] }]);
  });

  it("reads exports without folders and exports with blind marking", async () => {
    const found = await both(
      {
        "Participant_11_assignsubmission_file_main.js": "1",
        "Participant_12_assignsubmission_file_my_file_2.js": "2",
        "odd.txt": "?",
      },
      { roster: roster(worksheet) },
    );
    expect(summary(found)).toEqual([
      ["11#1", "main.js"],
      ["12#1", "my_file_2.js"],
    ]);
    expect(found.unmatched).toMatchObject([{ name: "odd.txt" }]);
  });

  it("keeps a team apart from a student or another team with the same name", async () => {
    const named = roster("id,name,group\nX,Ada,X\n2,Bob,group X\n3,Eve,group group X\n");
    const found = await both(
      {
        "X_501_assignsubmission_file/main.js": "1",
        "group X_502_assignsubmission_file/main.js": "2",
        "group group X_503_assignsubmission_file/main.js": "3",
      },
      { roster: named },
    );
    expect(found.submissions.map(({ key, by }) => [key, ...by])).toEqual([
      ["X#1", "X"],
      ["2#1", "2"],
      ["3#1", "3"],
    ]);
  });

  it("assigns a team's submission to all its members", async () => {
    const groups = roster("id,name,group\n1,Ada,Team Blue\n2,Bob,Team Blue\n3,Eve,Team Red\n");
    const found = await both({ "Team Blue_501_assignsubmission_file/main.js": "1" }, { roster: groups });
    expect(found.submissions).toMatchObject([{ key: "1+2#1", by: ["1", "2"], group: "Team Blue" }]);
    expect(found.withoutWork).toEqual(["3"]);
  });
});

describe("reading a Gradescope export", () => {
  const metadata = `---
submission_1:
  :submitters:
  - :name: Ada Lovelace
    :sid: '007'
    :email: ada@x.org
  :created_at: 2026-11-20 22:58:00.000000000 Z
  :score: 3.0
submission_2:
  :submitters:
  - :name: Jörg Müller
    :sid: 008
    :email: j@x.org
  - :name: Zoë O'Neil
    :sid:
    :email: z@x.org
  :created_at: 2026-11-21 00:30:00.000000000 Z
`;
  const files = {
    "assignment_1_export/submission_metadata.yml": metadata,
    "assignment_1_export/submission_1/main.js": "1",
    "assignment_1_export/submission_2/main.js": "2",
    "assignment_1_export/submission_3/main.js": "nobody knows",
  };

  it("gives roster and submissions together, with group submissions and times", async () => {
    const found = await both(files, { deadline: Date.UTC(2026, 10, 20, 23, 0), late: { graceMs: 60_000 } });
    expect(found.layout).toBe("gradescope");
    expect(found.members.map(({ key, name }) => [key, name])).toEqual([
      ["007", "Ada Lovelace"],
      ["008", "Jörg Müller"],
      ["z@x.org", "Zoë O'Neil"],
    ]);
    expect(found.submissions).toMatchObject([
      { key: "007#1", by: ["007"], lateness: { is: "on time" } },
      { by: ["008", "z@x.org"], lateness: { is: "late", byMs: 89 * 60_000 } },
    ]);
    expect(found.unmatched).toMatchObject([{ name: "submission_3" }]);
  });

  it("matches a roster by sid, then e-mail, then name", async () => {
    const known = roster("id,name,email\n007,Ada,x@x.org\n8,J. Müller,J@X.org\n9,Zoë O'Neil,\n");
    expect((await both(files, { roster: known })).submissions).toMatchObject([{ by: ["007"] }, { by: ["8", "9"] }]);
  });

  it("does not match by name if the roster has another e-mail address for the student", async () => {
    const known = roster("id,name,email\n007,Ada,x@x.org\n8,J. Müller,J@X.org\n9,Zoë O'Neil,other@x.org\n");
    const found = await both(files, { roster: known });
    expect(found.submissions).toMatchObject([{ by: ["007"] }]);
    expect(found.unmatched).toMatchObject([
      { name: "submission_3" },
      { name: "submission_2", near: ["Zoë O'Neil"], may: ["9", "8"] },
    ]);
    expect(found.problems.find(({ about }) => about === "submission_2")).toMatchObject({
      code: "INTAKE_AMBIGUOUS",
      message:
        "submission_2 could belong to Zoë O'Neil (9): only the name matches, and the roster has another key of this kind for the student.",
    });
  });

  it("keeps people with the same student number apart if there is no roster", async () => {
    const shared = metadata.replace("008", "'007'");
    const found = await both({ ...files, "assignment_1_export/submission_metadata.yml": shared });
    expect(found.members.map(({ key }) => key)).toEqual(["ada@x.org", "j@x.org", "z@x.org"]);
    expect(found.submissions.map(({ by }) => by)).toEqual([["ada@x.org"], ["j@x.org", "z@x.org"]]);
  });

  it("lists submissions that are in the metadata but not in the export", async () => {
    const { "assignment_1_export/submission_2/main.js": _, ...rest } = files;
    const found = await both(rest);
    expect(found.problems).toContainEqual(
      expect.objectContaining({ code: "INTAKE_METADATA", severity: "warning", about: "submission_2" }),
    );
    expect((await both(files)).problems.filter(({ code }) => code === "INTAKE_METADATA")).toEqual([]);
  });

  it("leaves all submissions unmatched if the metadata cannot be read", async () => {
    const found = await both({ "submission_metadata.yml": "- a list", "submission_1/a": "1" });
    expect(found.submissions).toEqual([]);
    expect(found.problems).toContainEqual(expect.objectContaining({ code: "INTAKE_METADATA" }));
  });
});

describe("reading folders and files with free names", () => {
  const known = roster(
    "id,login,name,email,group\n1001,ada,Ada Lovelace,ada.l@x.org,\n1002,jm,Jörg Müller,jm@x.org,\n1003,zoe,Zoë O'Neil,z@x.org,\n1004,wei,张伟,w@x.org,\n1005,sam1,Sam Adams,s1@x.org,\n1006,sam2,Sam Adams,s2@x.org,\n",
  );

  it.each([
    ["1001", "1001"],
    ["ada", "1001"],
    ["Ada Lovelace", "1001"],
    ["lovelace_ada", "1001"],
    ["Lovelace, Ada - sheet 3", "1001"],
    ["ada.l@x.org", "1001"],
    ["hw1_ADA_final", "1001"],
    ["Joerg", null],
    ["jorg muller", "1002"],
    ["Zoë O'Neil", "1003"],
    ["zoe\u0308 oneil", "1003"],
    ["张伟", "1004"],
    ["sam adams", null],
    ["sam2_sam adams", "1006"],
    ["group 1", null],
  ])("assigns the folder %s to the student %s", async (name, key) => {
    const found = await both({ [`${name}/main.js`]: "1", "ada/other.js": "2", "zoe/z.js": "3" }, { roster: known });
    const owner = found.submissions.find(({ sources }) => sources.includes(name))?.by ?? null;
    expect(owner).toEqual(key === null ? null : [key]);
  });

  it("keeps every attempt in order and applies the class's policy for what counts", async () => {
    const files = { "ada.zip": zipOf({ a: "1" }), "ada (2).zip": zipOf({ a: "2" }), "ada (10).zip": zipOf({ a: "3" }) };
    const counted = async (attempts: "first" | "last" | "best") =>
      (await both(files, { roster: known, attempts })).submissions.map(({ sources, counts }) => [sources[0], counts]);
    expect(await counted("last")).toEqual([
      ["ada.zip", false],
      ["ada (2).zip", false],
      ["ada (10).zip", true],
    ]);
    expect((await counted("best")).every(([, counts]) => counts)).toBe(true);
    expect((await counted("first")).map(([, counts]) => counts)).toEqual([true, false, false]);
  });

  it("follows the teacher's pattern, with attempts and times", async () => {
    const match = /^(?<student>[a-z0-9]+)-(?<attempt>\d+)-(?<time>.+Z)\.zip$/u;
    const found = await both(
      {
        "ada-1-2026-11-20 10.zip": zipOf({ a: "0" }),
        "ada-1-2026-11-20 10:00Z.zip": zipOf({ a: "1" }),
        "ada-2-2026-11-20 12:00Z.zip": zipOf({ a: "2" }),
      },
      { roster: known, match, deadline: Date.UTC(2026, 10, 20, 11), attempts: "last-before-deadline" },
    );
    expect(found.submissions).toMatchObject([
      { attempt: 1, counts: true, lateness: { is: "on time" } },
      { attempt: 2, counts: false, lateness: { is: "late", byMs: 3_600_000 } },
    ]);
    expect(found.unmatched).toHaveLength(1);
  });

  it("gives no time and a finding if a name contains a time that does not exist", async () => {
    const match = /^(?<student>[a-z0-9]+)-(?<time>.+)\.zip$/u;
    const found = await both(
      {
        "ada-2026-02-30_10-00.zip": zipOf({ a: "0" }),
        "ada-2026-11-20_12-00.zip": zipOf({ a: "2" }),
      },
      {
        roster: known,
        match,
        deadline: Date.UTC(2026, 10, 20, 10),
        clock: { zone: "Europe/Berlin", from: "timezone" },
      },
    );
    expect(found.submissions.map(({ submittedAt }) => submittedAt).sort()).toEqual(["2026-11-20T11:00:00.000Z", null]);
    expect(found.submissions.find(({ submittedAt }) => submittedAt !== null)?.lateness).toEqual({
      is: "late",
      byMs: 3_600_000,
    });
    expect(found.problems.map(({ code }) => code)).toContain("INTAKE_TIME");
  });

  it("keeps a single folder that a required path names, and removes any other", async () => {
    const take = async (requires: readonly string[], files: Record<string, string>) => {
      const found = await both({ "ada.zip": zipOf(files) }, { roster: known, requires });
      return found.submissions.map(({ content }) => (content.is === "taken" ? content.paths : content.is));
    };
    expect(await take(["src/Main.java"], { "src/Main.java": "1" })).toEqual([["src/Main.java"]]);
    expect(await take(["src/Main.java"], { "hw1/src/Main.java": "1" })).toEqual([["src/Main.java"]]);
    expect(await take(["*.java"], { "hw1/Main.java": "1" })).toEqual([["Main.java"]]);
    expect(await take(["**/Stack.java"], { "a/b/Stack.java": "1", "c/x": "2" })).toEqual([["a/b/Stack.java", "c/x"]]);
    expect(await take(["**/Stack.java"], { "a/b/Queue.java": "1", "c/x": "2" })).toEqual(["incomplete"]);
    const name = "Übung.py";
    expect(await take([name.normalize("NFC")], { [name.normalize("NFD")]: "1" })).toEqual([[name.normalize("NFC")]]);
  });

  it("treats loose files of one student as one submission", async () => {
    const found = await both({ "ada_main.js": "1", "ada_notes.txt": "2", "zoe.js": "3" }, { roster: known });
    expect(summary(found)).toEqual([
      ["1001#1", "ada_main.js ada_notes.txt"],
      ["1003#1", "zoe.js"],
    ]);
  });

  it("reports names that match no student, with the student who may be meant", async () => {
    const found = await both({ "Jorg Muler/x": "1", "Sam Adams/x": "2", "wei/x": "3" }, { roster: known });
    expect(found.unmatched).toEqual([
      { name: "Jorg Muler", why: "unknown", near: ["Jörg Müller"] },
      { name: "Sam Adams", why: "ambiguous", near: ["Sam Adams", "Sam Adams"], may: ["1005", "1006"] },
    ]);
  });

  it("does not follow links out of the export and skips operating system files", async () => {
    const at = folder({ "ada/x": "1", "__MACOSX/x": "2", ".DS_Store": "3", "ada/.DS_Store": "4", "ada/._x": "5" });
    symlinkSync("/etc", join(at, "zoe"));
    const found = await readClass(at, { roster: known });
    expect(summary(found)).toEqual([["1001#1", "x"]]);
    expect(found.unmatched).toEqual([{ name: "zoe", why: "link", near: [] }]);
  });
});

describe("several submissions of one student", () => {
  const known = roster("id,login,name\n1001,ada,Ada Lovelace\n1002,alan,Alan Turing\n1003,grace,Grace Hopper\n");
  const counted = ({ submissions }: Awaited<ReturnType<typeof readClass>>) =>
    Object.fromEntries(submissions.map(({ label, countsFor }) => [label, countsFor]));
  const codes = ({ problems }: Awaited<ReturnType<typeof readClass>>) => problems.map(({ code }) => code);

  it("do not count if neither time nor number orders them, and a finding names the student", async () => {
    for (const files of [
      { "ada.zip": zipOf({ a: "1" }), "ada-final.zip": zipOf({ a: "2" }) },
      { "ada/a": "1", "ada.zip": zipOf({ a: "2" }) },
    ]) {
      const found = await both(files, { roster: known });
      expect(found.submissions).toMatchObject([
        { by: ["1001"], counts: true, countsFor: ["1001"], content: { is: "undecided" } },
        { by: ["1001"], counts: true, countsFor: ["1001"], content: { is: "undecided" } },
      ]);
      const [question] = found.problems.filter(({ code }) => code === "INTAKE_UNORDERED");
      for (const name of ["Ada Lovelace", ...Object.keys(files).map((path) => path.split("/")[0] ?? "")])
        expect(question?.message).toContain(name);
      expect(found.withoutWork).toEqual(["1002", "1003"]);
      const best = await both(files, { roster: known, attempts: "best" });
      expect(best.submissions).toMatchObject([{ content: { is: "taken" } }, { content: { is: "taken" } }]);
      expect(codes(best)).not.toContain("INTAKE_UNORDERED");
    }
  });

  it("cause no question if they are equal, or if all except one are empty", async () => {
    const same = await both({ "ada/a": "1", "ada.zip": zipOf({ a: "1" }) }, { roster: known });
    expect(same.submissions.filter(({ counts }) => counts)).toHaveLength(1);
    expect(codes(same)).toEqual([]);
    const filled = await both({ "ada-new.zip": zipOf({}), "ada.zip": zipOf({ a: "2" }) }, { roster: known });
    expect(counted(filled)).toEqual({ "ada-new.zip": [], "ada.zip": ["1001"] });
  });

  it("cause a question if only some have a time, unless one was submitted before the deadline", async () => {
    const match = /^(?<student>[a-z]+)(?: (?<time>.+Z))?\.zip$/u;
    const files = { "ada 2026-11-20T10:00Z.zip": zipOf({ a: "1" }), "ada.zip": zipOf({ a: "2" }) };
    expect(codes(await both(files, { roster: known, match }))).toContain("INTAKE_UNORDERED");
    const deadline = Date.UTC(2026, 10, 20, 9);
    const policy = { deadline, attempts: "last-before-deadline" as const };
    expect(counted(await both(files, { roster: known, match, ...policy }))).toEqual({
      "ada 2026-11-20T10:00Z.zip": [],
      "ada.zip": ["1001"],
    });
  });

  it("are one submission if they are a folder or an archive with loose files beside it", async () => {
    const folders = await both({ "ada/main.js": "1", "ada_notes.txt": "2" }, { roster: known });
    expect(summary(folders)).toEqual([["1001#1", "ada_notes.txt main.js"]]);
    expect(folders.submissions[0]?.sources).toEqual(["ada", "ada_notes.txt"]);
    const archives = await both({ "ada.zip": zipOf({ "hw/main.js": "1" }), "ada_notes.txt": "2" }, { roster: known });
    expect(summary(archives)).toEqual([["1001#1", "ada_notes.txt main.js"]]);
    const twice = await both({ "ada/ada.js": "1", "ada.js": "1" }, { roster: known });
    expect(summary(twice)).toEqual([["1001#1", "ada.js"]]);
    const clash = await both({ "ada/ada.js": "1", "ada.js": "2" }, { roster: known });
    expect(clash.submissions).toMatchObject([{ content: { is: "refused", code: "SUBMISSION_ARCHIVE_CLASH" } }]);
    const two = await both({ "ada/a.js": "1", "ada (2)/a.js": "2", "ada_notes.txt": "3" }, { roster: known });
    expect(codes(two)).toContain("INTAKE_UNORDERED");
  });

  it("are attempts if they are versions of one file, and one submission if they are different files", async () => {
    const versions = await both({ "ada.js": "1", "ada (2).js": "2", "ada (10).js": "3" }, { roster: known });
    expect(counted(versions)).toEqual({ "ada.js": [], "ada (2).js": [], "ada (10).js": ["1001"] });
    const parts = await both({ "ada-1.js": "1", "ada-2.js": "2" }, { roster: known });
    expect(summary(parts)).toEqual([["1001#1", "ada-1.js ada-2.js"]]);
  });
});

describe("reading a class", () => {
  it("again gives the same value, and the content of each submission is delivered once", async () => {
    const at = folder({ "ada/main.js": "1", "bob.zip": zipOf({ "main.js": "1" }), "eve/main.js": "2" });
    const taken: string[] = [];
    const take: IntakeOptions["take"] = async ({ key, hash, submission }) => {
      expect(submission.tar.length).toBeGreaterThan(0);
      taken.push(`${key} ${hash}`);
    };
    const first = await readClass(at, { take });
    const second = await readClass(at, { take });
    expect(second).toEqual(first);
    expect(taken.slice(3)).toEqual(taken.slice(0, 3));
    expect(JSON.parse(JSON.stringify(first))).toEqual(first);
    expect(first.problems).toMatchObject([
      { code: "INTAKE_SAME_CONTENT", message: expect.stringMatching("ada#1, bob#1") },
    ]);
  });

  it("finds its class.yaml and ignores the teacher's own files there", async () => {
    const at = folder({
      "class.yaml": "name: P1\nroster: roster.csv\nsubmissions: .\nrubric: rubric.md\n",
      "roster.csv": "id,name\n1,Ada\n2,Bob\n",
      "rubric.md": "# Rubric\n",
      "ada/main.js": "1",
    });
    const read = await readClassFolder(at);
    expect(read).toMatchObject({ ok: true, class: { folder: at, intake: { unmatched: [], withoutWork: ["2"] } } });
  });

  it("accepts an export alone, with or without a roster", async () => {
    const at = folder({ "export.zip": zipOf({ "a_1_2_x.js": "1", "b_2_3_x.js": "2" }), "roster.csv": canvasRoster });
    expect(await readClassFolder(join(at, "export.zip"))).toMatchObject({
      ok: true,
      class: { intake: { layout: "canvas", members: [{ key: "1" }, { key: "2" }] } },
    });
    expect(await readClassFolder(join(at, "export.zip"), { roster: join(at, "roster.csv") })).toMatchObject({
      ok: false,
      findings: expect.arrayContaining([expect.objectContaining({ code: "INTAKE_NOTHING" })]),
    });
  });

  it("reports all missing files before anything is read", async () => {
    const at = folder({ "class.yaml": "roster: r.csv\nworkflow: w.wf.md\nsubmissions: nowhere\n" });
    const missing = await readClassFolder(at);
    expect(missing.findings.map(({ code }) => code)).toEqual(["CLASS_FILE_MISSING", "CLASS_FILE_MISSING"]);
    writeFileSync(join(at, "class.yaml"), "submissions: nowhere\n");
    expect(await readClassFolder(at)).toMatchObject({ ok: false, findings: [{ code: "SUBMISSION_REFUSED" }] });
    expect(await readClassFolder(join(at, "no such"))).toMatchObject({
      ok: false,
      findings: [{ code: "CLASS_PATH_MISSING" }],
    });
  });
});
