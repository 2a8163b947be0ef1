import { describe, expect, it } from "vitest";
import { defaultBounds, jsonLength, weighState } from "./bounds.ts";
import { evaluateCondition } from "./evaluate-condition.ts";
import type { Outcome } from "./event.ts";
import type { Node, Program } from "./program.ts";
import { render } from "./render.ts";
import { initialState, type RunState } from "./state.ts";
import { step } from "./step.ts";
import { edgesOf, type Played, play, programOf, started } from "./testing-programs.ts";

const start: Node = { kind: "start" };
const result = { from: "name", name: "RESULT" } as const;
const megabyte = "x".repeat(1024 * 1024);
const done = (): Outcome => ({ kind: "done" });
const set = (name: string, text: string): Node => ({
  kind: "set",
  target: { to: "variable", name },
  value: { from: "template", text },
});
const reasonOf = ({ state }: Played) => (state.phase.is === "ended" ? state.phase.reason?.code : state.phase.is);
const loops = { ...initialState.limits, hits: 1_000 };

function bounded({ state, commands }: Played): void {
  expect(weighState(state)).toBeLessThanOrEqual(defaultBounds.stateCharacters + 20_000);
  for (const [, value] of Object.entries(state.variables)) {
    expect(value.length).toBeLessThanOrEqual(defaultBounds.valueCharacters + 5_000);
  }
  const end = commands.find((command) => command.do === "end");
  expect(end?.do === "end" ? end.result.length : 0).toBeLessThanOrEqual(defaultBounds.valueCharacters + 5_000);
}

describe("a text that would exceed the length limit", () => {
  const places = "{{A}}".repeat(600);
  const given = started({ variables: { A: megabyte } });

  it.each<[string, Node, Partial<Program>?]>([
    ["SET", set("B", places)],
    ["ASSIGN", { kind: "assign", value: { from: "template", text: places } }],
    ["PROMPT", { kind: "prompt", text: { from: "template", text: places } }],
    [
      "PROMPT of a section",
      { kind: "prompt", text: { from: "name", name: "P" } },
      { prompts: { P: { role: "user", text: places } } },
    ],
    ["a system prompt", { kind: "prompt", text: { from: "template", text: places }, role: "system" }],
    ["EXECUTE", { kind: "execute", command: places, nonZero: "ok", repeat: "never" }],
    ["a tool", { kind: "tool", tool: "t", arguments: { from: "template", text: places } }],
    ["a memory", { kind: "memory", op: "search", text: { from: "template", text: places } }],
    [
      "a read",
      {
        kind: "assign",
        value: result,
        reads: [{ name: "r", value: { from: "template", text: places }, required: true }],
      },
    ],
    [
      "a write",
      { kind: "assign", value: result, writes: [{ do: "set", name: "W", value: { from: "template", text: places } }] },
    ],
    [
      "a list item",
      { kind: "assign", value: result, writes: [{ do: "push", list: "l", value: { from: "template", text: places } }] },
    ],
    [
      "a map",
      {
        kind: "map",
        over: { from: "template", text: places },
        each: { kind: "tool", tool: "t" },
        concurrency: 1,
        itemError: "fail",
        minSuccess: 1,
      },
    ],
  ])("in %s: the activity fails before the text is built, and the run takes the fail edge", (_, node, more = {}) => {
    const before = process.memoryUsage().rss;
    const program = programOf(
      { START: start, N: node, AFTER: set("CAUGHT", "{{ERROR}}") },
      edgesOf("START N", "N -fail- AFTER"),
      more,
    );
    const played = play(program, done, given);
    expect(played.state.phase).toMatchObject({ is: "ended", status: "success" });
    expect(played.state.variables.CAUGHT).toMatch(/^VALUE_TOO_LONG: /);
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
    bounded(played);
  });

  it("in a CHECK: the run fails and takes neither edge, because the check is undecided", () => {
    const condition = { op: "is", left: result, right: { from: "template", text: places } } as const;
    const program = programOf(
      { START: start, K: { kind: "check", condition }, T: set("SEEN", "true"), F: set("SEEN", "false") },
      edgesOf("START K", "K T", "K -fail- F"),
    );
    const played = play(program, done, given);
    expect(reasonOf(played)).toBe("VALUE_TOO_LONG");
    expect(played.state.variables.SEEN).toBeUndefined();
  });

  it("in the condition or the effects of an edge: the node before the edge fails", () => {
    const when = { op: "is", left: result, right: { from: "template", text: places } } as const;
    const value = { from: "template", text: places } as const;
    for (const edge of [
      { from: "A", to: "B", on: "ok", when },
      { from: "A", to: "B", on: "ok", effects: [{ do: "set", name: "X", value }] },
    ] as const) {
      const nodes = {
        START: start,
        A: { kind: "assign", value: result },
        B: { kind: "assign", value: result },
      } as const;
      expect(reasonOf(play(programOf(nodes, [...edgesOf("START A"), edge]), done, given))).toBe("VALUE_TOO_LONG");
      // If the fail edge exceeds the bound too, the run fails.
      const worse = programOf(nodes, [...edgesOf("START A"), edge, { ...edge, on: "fail" }]);
      expect(reasonOf(play(worse, done, given))).toBe("VALUE_TOO_LONG");
    }
  });

  it("in an activity's outcome: the outcome is refused", () => {
    const long = "x".repeat(defaultBounds.valueCharacters + 1);
    const cases: [Node, Outcome][] = [
      [
        { kind: "prompt", text: result },
        { kind: "replied", text: long },
      ],
      [
        { kind: "prompt", text: result },
        { kind: "replied", text: "", said: long },
      ],
      [
        { kind: "execute", command: "ls", nonZero: "ok", repeat: "never" },
        { kind: "executed", text: long, exitCode: 0, commands: 1 },
      ],
      [
        { kind: "ask", question: "?" },
        { kind: "answered", text: long },
      ],
      [
        { kind: "tool", tool: "t", arguments: result },
        { kind: "produced", text: long },
      ],
      [
        { kind: "assign", value: { from: "file", path: "f" } },
        { kind: "done", files: { f: long } },
      ],
      [
        { kind: "call", program: "c" },
        { kind: "returned", status: "success", word: null, result: "", variables: { A: long }, reason: null },
      ],
    ];
    for (const [node, outcome] of cases) {
      const played = play(programOf({ START: start, N: node }, edgesOf("START N")), () => outcome);
      expect(reasonOf(played), node.kind).toBe("VALUE_TOO_LONG");
      bounded(played);
    }
  });

  it("in a parameter: the run fails at its start", () => {
    const program = programOf({ START: start }, []);
    for (const variables of [
      { A: "x".repeat(defaultBounds.valueCharacters + 1) },
      Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`A${index}`, megabyte])),
    ]) {
      const { state } = step(program, initialState, started({ variables }));
      expect(state.phase).toMatchObject({ is: "ended", status: "failed", reason: { code: /_TOO_LONG$/ } });
      expect(weighState(state)).toBeLessThan(10_000);
    }
  });

  it("in a failure's message: the message is shortened", () => {
    const message = "x".repeat(50_000_000);
    const played = play(programOf({ START: start, P: { kind: "prompt", text: result } }, edgesOf("START P")), () => ({
      failure: { code: "MODEL_BROKEN", message },
      next: "fail",
    }));
    expect(played.state.variables.RESULT?.length).toBeLessThan(5_000);
    expect(JSON.stringify(played.state).length).toBeLessThan(50_000);
  });

  it("in warnings: each is shortened, and 100,000 warnings become fewer than 60", () => {
    const program = programOf({ START: start, N: set("B", "{{no}}".repeat(100_000)) }, edgesOf("START N"));
    const warnings = play(program, done).commands.filter((command) => command.do === "warn");
    expect(warnings.length).toBeLessThan(60);
  });
});

describe("bounded growth", () => {
  it("a variable that doubles in each lap ends as a failure of its activity", () => {
    const program = programOf({ START: start, GROW: set("A", "{{A}}{{A}}") }, edgesOf("START GROW", "GROW GROW"), {
      limits: loops,
    });
    const played = play(program, done, started({ variables: { A: "x" } }));
    expect(reasonOf(played)).toBe("VALUE_TOO_LONG");
    expect(played.state.variables.A).toHaveLength(defaultBounds.valueCharacters);
    bounded(played);
  });

  it("many variables, a growing list or a read of a list ends as STATE_TOO_LONG or VALUE_TOO_LONG", () => {
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`N${index}`, set(`V${index}`, "{{A}}")]));
    const chain = Object.keys(many).map((name, index) => `${index === 0 ? "START" : `N${index - 1}`} ${name}`);
    const variables = { A: megabyte };
    expect(reasonOf(play(programOf({ START: start, ...many }, edgesOf(...chain)), done, started({ variables })))).toBe(
      "STATE_TOO_LONG",
    );
    const push: Node = {
      kind: "assign",
      value: result,
      writes: [{ do: "push", list: "l", value: { from: "name", name: "A" } }],
    };
    const lists = play(
      programOf({ START: start, PUSH: push }, edgesOf("START PUSH", "PUSH PUSH"), { limits: loops }),
      done,
      started({ variables }),
    );
    expect(reasonOf(lists)).toBe("STATE_TOO_LONG");
    bounded(lists);
    for (const from of ["all", "drain"] as const) {
      const program = programOf(
        { START: start, N: { kind: "assign", value: { from, list: "l" } } },
        edgesOf("START N"),
        { lists: { l: [megabyte, megabyte, megabyte] } },
      );
      expect(reasonOf(play(program, done))).toBe("VALUE_TOO_LONG");
    }
  });

  it("the results of a map and the report about them are bounded", () => {
    const map: Node = {
      kind: "map",
      over: { from: "literal", text: Array.from({ length: 40 }, (_, index) => `item ${index}`).join("\n") },
      each: { kind: "tool", tool: "t" },
      concurrency: 4,
      itemError: "fail",
      minSuccess: 1,
    };
    const program = programOf({ START: start, M: map }, edgesOf("START M"), { limits: loops });
    const plain = play(program, () => ({ kind: "produced", text: megabyte }));
    expect(reasonOf(plain)).toBe("STATE_TOO_LONG");
    expect(plain.state.variables.RESULT).toContain("characters");
    // Each character becomes six when it is escaped.
    const escaped = play(program, () => ({ kind: "produced", text: "\u0001".repeat(20_000) }));
    expect(reasonOf(escaped)).toBe("VALUE_TOO_LONG");
    for (const played of [plain, escaped]) bounded(played);
  });

  it("calls that carry all variables begin one after the other, because one step's requests are bounded", () => {
    const map: Node = {
      kind: "map",
      over: { from: "literal", text: Array.from({ length: 100 }, (_, index) => `${index}`).join("\n") },
      each: { kind: "call", program: "c" },
      concurrency: 1_000_000,
      itemError: "fail",
      minSuccess: 1,
    };
    const program = programOf({ START: start, M: map }, edgesOf("START M"), { limits: loops });
    const variables = Object.fromEntries(Array.from({ length: 6 }, (_, index) => [`A${index}`, megabyte]));
    const first = step(program, initialState, started({ variables }));
    expect(JSON.stringify(first.commands).length).toBeLessThan(2 * defaultBounds.stateCharacters);
    const played = play(
      program,
      () => ({ kind: "returned", status: "success", word: null, result: "r", variables: {}, reason: null }),
      started({ variables }),
    );
    expect(played.state.phase).toMatchObject({ status: "success" });
    expect(played.asked).toHaveLength(100);
  });

  it("the results that wait for each other in a superstep are bounded", () => {
    const names = Array.from({ length: 12 }, (_, index) => `P${index}`);
    const nodes = Object.fromEntries(
      names.map((name): [string, Node] => [name, { kind: "prompt", text: result, agent: name }]),
    );
    const program = programOf(nodes, [], { entry: names, scheduling: "superstep" });
    const played = play(program, () => ({ kind: "replied", text: megabyte }));
    expect(reasonOf(played)).toBe("STATE_TOO_LONG");
    bounded(played);
  });
});

describe("the result of a run", () => {
  const run = (of: Program["result"]): Played =>
    play(
      programOf({ START: start, N: set("A", "{{A}}") }, edgesOf("START N"), { result: of }),
      done,
      started({ variables: { A: megabyte } }),
    );
  const operand = { from: "name", name: "A" } as const;

  it.each<[string, Program["result"]]>([
    [
      "replace",
      { take: "operands", of: [operand], json: false, post: [{ do: "replace", what: "x", by: "y".repeat(1_000) }] },
    ],
    [
      "replace of nothing",
      { take: "operands", of: [operand], json: false, post: [{ do: "replace", what: "", by: megabyte }] },
    ],
    [
      "append",
      {
        take: "operands",
        of: [operand],
        json: false,
        post: [
          { do: "append", text: megabyte },
          { do: "append", text: megabyte },
        ],
      },
    ],
    ["joins", { take: "operands", of: Array.from({ length: 600 }, () => operand), json: false, post: [] }],
    ["JSON of joins", { take: "operands", of: Array.from({ length: 600 }, () => operand), json: true, post: [] }],
  ])("that would grow too long by %s is not built, and the run fails", (_, of) => {
    const played = run(of);
    expect(played.state.phase).toMatchObject({ is: "ended", status: "failed", reason: { code: "VALUE_TOO_LONG" } });
    bounded(played);
  });

  it("jsonLength counts the same characters as JSON.stringify", () => {
    for (const text of ["", "plain", 'a"b\\c', "\n\t\u0001", "\ud83d\ude00", "\ud83d", "\ude00x", "é\u2028"]) {
      expect(jsonLength(text)).toBe(JSON.stringify(text).length);
    }
  });
});

describe("bounds of a run", () => {
  it("come with the run's first event and apply to that run alone", () => {
    const bounds = { valueCharacters: 10, stateCharacters: 10_000 };
    const program = programOf({ START: start, N: set("B", "{{A}}{{A}}") }, edgesOf("START N"));
    const variables = { A: "123456" };
    expect(reasonOf(play(program, done, started({ variables, bounds })))).toBe("VALUE_TOO_LONG");
    expect(play(program, done, started({ variables })).state.phase).toMatchObject({ status: "success" });
  });
});

describe("a bug that makes a step throw", () => {
  it("the run.broken event ends the run without reading the graph or the rules", () => {
    const program = {
      ...programOf({ START: start, P: { kind: "prompt", text: result } }, edgesOf("START P")),
      edges: null,
    };
    const { state } = step(
      programOf({ START: start, P: { kind: "prompt", text: result } }, edgesOf("START P")),
      initialState,
      started(),
    );
    const broken = step(program as unknown as Program, state, { type: "run.broken", at: 2, seed: 0, message: "boom" });
    expect(broken.state.phase).toEqual({
      is: "ended",
      status: "failed",
      reason: { code: "ENGINE_BUG", message: "boom" },
    });
    expect(broken.state.epoch).toBe(state.epoch + 1);
    expect(broken.commands).toContainEqual(expect.objectContaining({ do: "end", status: "failed" }));
  });
});

describe("rendering a template", () => {
  it("reports the length before it builds the text", () => {
    const lengths: number[] = [];
    const text = "a{{x}}b{{ y }}c{{z}}";
    const rendered = render(
      text,
      (name) => (name === "x" ? "12345" : name === "y" ? "" : null),
      (length) => lengths.push(length),
    );
    expect(rendered).toEqual({ text: "a12345bc{{z}}", unknown: ["z"] });
    expect(lengths).toEqual([rendered.text.length]);
  });
});

describe("MATCHES", () => {
  const matches = (pattern: string, text: string) => {
    const state: RunState = { ...initialState, variables: { RESULT: text } };
    const condition = { op: "matches", left: result, right: { from: "literal", text: pattern } } as const;
    return evaluateCondition(condition, { program: programOf({}, []), state, reads: {}, files: {} });
  };
  const hostile: readonly (readonly [string, string])[] = [
    ["a[ab]{5000}c", "a".repeat(200_000)],
    ["(?:a?){4000}b", "a".repeat(500_000)],
    ["(x+x+)+y", "x".repeat(2_000_000)],
    ["[ab]*a[ab]{4000}", "ab".repeat(300_000)],
    [
      Array.from({ length: 1_500 }, (_, i) => `[${String.fromCodePoint(0x4e00 + i)}z]`).join("|"),
      Array.from({ length: 300_000 }, (_, i) => String.fromCodePoint(0x4e00 + (i % 20_000))).join(""),
    ],
    [
      Array.from({ length: 1_500 }, (_, i) => `[${String.fromCodePoint(0x4e00 + i)}z]`).join("|"),
      "\ud800".repeat(500_000),
    ],
    [`(?i)${"[\\p{L}a-z]".repeat(700)}1`, "abcé".repeat(300_000)],
  ];

  it.each(hostile.map(([pattern, text]) => [pattern.slice(0, 20), pattern, text] as const))(
    "gives the same result for a hostile pattern (%s), however much earlier searches cached",
    (_, pattern, text) => {
      const judge = () => {
        try {
          return matches(pattern, text).holds;
        } catch (error) {
          return (error as { failure?: { code: string } }).failure?.code;
        }
      };
      const first = judge();
      // A short search extends the cached automaton that all searches share.
      matches(pattern, text.slice(0, 20));
      expect(judge()).toBe(first);
    },
  );

  it("searches the whole text or refuses to decide", () => {
    expect(matches("needle$", `${"hay ".repeat(400_000)}needle`)).toEqual({ holds: true, doubts: [] });
    expect(() => matches("a[ab]{5000}c", "a".repeat(200_000))).toThrow(/exceeds the limit for one step/);
    const condition = { op: "matches", left: result, right: { from: "literal", text: "a[ab]{5000}c" } } as const;
    const program = programOf(
      { START: start, K: { kind: "check", condition }, F: set("SEEN", "false") },
      edgesOf("START K", "K -fail- F"),
    );
    const played = play(program, done, started({ variables: { RESULT: "a".repeat(200_000) } }));
    expect(reasonOf(played)).toBe("MATCH_TOO_COSTLY");
    expect(played.state.variables.SEEN).toBeUndefined();
  });

  it("all conditions of a step share one effort budget", () => {
    const one = { op: "matches", left: result, right: { from: "literal", text: "a[ab]{60}c" } } as const;
    const text = Array.from({ length: 20_000 }, (_, i) => ((i * i * 31 + i * 17) % 101 < 50 ? "a" : "b")).join("");
    const state: RunState = { ...initialState, variables: { RESULT: text } };
    const scope = { program: programOf({}, []), state, reads: {}, files: {} };
    expect(evaluateCondition(one, scope).holds).toBe(false);
    expect(() => evaluateCondition({ op: "or", of: Array.from({ length: 1_000 }, () => one) }, scope)).toThrow(
      /exceeds the limit for one step/,
    );
  });
});
