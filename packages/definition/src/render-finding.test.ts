import { describe, expect, it } from "vitest";
import type { Finding } from "./finding.ts";
import { renderFinding } from "./render-finding.ts";

const finding: Finding = {
  severity: "error",
  code: "KIND_UNKNOWN",
  message: "What is PROMT?",
  fix: "Write PROMPT.",
  at: { file: "a.wf.md", line: 2, column: 6 },
};

describe("renderFinding", () => {
  it("shows the place, the line, a caret and the fix", () => {
    expect(renderFinding(finding, "first\r\n\tab [PROMT]\r\nlast")).toBe(
      ["a.wf.md:2:6: error KIND_UNKNOWN: What is PROMT?", "2 | \tab [PROMT]", "    \t    ^", "fix: Write PROMPT."].join(
        "\n",
      ),
    );
  });

  it("works without the source, and if the line does not exist", () => {
    const short = "a.wf.md:2:6: error KIND_UNKNOWN: What is PROMT?\nfix: Write PROMPT.";
    expect(renderFinding(finding)).toBe(short);
    expect(renderFinding(finding, "one line only")).toBe(short);
  });

  it("shows only the part of a long line around the caret", () => {
    const far = { ...finding, at: { ...finding.at, line: 1, column: 5001 } };
    const [, line = "", caret = ""] = renderFinding(far, `${"x".repeat(5000)}!${"y".repeat(5000)}`).split("\n");
    expect(line.length).toBeLessThan(140);
    expect(line[caret.indexOf("^")]).toBe("!");
  });
});
