/** Unusual names, texts and numbers that would break a careless engine. */
import { describe, expect, it } from "vitest";
import { evaluateCondition } from "./evaluate-condition.ts";
import type { Node } from "./program.ts";
import { render } from "./render.ts";
import { initialState, type RunState } from "./state.ts";
import { step } from "./step.ts";
import { edgesOf, play, programOf, started } from "./testing-programs.ts";

const start: Node = { kind: "start" };
const assign: Node = { kind: "assign", value: { from: "literal", text: "a" } };
const result = { from: "name", name: "RESULT" } as const;

describe("a walk", () => {
  it("ends even if a handler leads to itself or to the other handler", () => {
    for (const edges of [["ON_FAILED ON_FAILED"], ["ON_FAILED ON_SUCCESS", "ON_SUCCESS ON_FAILED"]]) {
      const program = programOf(
        { START: start, FAILED: { kind: "end", outcome: "failed" }, ON_FAILED: start, ON_SUCCESS: start },
        edgesOf("START FAILED", ...edges),
        { handlers: { success: "ON_SUCCESS", failed: "ON_FAILED" } },
      );
      expect(step(program, initialState, started()).state.phase).toMatchObject({ is: "ended", status: "failed" });
    }
  });
});

describe("names like constructor and __proto__", () => {
  const names = ["constructor", "__proto__", "toString", "hasOwnProperty"];

  it.each(names)("%s works as a node's name, and its hits are counted and limited", (name) => {
    const nodes = Object.fromEntries([["START", start] as const, [name, assign] as const]);
    const played = play(programOf(nodes, edgesOf(`START ${name}`, `${name} ${name}`)), () => ({ kind: "done" }));
    expect(played.state.phase).toMatchObject({ status: "failed", reason: { code: "LIMIT_HITS" } });
    expect(Object.entries(played.state.hits)).toContainEqual([name, 3]);
  });

  it.each(names)("%s works as the name of a parameter, a variable, a list, an agent and a file", (name) => {
    const program = programOf(
      {
        START: start,
        SET: {
          kind: "set",
          target: { to: "variable", name },
          value: { from: "template", text: `{{${name}}}!` },
          writes: [{ do: "push", list: name, value: { from: "size", list: name } }],
        },
        PROMPT: { kind: "prompt", text: { from: "name", name }, agent: name },
        FILE: { kind: "assign", value: { from: "file", path: name } },
      },
      edgesOf("START SET", "SET PROMPT", "PROMPT FILE"),
      { params: [{ name, default: "5" }] },
    );
    const played = play(program, (work) =>
      work.kind === "prompt" ? { kind: "replied", text: work.text } : { kind: "done" },
    );
    expect(played.commands).toContainEqual(
      expect.objectContaining({ work: expect.objectContaining({ kind: "prompt", text: "5!", thread: `r/${name}/1` }) }),
    );
    expect(Object.entries(played.state.lists)).toContainEqual([name, ["0"]]);
    expect(played.state.phase).toMatchObject({ reason: { code: "FILE_MISSING" } });
    expect(JSON.parse(JSON.stringify(played.state))).toEqual(played.state);
  });
});

describe("text of unknown origin", () => {
  const lenient = (left: string): boolean => {
    const state: RunState = { ...initialState, variables: { RESULT: left } };
    const condition = {
      op: "equals",
      left: result,
      right: { from: "literal", text: "SUCCESS" },
      lenient: true,
    } as const;
    return evaluateCondition(condition, { program: programOf({}, []), state, reads: {}, files: {} }).holds;
  };

  it("lenient comparison ignores emphasis, and rejects very long lines", () => {
    for (const verdict of ["SUCCESS", "**Success**", "\n\n`success`.", "## SUCCESS!", "success:\nbecause"])
      expect(lenient(verdict)).toBe(true);
    expect(lenient(`${".".repeat(300_000)}x`)).toBe(false);
    expect(render(`{{${" ".repeat(300_000)}x`, () => "").text).toHaveLength(300_003);
  });
});

describe("limits", () => {
  const loop = programOf({ START: start, A: assign }, edgesOf("START A", "A A"));
  const setTo = (name: string, text: string): Node => ({
    kind: "set",
    target: { to: "variable", name },
    value: { from: "literal", text },
  });

  it("refuse numbers that JSON or the clock cannot represent", () => {
    for (const [name, value] of [
      ["MAX_ACTIVITY_HITS", "9".repeat(400)],
      ["MAX_DURATION", "99999999999999999"],
    ] as const) {
      const { state } = step(loop, initialState, started({ variables: { [name]: value } }));
      expect(state.phase).toMatchObject({ status: "failed", reason: { code: "SETTING_INVALID" } });
      expect(JSON.parse(JSON.stringify(state))).toEqual(state);
    }
  });

  it("SET cannot raise a limit above the request's caps, and a new duration moves the deadline", () => {
    const program = programOf(
      { START: start, COST: setTo("MAX_COST", "1000"), TIME: setTo("MAX_DURATION", "7") },
      edgesOf("START COST", "COST TIME"),
    );
    const played = play(program, () => ({ kind: "done" }), started({ caps: { nanodollars: 5, timeMs: 60_000 } }));
    expect(played.state.limits).toMatchObject({ nanodollars: 5, timeMs: 7_000 });
    expect(played.commands).toContainEqual({ do: "deadline", at: 8_000 });
  });

  it("the caps still apply if a setting is invalid, also in the handler", () => {
    const program = programOf(
      { START: start, ON_FAILED: start, P: { kind: "prompt", text: result } },
      edgesOf("ON_FAILED P"),
      {
        handlers: { success: null, failed: "ON_FAILED" },
      },
    );
    const { state } = step(program, initialState, started({ variables: { MAX_COST: "abc" }, caps: { tokens: 100 } }));
    expect(state).toMatchObject({ phase: { is: "handling" }, limits: { tokens: 100 } });
  });

  it("a workflow that a handler calls gets the rest of the whole limit, and the handler's own steps and time", () => {
    const program = programOf(
      { START: start, A: assign, ON_FAILED: start, C: { kind: "call", program: "c" } },
      edgesOf("START A", "A A", "ON_FAILED C"),
      {
        handlers: { success: null, failed: "ON_FAILED" },
      },
    );
    const played = play(
      program,
      (work) =>
        work.kind === "call"
          ? { kind: "returned", status: "success", word: null, result: "report", variables: {}, reason: null }
          : { kind: "done" },
      started({ caps: { nanodollars: 1_000_000_000, timeMs: 1_000 } }),
    );
    const call = played.commands.find((command) => command.do === "perform" && command.work.kind === "call");
    expect(call).toMatchObject({
      work: {
        start: {
          aside: { nanodollars: 0, tokens: 0 },
          caps: { nanodollars: 1_000_000_000, timeMs: expect.any(Number), steps: 19 },
        },
      },
    });
    expect((call as { work: { start: { caps: { timeMs: number } } } }).work.start.caps.timeMs).toBeGreaterThan(50_000);
  });

  it("a time limit that is found late does not end the handler that it started", () => {
    const program = programOf(
      { START: start, A: assign, ON_FAILED: start, P: { kind: "prompt", text: result } },
      edgesOf("START A", "A A", "ON_FAILED P"),
      {
        handlers: { success: null, failed: "ON_FAILED" },
      },
    );
    const first = step(program, initialState, started({ caps: { timeMs: 1_000 } }));
    const late = { type: "run.limited", at: 2_500, seed: 0, code: "LIMIT_TIME", message: "late" } as const;
    const handling = step(program, first.state, { ...late, epoch: first.state.epoch }).state;
    expect(handling.phase.is).toBe("handling");
    expect(handling.epoch).toBeGreaterThan(first.state.epoch);
    expect(step(program, handling, { ...late, epoch: handling.epoch }).state).toBe(handling);
    expect(step(program, handling, { ...late, at: 999_999, epoch: handling.epoch }).state.phase.is).toBe("ended");
  });
});

describe("retries", () => {
  it("are not used up by stops", () => {
    const program = programOf({ START: start, P: { kind: "prompt", text: result } }, edgesOf("START P"));
    let { state } = step(program, initialState, started());
    for (let times = 0; times < 3; times++) {
      state = step(program, state, { type: "run.stopped", at: 2, seed: 0 }).state;
      state = step(program, state, { type: "run.resumed", at: 2, seed: 0 }).state;
    }
    const { ref } = Object.values(state.active)[0] ?? {};
    const failed = step(program, state, {
      type: "activity.failed",
      at: 3,
      seed: 0,
      epoch: state.epoch,
      activity: ref ?? { node: "", generation: 0, item: null, attempt: 0 },
      failure: { code: "X", message: "x" },
      next: "retry",
      retryAfterMs: null,
      usage: null,
    });
    expect(failed.state.phase.is).toBe("doing");
    expect(failed.commands).toContainEqual(expect.objectContaining({ do: "retry" }));
  });
});

describe("list elements that a failed node removed", () => {
  it("return to their list, and elements that other nodes added meanwhile stay", () => {
    const pop = { name: "x", value: { from: "pop", list: "in" }, required: true } as const;
    const program = programOf(
      {
        A: { kind: "prompt", text: { from: "read", name: "x" }, fresh: true, reads: [pop] },
        B: {
          kind: "prompt",
          text: result,
          fresh: true,
          writes: [
            { do: "push", list: "in", value: result },
            { do: "push", list: "out", value: result },
          ],
        },
        C: assign,
      },
      edgesOf("A -fail- C"),
      { entry: ["A", "B"], lists: { in: ["one", "two"] } },
    );
    const first = step(program, initialState, started()).state;
    const base = { at: 2, seed: 0, epoch: 1, usage: null } as const;
    const ref = (node: string) => ({ node, generation: 1, item: null, attempt: 1 });
    const second = step(program, first, {
      type: "activity.succeeded",
      ...base,
      activity: ref("B"),
      outcome: { kind: "replied", text: "three" },
    }).state;
    const third = step(program, second, {
      type: "activity.failed",
      ...base,
      activity: ref("A"),
      failure: { code: "X", message: "x" },
      next: "fail",
      retryAfterMs: null,
    }).state;
    expect(third.lists).toEqual({ in: ["one", "three", "two"], out: ["three"] });
  });
});

describe("a check on a file of the submission", () => {
  it("requests the file, uses it, and reports if it is missing", () => {
    const program = programOf(
      {
        START: start,
        K: {
          kind: "check",
          condition: {
            op: "contains",
            left: { from: "file", path: "answer.txt" },
            right: { from: "literal", text: "42" },
          },
        },
      },
      edgesOf("START K"),
    );
    const { state, commands } = step(program, initialState, started());
    expect(commands).toContainEqual(expect.objectContaining({ work: { kind: "check", read: ["answer.txt"] } }));
    const event = {
      type: "activity.succeeded",
      at: 2,
      seed: 0,
      epoch: 1,
      activity: { node: "K", generation: 1, item: null, attempt: 1 },
      usage: null,
    } as const;
    const there = step(program, state, { ...event, outcome: { kind: "done", files: { "answer.txt": "it is 42" } } });
    expect(there.state.phase).toMatchObject({ status: "success" });
    const gone = step(program, state, { ...event, outcome: { kind: "done", files: {} } });
    expect(gone.state.phase).toMatchObject({ status: "failed" });
    expect(gone.commands).toContainEqual(expect.objectContaining({ do: "warn", code: "FILE_MISSING" }));
  });
});

describe("deeply nested JSON", () => {
  const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;

  it("is refused as a query, a list of items, a verdict and the JSON of a result", () => {
    const search = { kind: "memory", op: "search", text: result, where: "web", web: "t" } as const;
    const tool = { kind: "http", method: "GET", url: "http://a", repeat: "safe", description: "" } as const;
    const tools = { t: { ...tool, schema: { type: "object", properties: { query: {}, lang: {} } } } };
    const query = `{"query": "a", "lang": ${deep}}`;
    const asked: string[] = [];
    const searched = play(
      programOf({ START: start, A: search }, edgesOf("START A"), { tools }),
      (work) => {
        if (work.kind === "tool") asked.push(work.arguments);
        return { kind: "produced", text: "found" };
      },
      started({ variables: { RESULT: query } }),
    );
    expect(searched.state.phase).toMatchObject({ status: "success" });
    expect(JSON.parse(asked[0] ?? "")).toMatchObject({ query, lang: "en" });

    const map: Node = {
      kind: "map",
      over: result,
      each: { kind: "prompt", text: { from: "read", name: "item" } },
      concurrency: 1,
      itemError: "collect",
      minSuccess: 0,
    };
    const mapped = play(
      programOf({ START: start, A: map }, edgesOf("START A")),
      () => ({ kind: "replied", text: "" }),
      started({ variables: { RESULT: `[${deep}]` } }),
    );
    expect(mapped.asked).toHaveLength(1);

    const evaluate: Node = { kind: "evaluate", text: result, statuses: ["a"], repairs: 0, lessons: "l" };
    const verdict = `{"status": "a", "evaluation": "", "lesson": "", "more": ${deep}}`;
    const judged = play(programOf({ START: start, A: evaluate }, edgesOf("START A")), () => ({
      kind: "replied",
      text: verdict,
    }));
    expect(judged.state.phase).toMatchObject({ reason: { code: "VERDICT_INVALID" } });

    const rule = { take: "operands", of: [result, result], json: true, post: [] } as const;
    const told = play(
      programOf({ START: start }, [], { result: rule }),
      () => ({ kind: "done" }),
      started({ variables: { RESULT: deep } }),
    );
    expect(told.commands).toContainEqual(expect.objectContaining({ result: JSON.stringify([deep, deep]) }));
  });
});

describe("an outcome of the wrong kind", () => {
  it("fails the activity and does not count as a success", () => {
    for (const node of [
      { kind: "prompt", text: result },
      { kind: "execute", command: "ls", nonZero: "ok", repeat: "never" },
      { kind: "ask", question: "?" },
      { kind: "call", program: "c" },
      { kind: "tool", tool: "t", arguments: result },
    ] as const) {
      const played = play(programOf({ START: start, N: node }, edgesOf("START N")), () => ({ kind: "done" }));
      expect(played.state.phase).toMatchObject({ status: "failed", reason: { code: "OUTCOME_INVALID" } });
    }
  });
});
