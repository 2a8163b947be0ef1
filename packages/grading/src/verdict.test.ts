import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkEvidence } from "./evidence.ts";
import { criterion, sampleRubric } from "./testing-rubric.ts";
import { readVerdicts, repairMessage, verdictSchema } from "./verdict.ts";
import { workFiles } from "./work-files.ts";

const files = workFiles({
  "median.js":
    "export function median(values) {\n  const sorted = [...values].sort((a, b) => a - b);\n\n  return sorted[1];\n}\n",
});
const quote = { file: "median.js", line: 2, quote: "sort((a, b) => a - b)" };
const good = {
  names: { level: "good", evidence: [quote], confidence: 0.9, comment: "Clear." },
  pure: { met: true, evidence: [quote], confidence: 0.8, comment: "It copies first." },
  style: { points: 2, evidence: [], confidence: 0.5, comment: "Tidy." },
};
const read = (criteria: unknown, rest = {}) => readVerdicts(sampleRubric, JSON.stringify({ criteria, ...rest }), files);

describe("reading a model's answer", () => {
  it("gives a verdict per criterion, with points from the rubric", () => {
    const { verdicts, problems, nextSteps } = read(good, { nextSteps: ["Read about sorting.", " "] });
    expect(problems).toEqual([]);
    expect(verdicts).toMatchObject([
      { criterion: "names", points: 2, level: "good", evidence: [quote] },
      { criterion: "pure", points: 1, level: "met" },
      { criterion: "style", points: 2, level: null },
    ]);
    expect(nextSteps).toEqual(["Read about sorting."]);
  });

  it("accepts the answer in one code block or in prose, but not in two code blocks", () => {
    const json = JSON.stringify({ criteria: good });
    for (const reply of [`Here:\n\`\`\`json\n${json}\n\`\`\`\n`, `Sure. ${json} Done.`, ` ${json}\n`]) {
      expect(readVerdicts(sampleRubric, reply, files).verdicts).toHaveLength(3);
    }
    const two = `\`\`\`json\n${json}\n\`\`\`\n\`\`\`json\n${json}\n\`\`\`\n`;
    expect(readVerdicts(sampleRubric, two, files)).toMatchObject({ verdicts: [], problems: [{ criterion: null }] });
    expect(readVerdicts(sampleRubric, "I cannot.", files).problems).toHaveLength(1);
    expect(readVerdicts(sampleRubric, "[1]", files).problems).toHaveLength(1);
  });

  it("leaves a criterion that the answer omits without a verdict, never with 0", () => {
    const { names: _, ...rest } = good;
    const { verdicts, problems } = read(rest);
    expect(verdicts.map((one) => one.criterion)).toEqual(["pure", "style"]);
    expect(problems).toEqual([{ criterion: "names", problem: "is missing" }]);
  });

  it.each([
    ["names", { level: "superb" }, /none of poor, fair, good/],
    ["names", { level: undefined }, /none of/],
    ["pure", { met: "yes" }, /neither true nor false/],
    ["style", { points: "3" }, /no number/],
    ["style", { comment: "  " }, /comment is empty/],
    ["style", { confidence: undefined }, /confidence/],
    ["style", { evidence: "none" }, /evidence/],
    ["names", { evidence: [] }, /without a quotation/],
    ["names", { evidence: [{ ...quote, quote: "return mean" }] }, /does not contain/],
    ["names", { evidence: [{ ...quote, file: "other.js" }] }, /no file other\.js/],
    ["style", { evidence: [{ ...quote, quote: "invented line" }] }, /does not contain/],
  ])("refuses a mark for %s with %j", (id, change, problem) => {
    const { verdicts, problems } = read({ ...good, [id]: { ...good[id as "names"], ...change } });
    expect(verdicts.map((one) => one.criterion)).not.toContain(id);
    expect(problems).toEqual([{ criterion: id, problem: expect.stringMatching(problem) }]);
  });

  it("needs no quotation for zero points", () => {
    expect(read({ ...good, names: { ...good.names, level: "poor", evidence: [] } }).problems).toEqual([]);
  });

  it("clamps any number to the scale, with a note", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (points) => {
        const [, , style] = read({ ...good, style: { ...good.style, points } }).verdicts;
        expect([0, 1, 2, 3]).toContain(style?.points);
        if (points !== style?.points) expect(style?.notes).toHaveLength(1);
      }),
    );
    expect(read({ ...good, style: { ...good.style, confidence: 7 } }).verdicts[2]).toMatchObject({ confidence: 1 });
  });

  it("ignores marks for criteria that tests grade, and for unknown criteria", () => {
    const { verdicts, problems } = read({ ...good, tests: { points: 6 }, bonus: { points: 100 } });
    expect(verdicts.map((one) => one.criterion)).toEqual(["names", "pure", "style"]);
    expect(problems).toEqual([{ criterion: null, problem: "there is no criterion bonus" }]);
    expect(read({ ...good, __proto__: { x: 1 } }).verdicts).toHaveLength(3);
  });

  it("uses a closed schema in which each mark has its scale's form", () => {
    const schema = JSON.parse(JSON.stringify(verdictSchema(sampleRubric)));
    const { criteria } = schema.properties;
    expect(criteria.required).toEqual(["names", "pure", "style"]);
    expect(criteria.properties.names.properties.level.enum).toEqual(["poor", "fair", "good"]);
    expect(criteria.properties.pure.properties.met).toEqual({ type: "boolean" });
    const open: unknown[] = [];
    JSON.stringify(schema, (_, value) => {
      if (value?.type === "object" && value.additionalProperties !== false) open.push(value);
      return value;
    });
    expect(open).toEqual([]);
  });

  it("asks once for a repair that lists every problem", () => {
    const { problems } = read({ pure: good.pure });
    expect(repairMessage(problems)).toMatch(/- names: is missing\n- style: is missing/);
  });
});

describe("evidence", () => {
  it("is found across lines and despite different white space, and its line is corrected", () => {
    const at = (line: number, text: string) => checkEvidence({ file: "./median.js", line, quote: text }, files);
    expect(at(2, "const   sorted =\n[...values]")).toMatchObject({ ok: true, moved: false });
    expect(at(9, "return sorted[1];\n}")).toMatchObject({
      ok: true,
      moved: true,
      evidence: { line: 4, file: "median.js" },
    });
    expect(at(5, "}")).toMatchObject({ ok: true });
    expect(at(1, "{")).toMatchObject({ ok: false });
    expect(at(1, " \n ")).toMatchObject({ ok: false });
    expect(at(1, "x".repeat(3000))).toMatchObject({ ok: false });
  });

  it("is placed at the nearest of several occurrences", () => {
    const many = workFiles({ a: "same line\nother\nsame line\nsame line\n" });
    expect(checkEvidence({ file: "a", line: 3, quote: "same line" }, many)).toMatchObject({
      moved: false,
      evidence: { line: 3 },
    });
    expect(checkEvidence({ file: "a", line: 9, quote: "same line" }, many)).toMatchObject({
      moved: true,
      evidence: { line: 4 },
    });
  });

  it("is found for every piece of every line of a submission", () => {
    const lines = fc.array(
      fc.string({ minLength: 8, unit: "grapheme-ascii" }).filter((one) => one.trim().length >= 8),
      { minLength: 1 },
    );
    fc.assert(
      fc.property(lines, fc.nat(), (texts, pick) => {
        const line = pick % texts.length;
        const work = workFiles({ f: texts.join("\n") });
        const checked = checkEvidence({ file: "f", line: line + 1, quote: texts[line] ?? "" }, work);
        expect(checked).toMatchObject({ ok: true, moved: false });
      }),
    );
  });
});

describe("a deduction", () => {
  it("has points below zero, needs a quotation and never adds points", () => {
    const rubric = {
      criteria: [criterion({ id: "base", points: 4, evidence: false }), criterion({ id: "copied", points: -2 })],
    };
    const with_ = (points: number, evidence: unknown[]) =>
      readVerdicts(
        rubric,
        JSON.stringify({
          criteria: {
            base: { points: 4, evidence: [], confidence: 1, comment: "x" },
            copied: { points, evidence, confidence: 1, comment: "x" },
          },
        }),
        files,
      );
    expect(with_(-1, []).problems).toHaveLength(1);
    expect(with_(-9, [quote]).verdicts[1]).toMatchObject({ points: -2 });
    expect(with_(5, [quote]).verdicts[1]).toMatchObject({ points: 0 });
  });
});
