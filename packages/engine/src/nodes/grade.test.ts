import { describe, expect, it } from "vitest";
import type { Work } from "../activity.ts";
import type { Node } from "../program.ts";
import { edgesOf, play, programOf, started } from "../testing-programs.ts";

const start = { kind: "start" } as const;
const task = { from: "template", text: "{{LEVEL}} {{HINT}} {{RESULT}} {{SEEN}} {{PLACE}} {{Long}}" } as const;
const set: Node = { kind: "set", target: { to: "variable", name: "SEEN" }, value: { from: "name", name: "RESULT" } };
const more = {
  rubric: { criteria: [] },
  params: [
    { name: "LEVEL", default: null },
    { name: "HINT", default: "be kind" },
    { name: "SEEN", default: "nothing" },
  ],
  prompts: { Long: { text: "The author's own." } },
} as never;
const program = programOf(
  { START: start, SET_A: set, GRADE_A: { kind: "grade", task } },
  edgesOf("START SET_A", "SET_A GRADE_A"),
  more,
);

describe("values of placeholders in a GRADE's task", () => {
  const workOf = (caller: boolean) => {
    let found: Extract<Work, { kind: "grade" }> | null = null;
    const variables = { LEVEL: "beginners", HINT: "be strict", RESULT: "printed" };
    const from = caller ? { depth: 1, agent: "", threads: {}, inherited: { settings: {}, agents: {} } } : null;
    play(
      program,
      (work) => {
        if (work.kind === "grade") found = work;
        return { kind: "done" };
      },
      started({ variables, environment: { PLACE: "here" }, caller: from as never }),
    );
    return found as Extract<Work, { kind: "grade" }> | null;
  };

  it("are sent beside the task, with the names of those that only the author and the starter of the run wrote", () => {
    const work = workOf(false);
    expect(work?.given).toMatchObject({ LEVEL: "beginners", RESULT: "printed", SEEN: "printed" });
    expect(work?.authored).toEqual(["LEVEL", "HINT", "PLACE", "Long"]);
  });

  it("in a called workflow may come from a node of the caller, so they do not count as authored", () => {
    expect(workOf(true)?.authored).toEqual(["PLACE", "Long"]);
  });
});
