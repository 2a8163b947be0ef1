// Tests submissions from repositories: their times, Git LFS pointers, and the commit stored with the submission.
import type { Entry } from "@markmill/grading/submission";
import { describe, expect, it } from "vitest";
import { type IntakeOptions, readClass } from "./class-intake.ts";
import type { CommitFacts } from "./commit-facts.ts";
import type { ExportSource } from "./export-source.ts";
import { readRoster } from "./roster.ts";

const roster = readRoster(Buffer.from("id,Submitted at\nada,2026-11-01T00:00:00Z\n"), "roster.csv");
const hash = "c".repeat(40);
const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${"4d".repeat(32)}\nsize 12345\n`;

function sourceOf(files: Record<string, string>, commit: Partial<CommitFacts> | null): ExportSource {
  const entries = Object.entries(files).map(
    ([path, text]): Entry => ({ kind: "file", path, executable: false, bytes: Buffer.from(text) }),
  );
  const facts = commit === null ? {} : { commit: { hash, at: "2026-11-12T12:00:00.000Z", doubts: [], ...commit } };
  const says = { by: "keys", keys: ["ada"], group: null } as const;
  const work = { label: "ada", pieces: [{ top: "ada", as: null }], says, markedLate: false };
  return {
    tops: [{ name: "ada", is: "folder" }],
    works: [{ ...work, submittedAt: null, attempt: null }],
    links: [],
    read: async () => ({ entries, notes: [], ...facts }),
    close: () => {},
  };
}

const read = async (source: ExportSource, options: IntakeOptions = {}) => {
  const found = await readClass("/class", { roster, layout: "plain", source, ...options });
  return { ...found, codes: found.problems.map(({ code }) => code) };
};
const late = { graceMs: 0, percentPerDay: 10, mostPercent: 100 };

describe("a submission from a repository", () => {
  it("takes its lateness from its commit and ignores the roster", async () => {
    const deadline = Date.parse("2026-11-10T12:00:00Z");
    const { submissions } = await read(sourceOf({ "a.c": "1" }, {}), { deadline, late });
    expect(submissions).toMatchObject([
      {
        submittedAt: "2026-11-12T12:00:00.000Z",
        lateness: { is: "late", byMs: 2 * 86_400_000 },
        content: { is: "taken", commit: { hash, at: "2026-11-12T12:00:00.000Z" } },
      },
    ]);
    const early = await read(sourceOf({ "a.c": "1" }, {}), { deadline: deadline + 3 * 86_400_000, late });
    expect(early.submissions).toMatchObject([{ lateness: { is: "on time" } }]);
  });

  it("with an impossible commit date has no time, and the teacher is informed", async () => {
    const doubts = ["it is dated after it was fetched"];
    const { submissions, codes } = await read(sourceOf({ "a.c": "1" }, { at: null, doubts }), { deadline: 0, late });
    expect(submissions).toMatchObject([{ submittedAt: null, lateness: { is: "unknown" } }]);
    expect(codes).toEqual(["INTAKE_COMMIT_DATE", "INTAKE_LATE_UNKNOWN"]);
  });

  it("reports its commit also if a required file is missing", async () => {
    const { submissions } = await read(sourceOf({ "a.c": "1" }, {}), { requires: ["b.c"] });
    expect(submissions).toMatchObject([{ content: { is: "incomplete", commit: { hash } } }]);
  });

  it("is not graded if a needed file is stored in Git LFS, and the student is not blamed", async () => {
    const { submissions, unfetched, codes } = await read(sourceOf({ "a.c": pointer, "README.md": "x" }, {}));
    expect(submissions).toEqual([]);
    expect(unfetched).toMatchObject([{ by: ["ada"], message: expect.stringContaining("a.c is stored in Git LFS") }]);
    expect(codes).toContain("INTAKE_LFS");
  });

  it("is graded without a film that is stored in Git LFS", async () => {
    const { submissions } = await read(sourceOf({ "a.c": "1", "demo.mp4": pointer }, {}));
    expect(submissions).toMatchObject([
      { content: { is: "taken", paths: ["a.c"], notes: ["demo.mp4 is stored in Git LFS and was skipped"] } },
    ]);
  });
});

it("an uploaded Git LFS pointer is refused with a reason and not graded", async () => {
  const { submissions } = await read(sourceOf({ "a.c": pointer }, null));
  expect(submissions).toMatchObject([
    { content: { is: "refused", message: "a.c is stored in Git LFS; the submission contains only the pointer." } },
  ]);
});
