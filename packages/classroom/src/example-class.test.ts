/**
 * Tests the example class. The expected grades are kept here, not in the example. Its tests run as in a judge session, with a stand-in for
 * `guest` that has no isolation and twice the timeout, because test machines are busy. The submissions are our own and harmless.
 */

import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { readRubricFile } from "@markmill/definition";
import { findAttempts, gradeWork, readTestResults, scoreTests } from "@markmill/grading";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { readClassFolder } from "./read-class-folder.ts";

const root = join(import.meta.dirname, "../../..");
const example = join(root, "examples/class-roman");
interface Expected {
  readonly tests?: Readonly<Record<string, number>>;
  readonly ungradable?: string;
  readonly late?: boolean;
  readonly flags?: readonly string[];
}
const expected: Record<string, Expected> = JSON.parse(
  readFileSync(join(root, "tests/fixtures/class-roman/expected.json"), "utf8"),
);
const home = mkdtempSync(join(tmpdir(), "markmill-example-"));
const tars = new Map<string, Buffer>();
const run = promisify(execFile);
let found: Extract<Awaited<ReturnType<typeof readClassFolder>>, { ok: true }>;

beforeAll(async () => {
  const read = await readClassFolder(example, {
    take: async ({ key, submission }) => {
      tars.set(key, submission.tar);
    },
  });
  if (!read.ok) throw new Error(JSON.stringify(read.findings));
  found = read;
  mkdirSync(join(home, "bin"));
  const guest = `#!/bin/bash\nwhile [ "$1" != -- ]; do [ "$1" = --time ] && limit=$2; shift; done; shift\nexec timeout -s KILL $((limit * 2)) "$@"\n`;
  writeFileSync(join(home, "bin/guest"), guest);
  chmodSync(join(home, "bin/guest"), 0o755);
});
afterAll(() => rmSync(home, { recursive: true }));

describe("the example class", () => {
  it("has at least 24 submissions, one student without a submission and one unmatched file", () => {
    const { intake } = found.class;
    expect(intake.layout).toBe("canvas");
    expect(intake.submissions.length).toBeGreaterThanOrEqual(24);
    expect(intake.submissions.map(({ by }) => by.join()).sort()).toEqual(Object.keys(expected));
    expect(intake.withoutWork).toEqual(["4127"]);
    expect(intake.unmatched).toMatchObject([{ name: "lecture-notes.txt" }]);
    expect(intake.submissions.filter(({ lateness }) => lateness.is === "late").map(({ by }) => by[0])).toEqual(
      Object.entries(expected).flatMap(([id, { late }]) => (late === true ? [id] : [])),
    );
  });

  it.each(Object.entries(expected).filter(([, { ungradable }]) => ungradable !== undefined))(
    "has the ungradable submission %s, with a reason and without a zero",
    (id, { ungradable }) => {
      const content = found.class.intake.submissions.find(({ by }) => by.includes(id))?.content;
      expect(content?.is).toMatch(/refused|incomplete/);
      expect(found.findings.find(({ about }) => about?.includes(`_${id}_`))?.code).toBe(ungradable);
    },
  );

  const tested = Object.entries(expected).flatMap(([id, { tests }]) =>
    tests === undefined ? [] : [[id, tests] as const],
  );
  // All of them are graded in the jail, with the same points, in tests/e2e/class.test.ts.
  const some = tested.filter(
    ([id], index) => inject("thorough") || (expected[id]?.flags ?? []).length > 0 || index % 8 === 3,
  );
  it.concurrent.each(some)(
    "gives %s the points of its tests and reports only attempts to influence the grader",
    async (id, points) => {
      const work = join(home, id);
      mkdirSync(work);
      writeFileSync(join(home, `${id}.tar`), tars.get(`${id}#1`) ?? "");
      await run("tar", ["-xf", join(home, `${id}.tar`), "-C", work]);
      const texts = new Map(readdirSync(work).map((name) => [name, readFileSync(join(work, name), "utf8")] as const));
      const kinds = new Set(findAttempts(texts).map(({ kind }) => kind));
      expect([...kinds]).toEqual(expected[id]?.flags ?? []);
      const nonce = `nonce-of-this-session-${id}`;
      const tests = join(example, "tests");
      const reporter = `--test-reporter=${join(tests, "results-reporter.mjs")}`;
      const { stdout } = await run(process.execPath, ["--test", reporter, join(tests, "roman.test.mjs")], {
        cwd: work,
        env: { PATH: `${join(home, "bin")}${delimiter}${process.env.PATH}`, MARKMILL_NONCE: nonce },
        maxBuffer: 1e8,
      }).catch((failed: { stdout: string }) => failed);
      const results = readTestResults(stdout, nonce);
      if (results.is !== "read") throw new Error(results.why);
      const { rubric } = readRubricFile(readFileSync(join(example, "rubric.md"), "utf8"), "rubric.md");
      const scored = (rubric?.criteria ?? [])
        .filter(({ source }) => source.is === "tests")
        .map((criterion) => [criterion.id, scoreTests(criterion, results.tests)] as const);
      expect(
        Object.fromEntries(scored.map(([key, score]) => [key, score.is === "scored" ? score.points : null])),
      ).toEqual(points);
      // The criteria for a model are still open, so this is not yet a grade.
      expect(rubric && gradeWork(rubric, { tests: results, verdicts: null })).toMatchObject({
        outcome: { is: "needs human" },
        total: null,
      });
    },
    240_000,
  );
});
