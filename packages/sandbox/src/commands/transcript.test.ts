import { describe, expect, it } from "vitest";
import type { CommandOutcome } from "../port.ts";
import { exitCodeOf, renderTranscript, type TranscriptEntry } from "./transcript.ts";

const outcome: CommandOutcome = {
  exitCode: 0,
  durationMs: 1234,
  output: "",
  truncated: false,
  outputBytes: 0,
  timedOut: false,
  outOfMemory: false,
  state: { cwd: "/workspace", environment: {}, shell: "" },
};
const ran = (command: string, change: Partial<CommandOutcome> = {}): TranscriptEntry => ({
  kind: "ran",
  command,
  outcome: { ...outcome, ...change },
});

describe("RESULT", () => {
  it("is empty when nothing ran", () => {
    expect(renderTranscript([])).toBe("");
  });

  it("has each command after a dollar, its output, and a newline where there is none", () => {
    expect(renderTranscript([ran("ls", { output: "a\nb\n" }), ran("true")])).toBe("$ ls\na\nb\n$ true\n\n");
  });

  it("notes what the model must know", () => {
    const text = renderTranscript([
      ran("yes", { output: "y\n", truncated: true, outputBytes: 99, timedOut: "wall", exitCode: null }),
      ran("sleep 9", { timedOut: "silence", exitCode: null }),
      ran("bomb", { outOfMemory: true, exitCode: 137 }),
      { kind: "refused", command: "curl x", message: "refused: curl was not run; no." },
    ]);
    expect(text).toBe(
      "$ yes\ny\n[output truncated: 99 bytes were written]\n[timed out, killed after 1.2 s]\n" +
        "$ sleep 9\n[timed out: no output for too long, killed after 1.2 s]\n" +
        "$ bomb\n[out of memory: the session's limit was reached and a process was killed]\n" +
        "$ curl x\n[refused: curl was not run; no.]\n",
    );
  });
});

describe("EXIT_CODE", () => {
  it("is 0 when nothing ran or all succeeded", () => {
    expect(exitCodeOf([])).toBe(0);
    expect(exitCodeOf([ran("a"), ran("b")])).toBe(0);
  });

  it("is the last that is not 0", () => {
    expect(exitCodeOf([ran("a", { exitCode: 2 }), ran("b", { exitCode: 3 }), ran("c")])).toBe(3);
  });

  it("is 124 for a timeout and 126 for a refusal", () => {
    expect(exitCodeOf([ran("a", { exitCode: null, timedOut: "cpu" })])).toBe(124);
    expect(exitCodeOf([{ kind: "refused", command: "x", message: "" }])).toBe(126);
  });
});
