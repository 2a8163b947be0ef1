/** Workflows that models call as tools, from the front matter to the child run and back, on all backends. */
import { startToolServer, type ToolServer } from "@markmill/tools/testing-tool-server";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { allBackends, type Mill, startMill, workflow } from "../support/mill.ts";
import {
  answerAsk,
  cancelRun,
  childRuns,
  defaultTenant,
  forkRun,
  getHistory,
  getMessages,
  getRun,
  openAsks,
  replayRun,
  resumeRun,
  stopRun,
} from "../support/store.ts";
import { until } from "../support/until.ts";

const script = `
rules:
  - name: two at once
    when: { role: user, text: two things }
    reply: I look.
    calls:
      - { name: look, arguments: { WHAT: slow one } }
      - { name: look, arguments: { WHAT: quick two } }
  - { when: { role: user, text: find slow one }, reply: found one, delay: 300ms }
  - { when: { role: user, pattern: 'find (\\w+) two' }, reply: found two }
  - { when: { role: tool, text: found two }, reply: Both are found. }
  - { when: { role: user, text: go on }, calls: [{ name: look, arguments: { WHAT: first } }] }
  - { when: { role: tool, text: heard find first }, calls: [{ name: look, arguments: { WHAT: second } }, { name: post, arguments: {} }] }
  - { when: { role: tool, turn: 3 }, reply: Two rounds. }
  - { when: { role: user, text: try it }, calls: [{ name: fall, arguments: {} }] }
  - { when: { role: user, text: invent }, calls: [{ name: look, arguments: { WHAT: x, MAX_STEPS: "9" } }] }
  - { when: { role: user, text: forget }, calls: [{ name: look, arguments: {} }] }
  - { when: { role: user, text: deeper }, calls: [{ name: deeper, arguments: {} }] }
  - { when: { role: user, text: long way }, calls: [{ name: way, arguments: {} }] }
  - name: both ways
    when: { role: user, text: both ways }
    calls: [{ name: look, arguments: { WHAT: first } }, { name: way, arguments: {} }]
  - { when: { role: user, text: somebody }, calls: [{ name: ask, arguments: {} }] }
  - { when: { role: user, text: please change }, calls: [{ name: change, arguments: {} }] }
  - { when: { role: user, text: tasks }, calls: [{ name: tasks, arguments: { input: a poem } }] }
  - { when: { role: tool, pattern: '"code":"(\\w+)"' }, reply: "The tool said {{1}}." }
  - { when: { role: tool }, reply: "I read {{prompt}}" }
default: { reply: "heard {{prompt}}" }
`;

const tasks = JSON.stringify({
  config: { max_steps: 5, max_time: 60, tools: [] },
  external_memory: {},
  tasks: [
    {
      id: "A",
      name: "A",
      description: "",
      operator: "generation",
      messages: [{ role: "user", content: "write {x}" }],
      inputs: [{ name: "x", value: { type: "input", key: "" }, required: true }],
      outputs: [{ type: "write", key: "out", value: "__result" }],
    },
    { id: "_end", name: "end", description: "", messages: [], operator: "end", inputs: [], outputs: [] },
  ],
  steps: [{ source: "A", target: "_end" }],
  return_value: { input: { type: "read", key: "out" }, to_json: false },
});

const backends = await allBackends("workflow tools");

describe.each(backends)("a workflow as a tool, on the %s backend", (backend) => {
  /** Cases without a part in the queue run on one backend, and in the soak on all. */
  const once = it.skipIf(backend !== backends[0] && !inject("thorough"));
  let mill: Mill;
  let server: ToolServer;
  beforeAll(async () => {
    server = await startToolServer();
    mill = await startMill({ backend, script, environment: { TOOL_ALLOW: server.address } });
  });
  afterAll(async () => {
    await mill?.close();
    await server?.close();
  });

  const asking = (text: string, more = ""): Record<string, string> => ({
    "main.wf.md": workflow(
      "START --> PROMPT_A[Prompt: User Ask]\nON_FAILED --> SET_R[Set: REPORTED=yes]",
      { "User Ask": text },
      `---
tools:
  look: { workflow: look.wf.md, description: Looks something up. }
  fall: { workflow: fall.wf.md }
  ask: { workflow: ask.wf.md }
  way: { workflow: way.wf.md }
  deeper: { workflow: main.wf.md }
  tasks: { workflow: tasks.json }
  post: { url: "${server.url}/post", method: POST, description: Posts. }
${more}---
`,
    ),
    "look.wf.md": workflow('PARAMS["WHAT, HOW=well, MAX_ACTIVITY_HITS=7"]\nSTART --> PROMPT_L[Prompt: User Look]', {
      "User Look": "find {{WHAT}} {{OWN}}",
    }),
    "fall.wf.md": workflow("START --> ASSIGN_F[Assign: 'nothing there'] --> FAILED"),
    "ask.wf.md": workflow("START --> ASK_A[Ask: Which?]"),
    "way.wf.md": workflow("START --> PROMPT_W[Prompt: User W] --> SET_A[Set: A=1] --> SET_B[Set: B=2]", {
      "User W": "a step",
    }),
    "tasks.json": tasks,
  });
  const start = (text: string, more = "") => mill.start(asking(text, more), { variables: { OWN: "secret" } });
  const run = async (text: string, more = "") => mill.ended(await start(text, more));
  const toolCallsOf = async (runId: string) =>
    (await mill.store.as(defaultTenant).runs.toolCalls(runId)).map(
      ({ name, callIndex, position, state, result, failure }) => ({
        name,
        at: [callIndex, position],
        state,
        result,
        code: failure?.code ?? null,
      }),
    );
  const replays = async (runId: string) => {
    for (const { id } of [{ id: runId }, ...(await childRuns(mill.store.database, runId))])
      expect((await replayRun(mill.store.database, mill.store.definitions, id)).differences).toEqual([]);
  };
  const open = async (runId: string) => {
    const { activities } = await getHistory(mill.store.database, runId);
    return activities.filter(({ state }) => state !== "done").map(({ kind, item, state }) => [kind, item, state]);
  };
  const waiting = (runId: string) =>
    until(async () => {
      const [child] = await childRuns(mill.store.database, runId);
      const asked = await openAsks(mill.store.database, runId);
      return asked[0] === undefined || child === undefined ? null : { child, ask: asked[0] };
    });

  it("two calls of one reply run together, their results return in order, and their costs count for the caller", async () => {
    const before = mill.requests().length;
    const ended = await run("two things");
    expect(ended).toMatchObject({ status: "success", result: "Both are found.", spent: { calls: 4, steps: 5 } });
    const requests = mill.requests().slice(before);
    expect(requests).toHaveLength(4);
    expect(requests.at(-1)?.messages.map(({ role, content }) => [role, content])).toEqual([
      ["user", "two things"],
      ["assistant", "I look."],
      ["tool", "found one"],
      ["tool", "found two"],
    ]);
    expect(requests[0]?.body).toMatchObject({
      tools: expect.arrayContaining([
        {
          type: "function",
          function: {
            name: "look",
            description: "Looks something up.",
            parameters: {
              type: "object",
              properties: { WHAT: { type: "string" }, HOW: { type: "string", description: "Without it: well" } },
              required: ["WHAT"],
              additionalProperties: false,
            },
          },
        },
        expect.objectContaining({ function: expect.objectContaining({ name: "fall", description: "Test" }) }),
      ]),
    });
    const children = await childRuns(mill.store.database, ended.id);
    expect(children.map(({ program, status, depth }) => [program, status, depth])).toEqual([
      ["look.wf.md", "success", 1],
      ["look.wf.md", "success", 1],
    ]);
    expect(await toolCallsOf(ended.id)).toEqual([
      { name: "look", at: [0, 0], state: "done", result: "found one", code: null },
      { name: "look", at: [0, 1], state: "done", result: "found two", code: null },
    ]);
    // The callee sees its arguments and nothing else of its caller. Its messages are not in the caller's conversation.
    const given = await Promise.all(children.map(({ id }) => getRun(mill.store.database, id)));
    expect(given.map((child) => child?.variables.WHAT).sort()).toEqual(["quick two", "slow one"]);
    for (const child of given) expect(Object.keys(child?.variables ?? {})).not.toContain("OWN");
    expect(requests.some(({ messages }) => JSON.stringify(messages).includes("secret"))).toBe(false);
    const said = await getMessages(mill.store.database, `${ended.id}/main/1`);
    expect(said.map(({ role }) => role)).toEqual(["user", "assistant"]);
    await replays(ended.id);
  });

  once("rounds continue, and a tool that must not be repeated is called once", async () => {
    const ended = await run("go on");
    expect(ended).toMatchObject({ status: "success", result: "Two rounds." });
    expect(await childRuns(mill.store.database, ended.id)).toHaveLength(2);
    expect((await toolCallsOf(ended.id)).map(({ name, at, state }) => [name, at, state])).toEqual([
      ["look", [0, 0], "done"],
      ["look", [1, 0], "done"],
      ["post", [1, 1], "done"],
    ]);
    expect(server.requests("/post")).toHaveLength(1);
    await replays(ended.id);
  });

  once("the model receives the error of a failed callee and of invalid arguments", async () => {
    const fell = await run("try it");
    expect(fell).toMatchObject({ status: "success", result: "The tool said CALL_FAILED." });
    expect(mill.requests().at(-1)?.messages.at(-1)?.content).toContain("nothing there");
    for (const text of ["invent", "forget"]) {
      const ended = await run(text);
      expect(ended).toMatchObject({ status: "success", result: "The tool said TOOL_ARGUMENTS." });
      expect(await childRuns(mill.store.database, ended.id)).toEqual([]);
    }
  });

  once("a workflow of tasks receives its input", async () => {
    const ended = await run("tasks");
    expect(ended).toMatchObject({ status: "success", result: "I read heard write a poem" });
  });

  once("a repeated prompt with a file sends the same text, although the callee changed the file", async () => {
    const before = mill.requests().length;
    const chart = 'START --> EXECUTE_W["Execute: echo please change > task.txt"] --> PROMPT_A["Prompt: file:task.txt"]';
    const ended = await mill.run({
      "main.wf.md": workflow(chart, {}, "---\ntools: { change: { workflow: change.wf.md } }\n---\n"),
      "change.wf.md": workflow('START --> EXECUTE_C["Execute: echo changed > task.txt; cat task.txt"]'),
    });
    expect(ended).toMatchObject({ status: "success", result: expect.stringContaining("changed") });
    const asked = mill.requests().slice(before);
    expect(asked.map(({ messages }) => messages[0]?.content)).toEqual(["please change\n", "please change\n"]);
    const [said] = await getMessages(mill.store.database, `${ended.id}/main/1`);
    expect(said?.text).toBe("please change\n");
  });

  once("recursion ends at the allowed depth", async () => {
    const deep = await run("deeper", "limits: { depth: 2 }\n");
    expect(deep).toMatchObject({ status: "failed", reason: { code: "LIMIT_DEPTH" }, variables: { REPORTED: "yes" } });
    await replays(deep.id);
  });

  once(
    "a limit that a callee reaches ends the caller too, and a retry with a higher limit pays for nothing twice",
    async () => {
      const before = mill.requests().length;
      const runId = await mill.start(asking("long way"), { caps: { steps: 3 } });
      const ended = await mill.ended(runId);
      expect(ended).toMatchObject({
        status: "failed",
        reason: { code: "LIMIT_STEPS" },
        variables: { REPORTED: "yes" },
      });
      await replays(runId);
      expect(mill.requests().length - before).toBe(2);
      const forked = await forkRun(mill.store, defaultTenant, { of: runId, from: null, caps: { steps: 50 } });
      expect(forked.from).toEqual(["PROMPT_A", "PROMPT_W"]);
      await mill.queues.enqueue(forked.jobs);
      expect(await mill.ended(forked.runId)).toMatchObject({ status: "success", result: "I read heard a step" });
      expect(mill.requests().length - before).toBe(3);
      expect(await toolCallsOf(forked.runId)).toMatchObject([{ name: "way", state: "done", result: "heard a step" }]);
      await replays(forked.runId);
      // The retry starts at a node of the callee: that prompt is sent again, and the caller's replies stay.
      const from = ["PROMPT_A", "PROMPT_W"];
      const below = await forkRun(mill.store, defaultTenant, { of: forked.runId, from, caps: { steps: 50 } });
      await mill.queues.enqueue(below.jobs);
      expect(await mill.ended(below.runId)).toMatchObject({ status: "success", result: "I read heard a step" });
      expect(mill.requests().length - before).toBe(4);
      await replays(below.runId);
    },
  );

  once("each of several callees of one reply can be retried from one of its nodes", async () => {
    const { id: of } = await run("both ways");
    for (const node of ["PROMPT_W", "PROMPT_L"]) {
      const forked = await forkRun(mill.store, defaultTenant, { of, from: ["PROMPT_A", node] });
      expect(forked.from.at(-1)).toBe(node);
      await mill.queues.enqueue(forked.jobs);
      expect(await mill.ended(forked.runId)).toMatchObject({ status: "success", result: "I read heard a step" });
      await replays(forked.runId);
    }
    await expect(forkRun(mill.store, defaultTenant, { of, from: ["PROMPT_A", "PROMPT_X"] })).rejects.toThrow(
      /never came to PROMPT_X/,
    );
  });

  it("a waiting callee holds no worker, and a cancellation cancels caller and callee", async () => {
    const runId = await start("somebody");
    const { child } = await waiting(runId);
    expect(await open(runId)).toEqual([
      ["prompt", null, "waiting"],
      ["call", 0, "waiting"],
    ]);
    const { rows } = await mill.store.database.calm.query(
      "select 1 from activities where run_id = $1 and lease_until is not null and kind = 'prompt'",
      [runId],
    );
    expect(rows).toEqual([]);
    await cancelRun(mill.store, runId, "enough");
    expect((await mill.ended(runId)).status).toBe("cancelled");
    expect((await mill.ended(child.id)).status).toBe("cancelled");
    await replays(runId);
  });

  once("a stopped and resumed callee is called again, without a second request for the call", async () => {
    const before = mill.requests().length;
    const runId = await start("somebody");
    const { child } = await waiting(runId);
    await stopRun(mill.store, runId);
    expect((await mill.ended(child.id)).status).toBe("cancelled");
    const { jobs } = await resumeRun(mill.store, runId);
    await mill.queues.enqueue(jobs);
    const next = await until(async () => {
      const second = (await childRuns(mill.store.database, runId)).find(({ id }) => id !== child.id);
      return second === undefined ? null : ((await openAsks(mill.store.database, runId))[0] ?? null);
    });
    expect(await open(runId)).toEqual([
      ["prompt", null, "waiting"],
      ["call", 0, "waiting"],
    ]);
    const answered = await answerAsk(mill.store, next.activityId, "this one", "ada");
    await mill.queues.enqueue(answered.jobs);
    expect(await mill.ended(runId)).toMatchObject({ status: "success", result: "I read this one" });
    expect(mill.requests().length - before).toBe(2);
    await replays(runId);
  });

  once("a callee that is cancelled alone is a failure that the model receives", async () => {
    const runId = await start("somebody");
    const { child } = await waiting(runId);
    const { jobs } = await cancelRun(mill.store, child.id, "not this one");
    await mill.queues.enqueue(jobs);
    expect(await mill.ended(runId)).toMatchObject({ status: "success", result: "The tool said CALL_CANCELLED." });
  });
});
