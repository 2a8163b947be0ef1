import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, inject, it } from "vitest";
import { loadDefinition } from "../../load-definition.ts";
import { renderFinding } from "../../render-finding.ts";
import { formatWorkflow } from "./format-workflow.ts";

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

/** The seed is fixed in `npm test`, so that every run tests the same cases. */
const some = (thorough: number) => (inject("thorough") ? { numRuns: thorough } : { numRuns: thorough / 20, seed: 20 });
/** Any code point. The library's own unit for this needs a second to build. */
const anyUnit = fc.nat(0x10f7ff).map((at) => String.fromCodePoint(at < 0xd800 ? at : at + 0x800));

/** A few paths contain the same text, so that it includes and calls itself. */
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

describe("loading gives a definition or findings for any input", () => {
  it("for random text of the language's own parts", () => {
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

  it("for valid workflows with parts removed, doubled or inserted", () => {
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

  it("for random bytes", () => {
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
