import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, inject, it } from "vitest";
import { loadDefinition } from "../../load-definition.ts";
import { renderFinding } from "../../render-finding.ts";
import { formatWorkflow } from "./format-workflow.ts";
import { parseWorkflow } from "./parse-workflow.ts";

const folder = fileURLToPath(new URL("../../../../../tests/fixtures/codementor", import.meta.url));
const corpus = globSync("**/*.wf.md", { cwd: folder })
  .sort()
  .map((path) => readFileSync(`${folder}/${path}`, "utf8"));

const snippets = [
  "---\n",
  "# Workflow\n",
  "# Prompts\n",
  "## User A\n",
  "```mermaid\nflowchart TD\n",
  "```\n",
  "START --> ",
  "PROMPT_A[Prompt: User A]",
  "CHECK_A{RESULT == ",
  "CALL_A[[a.wf.md]]",
  "PARAMS[\"A='",
  "!INCLUDE a.wf.md\n",
  "SET_A[__proto__='x']",
  "__proto__ --> constructor\n",
  "limits: { hits: &a [*a] }\n",
  "|TRUE|",
  '@{ label: "',
  "{{",
  "'",
  "\r\n",
  "\0",
  "\ud800",
  "\ufeff",
];

/** Fixed in `npm test`, so that it tries the same in every run. */
const some = (thorough: number) => (inject("thorough") ? { numRuns: thorough } : { numRuns: thorough / 20, seed: 20 });
/** Any code point; the library's own such unit costs a second to make. */
const anyUnit = fc.nat(0x10f7ff).map((at) => String.fromCodePoint(at < 0xd800 ? at : at + 0x800));

/** A few paths lead to the same text, so that it includes and calls itself. */
const paths = ["a.wf.md", "units/build.wf.md", "shared/rubric.md", "recursive.wf.md"];
function exercise(text: string): void {
  const bytes = new TextEncoder().encode(text);
  const { definition, findings } = loadDefinition(
    { read: (path) => (paths.includes(path) ? bytes : undefined) },
    "a.wf.md",
  );
  expect(definition === null).toBe(findings.some(({ severity }) => severity === "error"));
  for (const finding of findings) {
    expect(finding.at.line).toBeGreaterThanOrEqual(1);
    expect(finding.at.column).toBeGreaterThanOrEqual(1);
    expect(renderFinding(finding, text)).toContain(finding.code);
  }
  for (const program of Object.values(definition?.programs ?? {})) formatWorkflow(program);
}

describe("whatever the input, the answer is a definition or findings", () => {
  it("random text made of the language's own pieces", () => {
    const piece = fc.oneof(
      fc.constantFrom(...snippets),
      fc.string({ maxLength: 8 }),
      fc.string({ unit: anyUnit, maxLength: 4 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (parts) => exercise(parts.join(""))),
      some(3000),
    );
  });

  it("sound workflows with pieces cut out, doubled or put in", () => {
    const cut = fc.record({
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      length: fc.nat(40),
      put: fc.constantFrom("", ...snippets),
    });
    fc.assert(
      fc.property(fc.constantFrom(...corpus), fc.array(cut, { minLength: 1, maxLength: 5 }), (source, cuts) => {
        let text = source;
        for (const { at, length, put } of cuts) {
          const start = Math.floor(at * text.length);
          text = text.slice(0, start) + put + text.slice(start + length);
        }
        exercise(text);
      }),
      some(2000),
    );
  });

  it("random bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const { definition, findings } = loadDefinition({ read: () => bytes }, "a.wf.md");
        expect(definition).toBeNull();
        expect(findings.length).toBeGreaterThan(0);
      }),
      some(1000),
    );
  });
});

describe("time is linear: ten times as much takes at most 12 times as long", () => {
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
    // Time of this thread's own work: on a busy machine the clock on the wall runs on while the long parse waits.
    const time = (text: string, repeats: number) => {
      const before = process.threadCpuUsage();
      for (let repeat = 0; repeat < repeats; repeat++) parseWorkflow(text, "a.wf.md");
      const { user, system } = process.threadCpuUsage(before);
      return (user + system) / repeats;
    };
    time(small, 10);
    // Ten small parses share the collector's work as one large parse has it. What is quadratic stays beyond 12 in all rounds.
    let best = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 20 && best > 12; round++) best = Math.min(best, time(large, 1) / time(small, 10));
    expect(best).toBeLessThanOrEqual(12);
  };

  it.each(Object.keys(shapes))("%s", (shape) => {
    const make = shapes[shape] ?? (() => "");
    linear(make(long / 10), make(long));
  });

  it.each([
    ["known", "params:\n", "  P_"],
    ["unknown", "", "p_"],
  ])("%s keys of the front matter, of which there are 256 Ki characters at most", (_, above, key) => {
    const make = (size: number) =>
      `---\n${above}${times(size / 17, (i) => `${key}${i}: ${i}\n`)}---\n${wrap('SET_0["A=1"]', "")}`;
    linear(make(long / 40), make(long / 4));
  });
});
