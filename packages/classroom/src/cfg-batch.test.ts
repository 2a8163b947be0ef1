import { describe, expect, it } from "vitest";
import { factsScore, lengthScore, readCfgBatch } from "./cfg-batch.ts";

const read = (value: unknown) =>
  readCfgBatch(typeof value === "string" ? value : JSON.stringify(value, null, 2), "b.cfg.json");

describe("a .cfg.json batch", () => {
  it("needs only a workflow", () => {
    expect(read({ workflow_files: "a.wf.md" })).toEqual({
      findings: [],
      batch: {
        setup: null,
        cleanup: null,
        expectedLength: null,
        expectedFacts: [],
        runs: [
          {
            number: 1,
            workflow: { path: "a.wf.md", at: { file: "b.cfg.json", line: 2, column: 21 } },
            at: { file: "b.cfg.json", line: 1, column: 1 },
            repeat: 1,
            values: {},
            label: "",
            settings: { model: null, temperature: null, topP: null, frequencyPenalty: null, presencePenalty: null },
          },
        ],
      },
    });
  });

  it("contains every combination, with values innermost and workflows outermost", () => {
    const { batch } = read({
      setup_workflow_file: "s.wf.md",
      workflow_files: ["a", "b"],
      key_values: [
        { LABEL: "one", N: 1 },
        { LABEL: "two", N: true },
      ],
      repeats: 2,
      ai_model_names: ["m", "n"],
      ai_temperature_values: null,
      ai_top_p_values: [0.5],
      expected_length: 200,
      expected_facts: ["Score", ["a", "b"]],
      csv_file: "ignored.csv",
      cleanup_workflow_file: "c.wf.md",
    });
    expect(batch?.runs).toHaveLength(16);
    expect(
      batch?.runs
        .slice(0, 5)
        .map(({ workflow, repeat, settings, label }) => [workflow.path, repeat, settings.model, label]),
    ).toEqual([
      ["a", 1, "m", "one"],
      ["a", 1, "m", "two"],
      ["a", 1, "n", "one"],
      ["a", 1, "n", "two"],
      ["a", 2, "m", "one"],
    ]);
    expect(batch?.runs[1]).toMatchObject({
      number: 2,
      values: { N: "true" },
      settings: { topP: 0.5, temperature: null },
    });
    expect(batch).toMatchObject({ setup: { path: "s.wf.md" }, cleanup: { path: "c.wf.md" }, expectedLength: 200 });
  });

  it.each([
    [{ workflow_file: "a" }, "CFG_KEY:2:3"],
    [{ workflow_files: [] }, "CFG_VALUE:2:21"],
    [{ workflow_files: "a", repeats: 0 }, "CFG_VALUE:3:14"],
    [{ workflow_files: "a", ai_temperature_values: [3] }, "CFG_VALUE:4:5"],
    [
      { workflow_files: "a", repeats: 10_000, ai_model_names: Array.from({ length: 11 }, (_, n) => `m${n}`) },
      "CFG_RUNS:1:1",
    ],
    ["{", "CFG_JSON:1:2"],
  ])("reports an error at its place in %j", (value, code) => {
    const { batch, findings } = read(value);
    expect(batch).toBeNull();
    expect(findings.map((one) => `${one.code}:${one.at.line}:${one.at.column}`)).toContain(code);
  });

  it("suggests the key that was meant", () => {
    expect(read({ workflow_file: "a" }).findings.find(({ code }) => code === "CFG_KEY")?.fix).toMatch(
      "mean workflow_files?",
    );
  });

  it("scores a result by length and facts", () => {
    expect([
      lengthScore("", 4),
      lengthScore("a b", 4),
      lengthScore("a b c d", 4),
      lengthScore("a b c d e f", 4),
      lengthScore("a ".repeat(9), 4),
    ]).toEqual([0, 50, 100, 50, 0]);
    expect(factsScore("Total Score: b", ["Score", ["a", "b"], "x", "score"])).toBe(50);
    expect(factsScore("x", [])).toBeNull();
  });
});
