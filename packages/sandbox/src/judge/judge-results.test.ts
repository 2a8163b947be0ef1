import { describe, expect, it } from "vitest";
import type { CommandOutcome } from "../port.ts";
import { drawResultsPlace, redact } from "./judge-results.ts";

const { nonce } = drawResultsPlace();
const outcome = (output: string, gap?: CommandOutcome["gap"]): CommandOutcome => ({
  exitCode: 0,
  durationMs: 1,
  output,
  truncated: gap !== undefined,
  outputBytes: output.length,
  timedOut: false,
  outOfMemory: false,
  state: { cwd: "/", environment: { MARKMILL_NONCE: nonce, HOME: "/" }, shell: `kept=${nonce}` },
  ...(gap === undefined ? {} : { gap }),
});

describe("the results file and nonce of a judge", () => {
  it("are random each time: a nonce of 256 bits and an unguessable file name", () => {
    const other = drawResultsPlace();
    expect(other.nonce).toMatch(/^[0-9a-f]{64}$/);
    expect(other.nonce).not.toBe(nonce);
    expect(other.path).toMatch(/^\/workspace\/\.results-[0-9a-f]{16}\.json$/);
  });

  it("the nonce is removed from the output, in upper and lower case, and from the state", () => {
    const { output, state } = redact(outcome(`a ${nonce} b ${nonce.toUpperCase()}\n`), nonce);
    expect(output).toBe(`a ${"*".repeat(64)} b ${"*".repeat(64)}\n`);
    expect(JSON.stringify(state)).not.toContain(nonce);
    expect(state.environment).toEqual({ HOME: "/" });
  });

  it("parts of the nonce beside a cut are removed from the output", () => {
    const head = `abc${nonce.slice(0, 40)}\n`;
    const said = "[99 bytes not shown]";
    const text = `${head}${said}\n${nonce.slice(30)} rest`;
    const gap = { from: head.length, to: head.length + said.length };
    const { output } = redact(outcome(text, gap), nonce);
    expect(output).toHaveLength(text.length);
    expect(output).not.toContain(nonce.slice(0, 8));
    expect(output).not.toContain(nonce.slice(-8));
    expect(output.slice(gap.from, gap.to)).toBe(said);
    expect(output).toContain(" rest");
  });
});
