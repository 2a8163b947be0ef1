/** The behaviour of workflows of tasks: operators, inputs, outputs, conditions, limits, end to end, on all backends. */
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { allBackends, type Mill, startMill } from "../support/mill.ts";
import { cancelRun, getHistory, getMessages, replayRun } from "../support/store.ts";
import { fixture, input, output, task, tasksFile } from "../support/tasks-json.ts";
import { until } from "../support/until.ts";

const script = `
sticky: true
rules:
  - { when: { pattern: "Lap (?<n>\\\\d+) of" }, reply: "R{{n}}" }
  - { when: { text: "slow answer" }, reply: "late", delay: 600s }
  - { when: { text: "limerick" }, reply: "R1" }
  - { when: { text: "The tide comes in" }, reply: "R1" }
  - { when: { text: "counts vowels" }, reply: "R1" }
  - { when: { text: "three letters" }, reply: "a cab" }
  - { when: { text: "Ask something new", nth: [1, 4] }, reply: "R1" }
  - { when: { text: "Ask something new", nth: 2 }, reply: "R2" }
  - { when: { text: "Ask something new" }, reply: "R3" }
  - { when: { text: "Describe a crab", nth: [1, 2] }, reply: "It has ten legs." }
  - { when: { text: ["does not fit the schema"] }, reply: '{"legs": 10, "name": "crab"}' }
  - { when: { text: "Describe a crab" }, reply: '{"legs": 10, "name": "crab"}' }
  - { when: { text: "never fits" }, reply: "no JSON at all" }
  - { when: { text: "busy", nth: [1, 2] }, fault: { status: 429, retryAfterMs: 50 } }
  - { when: { text: "busy" }, reply: "at last" }
  - { when: { text: "broken" }, fault: { status: 400, message: "no such luck" } }
  - { when: { pattern: "^echo (?<what>[^]*)$" }, reply: "{{what}}", verbatim: false }
default: { reply: "I heard {{prompt}}" }
`;

const backends = await allBackends("workflows of tasks");

describe.each(backends)("a workflow of tasks on the %s backend", (backend) => {
  /** Cases without a part in the queue: one backend, and all in the soak. They always run without the throughput code too. */
  const once = it.skipIf(backend !== backends[0] && backend !== "plain" && !inject("thorough"));
  let mill: Mill;
  beforeAll(async () => {
    mill = await startMill({ backend, script });
  });
  afterAll(() => mill.close());
  const asked = (text: string) =>
    mill.requests().filter(({ messages }) => messages.some(({ content }) => content.includes(text)));

  once.each([
    ["simple", "R1 \nR1 \n"],
    ["base", "R1"],
    ["coding", '["R1"]'],
    ["post-process", "# C#$"],
    ["fallback", "I heard Guess it then. Hints left: 2"],
  ])("the workflow %s ends with the expected result", async (name, result) => {
    const run = await mill.run(fixture(name));
    expect(run).toMatchObject({ status: "success", result });
    expect((await replayRun(mill.store.database, mill.store.definitions, run.id)).differences).toEqual([]);
  });

  once("sends max_tokens with every call", async () => {
    await mill.run(fixture("base"));
    const bodies = asked("The tide comes in").map(({ body }) => JSON.stringify(body));
    expect(bodies.length).toBeGreaterThan(0);
    for (const body of bodies) expect(body).toMatch(/"max(?:_completion)?_tokens":31\b/);
  });

  it("loops until a stack is full: twenty laps are twenty jobs of twenty steps, and max_steps allows exactly that number", async () => {
    const run = await mill.run(fixture("laps"));
    const laps = Array.from({ length: 20 }, (_, lap) => `R${lap}`);
    expect(run).toMatchObject({
      status: "success",
      result: JSON.stringify(laps),
      hits: { lap: 20 },
      spent: { steps: 20 },
    });
    const { activities } = await getHistory(mill.store.database, run.id);
    expect(activities.map(({ node, generation }) => [node, generation])).toEqual(
      laps.map((_, lap) => ["lap", lap + 1]),
    );
    expect(new Set(activities.map(({ id }) => id)).size).toBe(20);
    expect((await replayRun(mill.store.database, mill.store.definitions, run.id)).differences).toEqual([]);
    const short = Object.fromEntries(
      Object.entries(fixture("laps")).map(([file, text]) => [file, text.replace('"max_steps": 20', '"max_steps": 19')]),
    );
    expect(await mill.run(short)).toMatchObject({
      status: "failed",
      reason: { code: "LIMIT_STEPS" },
      hits: { lap: 19 },
    });
  });

  once("reads initial stacks, {{place}} as {place}, and a missing optional input", async () => {
    const run = await mill.run(fixture("questions"));
    const count = asked("Ask something new").length;
    expect(run).toMatchObject({ status: "success", hits: { ask: 3 } });
    expect(JSON.parse(run.result ?? "")).toHaveLength(3);
    const [first] = asked("Ask something new").slice(count - 3);
    expect(first?.messages).toMatchObject([
      {
        role: "user",
        content: "Text: Salt marshes slow the waves before they reach the dyke.\nAsked so far: \nAsk something new.",
      },
    ]);
  });

  once("samples until a stack is empty: every choice is of its stack, kept, and the same in a replay", async () => {
    const run = await mill.run(fixture("users"));
    expect(run).toMatchObject({
      status: "success",
      result: "",
      hits: { draft: 1, greet: 10 },
      spent: { steps: 11, calls: 1 },
    });
    const replayed = await replayRun(mill.store.database, mill.store.definitions, run.id);
    expect(replayed.differences).toEqual([]);
    const drawn = replayed.state.lists.final_prompt ?? [];
    expect(drawn).toHaveLength(10);
    for (const text of drawn)
      expect(text).toMatch(/^Greet a walker with these words: (Moin|Ahoy|Good day|Tschüs|So long)$/);
    expect(new Set(drawn).size).toBeGreaterThan(1);
  });

  once("sends a long literal prompt with braces unchanged", async () => {
    const long = `echo ${`const x = $${"{y}"} {z}; // {} {{}} `.repeat(3_000)}`;
    const run = await mill.run(
      tasksFile({
        config: { max_tokens: 60_000 },
        tasks: [task("say", long)],
        steps: [{ source: "say", target: "__end" }],
      }),
    );
    expect(run.status).toBe("success");
    expect(asked("const x").at(-1)?.messages).toEqual([{ role: "user", content: long }]);
  });

  once("keeps roles and order of messages, fills each once, and stores them in the record", async () => {
    const messages = [
      { role: "system", content: "You are {who}." },
      { role: "user", content: "echo first" },
      { role: "assistant", content: "first" },
      { role: "user", content: "echo {what}" },
    ];
    const run = await mill.run(
      tasksFile({
        tasks: [
          {
            id: "say",
            operator: "generation",
            messages,
            outputs: [],
            inputs: [input("who", "string", "{what}"), input("what", "input")],
          },
        ],
        steps: [{ source: "say", target: "end" }],
      }),
      { variables: { __input: "a {who} b" } },
    );
    expect(run).toMatchObject({ status: "success", result: "a {who} b" });
    const kept = await getMessages(mill.store.database, `${run.id}/main/1`);
    expect(kept.map(({ role, text }) => [role, text])).toEqual([
      ["system", "You are {what}."],
      ["user", "echo first"],
      ["assistant", "first"],
      ["user", "echo a {who} b"],
      ["assistant", "a {who} b"],
    ]);
  });

  once("repeats a prompt with a schema once after an invalid reply, and fails if no reply is valid", async () => {
    for (const name of ["structured-object", "structured-text"]) {
      expect(await mill.run(fixture(name))).toMatchObject({
        status: "success",
        result: '{"legs": 10, "name": "crab"} \n',
      });
    }
    const schema = {
      type: "object",
      properties: { a: { type: "string" } },
      required: ["a"],
      additionalProperties: false,
    };
    const run = await mill.run(
      tasksFile({
        tasks: [{ ...task("say", "never fits"), schema }, task("rescue", "echo rescued")],
        steps: [
          { source: "say", target: "__end", fallback: "rescue" },
          { source: "rescue", target: "__end" },
        ],
      }),
    );
    expect(run).toMatchObject({ status: "success", result: "rescued", hits: { say: 1, rescue: 1 } });
    expect(asked("never fits").length % 2).toBe(0);
  });

  once("describes a form in words to the model before the task", async () => {
    await mill.run(fixture("structured-base64"));
    const request = asked('"legs": [0-9]+').at(-1);
    expect(request?.messages.map(({ role }) => role)).toEqual(["system", "user"]);
  });

  once.each([
    [" yes\n", "Yes", "success"],
    ["No", "yes", "failed"],
  ])("checks %j against %j, ignoring case, line breaks and outer spaces: %s", async (said, expected, status) => {
    const run = await mill.run(
      tasksFile({
        tasks: [
          {
            id: "judge",
            operator: "check",
            outputs: [],
            inputs: [input("__output", "input"), input("__expected", "string", expected)],
          },
        ],
        steps: [{ source: "judge", target: "__end" }],
      }),
      { variables: { __input: said } },
    );
    expect(run).toMatchObject({ status, hits: { judge: 1 } });
    if (status === "failed") expect(run.reason?.code).toBe("CHECK_FALSE");
  });

  it("waits out transient trouble within one step, and a failed task uses its fallback and records its reason", async () => {
    const busy = await mill.run(
      tasksFile({ tasks: [task("say", `busy ${backend}`)], steps: [{ source: "say", target: "__end" }] }),
    );
    expect(busy).toMatchObject({ status: "success", result: "at last", spent: { steps: 1 } });
    const broken = tasksFile({
      tasks: [
        task("say", "broken", [input("one", "pop", "hints")]),
        task("rescue", "echo {n}", [input("n", "size", "hints")]),
      ],
      steps: [
        { source: "say", target: "__end", fallback: "rescue" },
        { source: "rescue", target: "__end" },
      ],
      external_memory: { hints: ["a", "b"] },
    });
    const run = await mill.run(broken);
    // The values that the failed task popped have returned.
    expect(run).toMatchObject({ status: "success", result: "2", hits: { say: 1, rescue: 1 } });
    const { entries } = await getHistory(mill.store.database, run.id);
    const failed = entries.flatMap((entry) =>
      entry.kind === "event" && entry.event.type === "activity.failed" ? [entry.event.failure.code] : [],
    );
    expect(failed).toHaveLength(1);
  });

  once("fails with the reason and the return value if a failed task has no fallback", async () => {
    const run = await mill.run(
      tasksFile({
        tasks: [task("good", "echo kept", [], [output("write", "kept")]), task("bad", "broken")],
        steps: [
          { source: "good", target: "bad" },
          { source: "bad", target: "__end" },
        ],
        return_value: { input: { type: "read", key: "kept" } },
      }),
    );
    expect(run).toMatchObject({ status: "failed", result: "kept" });
    expect(run.reason?.message).toContain("no such luck");
  });

  once("follows conditions on the memory that the task left, and uses the fallback for an invalid number", async () => {
    const condition = (expression: string, expected: string) => ({
      input: { type: "read", key: "said" },
      expression,
      expected,
      target_if_not: "no",
    });
    const file = (said: string, expression: string, expected: string) =>
      tasksFile({
        tasks: [
          task("say", `echo ${said}`, [], [output("write", "said")]),
          task("yes", "echo yes"),
          task("no", "echo no"),
          task("lost", "echo lost"),
        ],
        steps: [
          { source: "say", target: "yes", fallback: "lost", condition: condition(expression, expected) },
          ...["yes", "no", "lost"].map((source) => ({ source, target: "__end" })),
        ],
      });
    for (const [said, expression, expected, result] of [
      ["12", "GreaterThan", "9", "yes"],
      ["12", "LessThan", "9", "no"],
      ["many", "GreaterThan", "9", "lost"],
      ["1.0", "Equal", "1", "no"],
    ] as const) {
      expect((await mill.run(file(said, expression, expected))).result, `${said} ${expression} ${expected}`).toBe(
        result,
      );
    }
  });

  it("ends at max_time also in the middle of a call, and frees the worker", async () => {
    // The reply takes longer than the time limit of this test, so the run ends only if the call is cut in the middle.
    const run = await mill.run(
      tasksFile({
        config: { max_time: 1 },
        tasks: [task("say", `slow answer ${backend}`)],
        steps: [{ source: "say", target: "__end" }],
      }),
    );
    expect(run).toMatchObject({ status: "failed", reason: { code: "LIMIT_TIME" } });
  });

  once("stores nothing of a call when it is cancelled during the call", async () => {
    const runId = await mill.start(
      tasksFile({
        tasks: [task("say", `slow answer, cancelled ${backend}`, [], [output("push", "said")])],
        steps: [{ source: "say", target: "__end" }],
      }),
    );
    await until(async () => asked(`cancelled ${backend}`).length > 0 || null);
    await cancelRun(mill.store, runId, "enough");
    expect(await mill.ended(runId)).toMatchObject({ status: "cancelled" });
    const { state } = await replayRun(mill.store.database, mill.store.definitions, runId);
    expect(state.lists).toEqual({});
  });

  once("uses the model of the task, else of the run, else of the file", async () => {
    const file = (config: object, more: object = {}) =>
      tasksFile({
        config,
        tasks: [{ ...task("say", `echo which ${JSON.stringify([config, more]).length}`), ...more }],
        steps: [{ source: "say", target: "__end" }],
      });
    const modelOf = async (files: Record<string, string>, variables = {}) => {
      await mill.run(files, { variables });
      return asked("which").at(-1)?.model;
    };
    expect(await modelOf(file({ model: "gpt-5-mini" }))).toBe("gpt-5-mini");
    expect(await modelOf(file({ model: "gpt-5-mini" }), { AI_MODEL_NAME: "scripted" })).toBe("scripted");
    expect(await modelOf(file({ model: "scripted" }, { model: "gpt-5-mini" }), { AI_MODEL_NAME: "scripted" })).toBe(
      "gpt-5-mini",
    );
  });
});
