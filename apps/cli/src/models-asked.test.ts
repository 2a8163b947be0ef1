import type { Rubric } from "@markmill/grading";
import type { Definition } from "@markmill/store";
import { describe, expect, it } from "vitest";
import { modelsAsked } from "./models-asked.ts";

const plain = { params: [], settings: {}, agents: {}, nodes: {} };
const of = (programs: Record<string, object>) =>
  ({
    root: "a",
    programs: Object.fromEntries(Object.entries(programs).map(([name, one]) => [name, { ...plain, ...one }])),
  }) as never as Definition;
const prompt = { kind: "prompt", text: { name: "x" } };
const rubricOf = (is: string) => ({ criteria: [{ id: "a", source: { is } }] }) as never as Rubric;
const ask = (definition: Definition, variables: Record<string, string> = {}, rubric: Rubric | null = null) =>
  modelsAsked(definition, rubric, { variables });

describe("the models that a workflow calls", () => {
  it("are empty if only tests decide", () => {
    const graded = of({ a: { nodes: { G: { kind: "grade", task: "x" }, E: { kind: "execute" } } } });
    expect(ask(graded, {}, rubricOf("tests"))).toEqual({ named: [], usesDefault: false });
    expect(ask(graded, {}, rubricOf("llm"))).toEqual({ named: [], usesDefault: true });
  });

  it("come from the step, the agent, AI_MODEL_NAME, the settings and the default, in this order", () => {
    const own = { ...prompt, settings: { model: "own" } };
    const settings = { model: "written" };
    expect(ask(of({ a: { nodes: { P: own }, settings } }), { AI_MODEL_NAME: "given" }).named).toEqual(["own"]);
    expect(
      ask(of({ a: { nodes: { P: { ...prompt, agent: "b" } }, agents: { b: { model: "agent" } } } })).named,
    ).toEqual(["agent"]);
    expect(ask(of({ a: { nodes: { P: prompt }, settings } }), { AI_MODEL_NAME: "given" }).named).toEqual(["given"]);
    expect(
      ask(of({ a: { nodes: { P: prompt }, params: [{ name: "AI_MODEL_NAME", default: "param" }] } })).named,
    ).toEqual(["param"]);
    expect(ask(of({ a: { nodes: { P: prompt }, settings } }))).toEqual({ named: ["written"], usesDefault: false });
    expect(ask(of({ a: { nodes: {}, settings }, b: { nodes: { P: prompt } } })).named).toEqual(["written"]);
    expect(ask(of({ a: { nodes: { P: prompt } } }))).toEqual({ named: [], usesDefault: true });
  });

  it("include the panel of a grade", () => {
    const grading = { panel: ["second"], twice: "never" };
    const found = ask(
      of({ a: { nodes: { G: { kind: "grade", task: "x" } }, grading } }),
      { AI_MODEL_NAME: "first" },
      rubricOf("llm"),
    );
    expect(found.named).toEqual(["second", "first"]);
  });

  it("are not guessed if a step sets the name, or if the name is a template", () => {
    const set = { kind: "set", target: { to: "variable", name: "AI_MODEL_NAME" } };
    expect(ask(of({ a: { nodes: { S: set, P: prompt } } }))).toEqual({ named: [], usesDefault: false });
    expect(ask(of({ a: { nodes: { P: { ...prompt, settings: { model: "{{M}}" } } } } }))).toEqual({
      named: [],
      usesDefault: false,
    });
  });
});
