import type { CommandOutcome, Decision } from "@markmill/sandbox";
import { describe, expect, it } from "vitest";
import { readDecision } from "./judge-results.ts";

const nonce = "5e".repeat(32);
const outcome = { timedOut: false } as CommandOutcome;
const left = (results: Decision["results"], more: Partial<CommandOutcome> = {}) =>
  readDecision({ outcome: { ...outcome, ...more }, results, nonce });
const file = (value: unknown) => ({ kind: "read", bytes: Buffer.from(JSON.stringify(value)) }) as const;

describe("results of a judge command", () => {
  it("results are checked against the nonce and returned without it", () => {
    const test = { name: `to/${nonce}`, status: "passed", message: `env: ${nonce.toUpperCase()}` };
    const { tests = "", notes } = left(file({ nonce, tests: [test] }));
    expect(tests.toLowerCase()).not.toContain(nonce);
    expect(JSON.parse(tests)).toMatchObject({ is: "read", tests: [{ passed: true, weight: 1, share: 1 }] });
    expect(notes).toBeUndefined();
  });

  it("results are absent when there is no file", () => {
    expect(left({ kind: "missing" })).toEqual({});
  });

  it.each([
    ["another nonce", file({ nonce: "5e".repeat(31), tests: [] }), "forged", "nonce"],
    ["no nonce", file({ tests: [] }), "forged", "nonce"],
    ["a list", file([]), "forged", "nonce"],
    ["not valid JSON", { kind: "read", bytes: Buffer.from("{") } as const, "unusable", "not valid JSON"],
    [
      "two tests of one name",
      file({ nonce, tests: [1, 2].map(() => ({ name: "a", status: "passed" })) }),
      "unusable",
      "two tests have the same name",
    ],
    ["too much", { kind: "too long", size: 10_000_000 } as const, "unusable", "too long"],
    ["a link", { kind: "refused", why: "it is a link" } as const, "unusable", "link"],
  ])("results are marked as not counting: %s", (_, results, is, why) => {
    const { tests = "", notes = [] } = left(results);
    expect(JSON.parse(tests)).toMatchObject({ is, why: expect.stringContaining(why) });
    expect(notes).toHaveLength(1);
  });

  it("autograder results are marked as unproven, and missing ones are a grader error", () => {
    const by = (results: Decision["results"], exitCode = 0) =>
      readDecision({ outcome: { ...outcome, exitCode }, results, nonce }, "autograder");
    const tests = [
      { name: "a", score: 1, max_score: 2, output: "half", output_format: "html" },
      { name: "a", status: "failed" },
      { score: "9", max_score: 3, visibility: "hidden" },
    ];
    const { tests: text = "", notes } = by(file({ tests, visibility: "after_published" }), 1);
    expect(JSON.parse(text)).toMatchObject({
      is: "read",
      tests: [
        { name: "a", share: 0.5, weight: 2, message: "half", visibility: "after_published" },
        { name: "a (2)", share: 0, passed: false },
        { name: "Test 3", share: 1, weight: 3, visibility: "hidden" },
      ],
    });
    expect(notes).toEqual([
      expect.stringContaining("cannot be verified"),
      expect.stringContaining("exit code 1"),
      "Test 3: 9 of 3 points is extra credit",
    ]);
    for (const [left, code, why] of [
      [{ kind: "missing" }, 3, "setup.sh"],
      [{ kind: "missing" }, 4, "results.json"],
      [file({ output: "nothing" }), 0, "neither a score nor tests"],
      [file([]), 0, "results.json"],
    ] as const) {
      const said = JSON.parse(by(left, code).tests ?? "");
      expect(said).toMatchObject({ is: "unusable", why: expect.stringContaining(why) });
    }
  });

  it("results do not count when a time limit ended the command", () => {
    const { tests = "" } = left(null, { timedOut: "silence" });
    expect(JSON.parse(tests)).toMatchObject({ is: "unusable", why: expect.stringContaining("silent") });
  });

  it("a share above the maximum is reduced, and a note reports it", () => {
    const { notes } = left(file({ nonce, tests: [{ name: "a", status: "passed", share: 7 }] }));
    expect(notes).toEqual(["a: a share of 7 became 1"]);
  });
});
