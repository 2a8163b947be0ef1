import { describe, expect, inject, it } from "vitest";
import { growthOfWork } from "../../../../../tests/support/count-work.ts";
import { parseWorkflow } from "./parse-workflow.ts";

describe("ten times the text needs less than 20 times the work", () => {
  const long = inject("thorough") ? 1_000_000 : 250_000;
  const wrap = (chart: string, prompts: string) =>
    `# T\n\n# Workflow\n\n\`\`\`mermaid\nflowchart TD\nSTART --> SET_0\n${chart}\n\`\`\`\n\n# Prompts\n\n${prompts}`;
  const times = (count: number, line: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => line(index)).join("");
  const shapes: Record<string, (size: number) => string> = {
    "a chart": (size) =>
      wrap(
        times(size / 50, (i) => `SET_${i}["Set: V_${i}='x'"] --> SET_${i + 1}\n`),
        "",
      ),
    "a chart of misspelt names": (size) =>
      wrap(
        times(size / 50, (i) => `PROMPT_${i}[Prompt: User X${i}] --> CHEK_${i + 1}\n`),
        "",
      ),
    "many prompts": (size) =>
      wrap(
        'SET_0["A=1"]',
        times(size / 60, (i) => `## User P${i}\n\nText with {{A}} and {{B${i}}}.\n\n`),
      ),
    "one list": (size) => wrap('SET_0["A=1"]', `## User P\n${"- an item\n".repeat(size / 10)}`),
    "lines of prose": (size) => wrap('SET_0["A=1"]', `## User P\n${"a b c d *e* [f](g) `h`\n".repeat(size / 23)}`),
    "one long line": (size) => wrap('SET_0["A=1"]', `## User P\n${"{{A}} [*`".repeat(size / 9)}`),
    "one expression": (size) => wrap(`SET_0["A=1"] --> CHECK_0["A == 1${" and A == 1".repeat(size / 11)}"]`, ""),
    parameters: (size) =>
      wrap(`SET_0["A=1"]\nPARAMS["${times(size / 50, (i) => `P_${i}='it opens a quote and never closes it, `)}"]`, ""),
    "tiny parameters": (size) => wrap(`SET_0["A=1"]\nPARAMS["${times(size / 14, (i) => `P_${i}=${i}, `)}"]`, ""),
    "quotes and brackets": (size) => wrap('SET_0["A=1"]', `## User P\n${`${"> - ".repeat(24)}x\n`.repeat(size / 98)}`),
  };

  const linear = (small: string, large: string) => {
    const parse = (text: string) => () => parseWorkflow(text, "a.wf.md");
    expect(growthOfWork(parse(small), parse(large))).toBeLessThan(20);
  };

  it.each(Object.keys(shapes))("in %s", (shape) => {
    const make = shapes[shape] ?? (() => "");
    linear(make(long / 10), make(long));
  });

  it.each([
    ["known", "params:\n", "  P_"],
    ["unknown", "", "p_"],
  ])("in %s keys of the front matter, with at most 256 Ki characters", (_, above, key) => {
    const make = (size: number) =>
      `---\n${above}${times(size / 17, (i) => `${key}${i}: ${i}\n`)}---\n${wrap('SET_0["A=1"]', "")}`;
    linear(make(long / 40), make(long / 4));
  });
});
