import { describe, expect, it } from "vitest";
import type { Event } from "./event.ts";
import { forkAtFailure, forkAtNode } from "./fork.ts";
import type { Node } from "./program.ts";
import { edgesOf, play, programOf } from "./testing-programs.ts";

const prompt = (text: string): Node => ({ kind: "prompt", text: { from: "literal", text } });
const program = programOf(
  {
    START: { kind: "start" },
    PROMPT_A: prompt("a"),
    PROMPT_B: prompt("b"),
    CHECK_C: {
      kind: "check",
      condition: { op: "is", left: { from: "name", name: "RESULT" }, right: { from: "literal", text: "good" } },
    },
    SUCCESS: { kind: "end", outcome: "success" },
    FAILED: { kind: "end", outcome: "failed" },
    ON_FAILED: { kind: "start" },
    PROMPT_R: prompt("report"),
  },
  edgesOf(
    "START PROMPT_A",
    "PROMPT_A PROMPT_B",
    "PROMPT_B CHECK_C",
    "CHECK_C SUCCESS",
    "CHECK_C -fail- FAILED",
    "ON_FAILED PROMPT_R",
  ),
  { handlers: { success: null, failed: "ON_FAILED" } },
);
const replying = (text: string) =>
  play(program, (work) => (work.kind === "prompt" ? { kind: "replied", text } : { kind: "done" }));

describe("a fork", () => {
  it("at a node has the state and the work in flight of that point", () => {
    const point = forkAtNode(program, replying("good").events, "PROMPT_B");
    expect(point).toMatchObject({ seq: 2, activity: { node: "PROMPT_B" }, keepsReplies: false });
    expect(point?.state.variables.RESULT).toBe("good");
    expect(point?.works).toMatchObject({ "PROMPT_B.1": { kind: "prompt", text: "b" } });
    expect(forkAtNode(program, replying("good").events, "PROMPT_X")).toBeNull();
  });

  it("at a failure begins before the last step that reached outside, never in the handler", () => {
    const { events } = replying("bad");
    expect(forkAtFailure(program, events)).toMatchObject({ seq: 2, activity: { node: "PROMPT_B" } });
    expect(forkAtNode(program, events, "PROMPT_R")).toBeNull();
  });

  it("at a limit or a cancel continues the work in flight and keeps the replies", () => {
    const { events } = replying("good");
    const cancelled: Event[] = [...events.slice(0, 2), { type: "run.cancelled", at: 9, seed: 0, message: "no" }];
    expect(forkAtFailure(program, cancelled)).toMatchObject({ seq: 2, activity: null, keepsReplies: true });
    expect(Object.keys(forkAtFailure(program, cancelled)?.works ?? {})).toEqual(["PROMPT_B.1"]);
  });

  it("at a failure is refused for a run that did not fail", () => {
    expect(forkAtFailure(program, replying("good").events)).toBeNull();
  });
});
