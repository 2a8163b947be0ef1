import { describe, expect, it } from "vitest";
import type { Outcome, RunStarted } from "./event.ts";
import type { Program } from "./program.ts";
import { initialState } from "./state.ts";
import { step } from "./step.ts";
import { edgesOf, play, programOf, started } from "./testing-programs.ts";

const start = { kind: "start" } as const;
const failed = { kind: "end", outcome: "failed" } as const;
const success = { kind: "end", outcome: "success" } as const;
const call = { kind: "call", program: "below" } as const;
const prompt = { kind: "prompt", text: { from: "literal", text: "a" } } as const;

function returned(more: Partial<Extract<Outcome, { kind: "returned" }>> = {}): Outcome {
  return { kind: "returned", status: "success", word: null, result: "below", variables: {}, reason: null, ...more };
}

const caller = programOf(
  { START: start, CALL_A: call, SET_B: { ...success }, FAILED: failed, ON_FAILED: start, PROMPT_R: prompt },
  edgesOf("START CALL_A", "CALL_A SET_B", "CALL_A -fail- SET_B", "ON_FAILED PROMPT_R"),
  { handlers: { success: null, failed: "ON_FAILED" } },
);

describe("a limit reached in a called workflow", () => {
  for (const code of ["LIMIT_COST", "LIMIT_TOKENS", "LIMIT_TIME", "LIMIT_STEPS", "LIMIT_DEPTH", "LIMIT_CHARACTERS"]) {
    it(`${code} ends the caller too, through ON_FAILED, even if the call has a fail edge`, () => {
      const played = play(caller, (work) =>
        work.kind === "call"
          ? returned({ status: "failed", reason: { code, message: "spent" } })
          : { kind: "replied", text: "report" },
      );
      expect(played.asked).toEqual(["CALL_A.1.1", "PROMPT_R.1.1"]);
      expect(played.state.phase).toMatchObject({ status: "failed", reason: { code } });
    });
  }

  it("LIMIT_HITS concerns only the callee, and the caller takes its fail edge", () => {
    const played = play(caller, () =>
      returned({ status: "failed", reason: { code: "LIMIT_HITS", message: "too often" } }),
    );
    expect(played.state.phase).toMatchObject({ status: "success" });
  });
});

describe("consumption of a called workflow", () => {
  const twice = programOf({ START: start, CALL_A: call, CALL_B: call }, edgesOf("START CALL_A", "CALL_A CALL_B"));

  it("its steps count for the whole tree and reduce the steps left for the next call", () => {
    const caps: number[] = [];
    const played = play(
      twice,
      (work) => {
        if (work.kind === "call") caps.push(work.start.caps.steps);
        return returned({ steps: 7 });
      },
      started({ caps: { steps: 10 } }),
    );
    expect(caps).toEqual([9, 1]);
    expect(played.state.spent.steps).toBe(16);
  });

  it("its waiting for a person does not count for the caller's time limit", () => {
    const first = step(twice, initialState, started({ at: 0, caps: { timeMs: 1_000 } }));
    const after = step(twice, first.state, {
      type: "activity.succeeded",
      at: 50_500,
      seed: 0,
      epoch: 1,
      activity: { node: "CALL_A", generation: 1, item: null, attempt: 1 },
      outcome: returned({ idleMs: 50_000 }),
      usage: null,
    });
    expect(after.state.phase).toEqual({ is: "doing" });
    expect(after.commands).toContainEqual({ do: "deadline", at: 51_000 });
  });
});

describe("the budget reserved for a handler", () => {
  const withHandler = (more: Partial<Program> = {}) =>
    programOf(
      { START: start, PROMPT_A: prompt, CALL_C: call, ON_FAILED: start, PROMPT_R: prompt },
      edgesOf("START PROMPT_A", "PROMPT_A CALL_C", "ON_FAILED PROMPT_R"),
      { handlers: { success: null, failed: "ON_FAILED" }, ...more },
    );

  it("lies inside the limit, and only the handler may spend it", () => {
    const asides: unknown[] = [];
    play(
      withHandler(),
      (work) => {
        if (work.kind === "prompt") asides.push(work.aside);
        if (work.kind === "call") asides.push(work.start.aside, work.start.caps.nanodollars);
        return work.kind === "call"
          ? returned({ status: "failed", reason: { code: "LIMIT_COST", message: "spent" } })
          : { kind: "replied", text: "x" };
      },
      started({ caps: { nanodollars: 1_000_000_000 } }),
    );
    const aside = { nanodollars: 150_000_000, tokens: 0 };
    expect(asides).toEqual([aside, aside, 850_000_000, undefined]);
  });

  it("is zero if the workflow has no handler", () => {
    const program = programOf({ START: start, PROMPT_A: prompt }, edgesOf("START PROMPT_A"));
    const { commands } = step(program, initialState, started({ caps: { nanodollars: 1_000 } }));
    expect(commands.find((command) => command.do === "perform")).not.toHaveProperty("work.aside");
  });

  it("a caller's reserve is left alone by its callees and their handlers", () => {
    const more: Partial<RunStarted> = {
      caps: { nanodollars: 1_000_000_000, steps: 0 },
      caller: { depth: 1, agent: "", threads: {}, aside: { nanodollars: 77, tokens: 8 } },
    };
    const { commands } = step(withHandler(), initialState, started(more));
    expect(commands.find((command) => command.do === "perform")).toMatchObject({
      activity: { node: "PROMPT_R" },
      work: { aside: { nanodollars: 77, tokens: 8 } },
    });
  });
});

describe("a called workflow without settings of its own", () => {
  const above = programOf({ START: start, CALL_A: call }, edgesOf("START CALL_A"), {
    settings: { model: "large", temperature: 0.1 },
    agents: { Grader: { model: "exact", topP: 0.5 } },
  });

  it("uses its caller's model and agents, except where it has its own", () => {
    const first = step(above, initialState, started()).commands.find((command) => command.do === "perform");
    const inherited = first?.do === "perform" && first.work.kind === "call" ? first.work.start.inherited : undefined;
    const below = (more: Partial<Program>, node: object = {}) => {
      const program = programOf({ START: start, PROMPT_A: { ...prompt, ...node } }, edgesOf("START PROMPT_A"), more);
      const calledBy = { depth: 1, agent: "", threads: {}, ...(inherited === undefined ? {} : { inherited }) };
      const asked = step(program, initialState, started({ caller: calledBy })).commands.at(-1);
      return asked?.do === "perform" && asked.work.kind === "prompt" ? asked.work.settings : null;
    };
    expect(below({})).toEqual({ model: "large", temperature: 0.1 });
    expect(below({ settings: { model: "small" } })).toEqual({ model: "small", temperature: 0.1 });
    expect(below({}, { agent: "Grader" })).toEqual({ model: "exact", temperature: 0.1, topP: 0.5 });
    expect(below({ agents: { Grader: { model: "mine" } } }, { agent: "Grader" })).toEqual({
      model: "mine",
      temperature: 0.1,
      topP: 0.5,
    });
  });
});

describe("a called workflow with settings of its own", () => {
  /** The settings of PROMPT_A in `below`, called by `above` with the given variables. */
  const asked = (
    above: Partial<Program>,
    below: Partial<Program>,
    given: Record<string, string> = {},
    node: object = {},
  ) => {
    const caller = programOf({ START: start, CALL_A: call }, edgesOf("START CALL_A"), above);
    const first = step(caller, initialState, started({ variables: given })).commands.find(
      ({ do: what }) => what === "perform",
    );
    if (first?.do !== "perform" || first.work.kind !== "call") throw new Error("no call");
    const { variables, ...from } = first.work.start;
    const program = programOf({ START: start, PROMPT_A: { ...prompt, ...node } }, edgesOf("START PROMPT_A"), below);
    const last = step(program, initialState, started({ variables, caller: { ...from, depth: 1 } })).commands.at(-1);
    return last?.do === "perform" && last.work.kind === "prompt" ? last.work.settings : null;
  };
  const own = { settings: { model: "own", temperature: 0.5 } };
  const params = (name: string, value: string) => ({ params: [{ name, default: value }] });

  it("prefers them to the caller's parameters", () => {
    expect(asked(params("AI_MODEL_NAME", "above"), own)).toEqual({ model: "own", temperature: 0.5 });
    expect(asked(params("AI_TEMPERATURE", "1"), own)).toEqual({ model: "own", temperature: 0.5 });
    expect(asked({}, own, { AI_TEMPERATURE: "1", AI_TOP_P: "0.3" })).toEqual({
      model: "own",
      temperature: 0.5,
      topP: 0.3,
    });
  });

  it("prefers them to the settings of an agent that only the caller declares", () => {
    const grader = { agents: { Grader: { model: "above", topP: 0.1 } } };
    expect(asked(grader, own, {}, { agent: "Grader" })).toEqual({ model: "own", temperature: 0.5, topP: 0.1 });
  });

  it("still uses the model of --model", () => {
    const given = { AI_MODEL_NAME: "chosen" };
    expect(asked({}, own, given)).toEqual({ model: "chosen", temperature: 0.5 });
    expect(asked(params("AI_MODEL_NAME", "above"), params("AI_MODEL_NAME", "own"), given)).toMatchObject({
      model: "chosen",
    });
  });

  it("without any settings uses the parameters of the nearest caller", () => {
    expect(asked(params("AI_MODEL_NAME", "above"), {})).toEqual({ model: "above" });
    expect(asked({ settings: { model: "settings" }, ...params("AI_MODEL_NAME", "above") }, {})).toEqual({
      model: "above",
    });
  });
});
