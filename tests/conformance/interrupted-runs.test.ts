/** Runs in trouble continue: they wait for an endpoint, an interrupted run is resumed, and a failed one is forked. */

import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { allBackends, type Mill, startMill, workflow } from "../support/mill.ts";
import {
  childRuns,
  forkRun,
  getHistory,
  getMessages,
  getRun,
  replayRun,
  resumeTree,
  waitsOf,
} from "../support/store.ts";
import { until } from "../support/until.ts";

const script = `
sticky: true
rules:
  - { when: { text: "busy once", nth: [1, 2] }, fault: { status: 429 } }
  - { when: { text: "busy long", nth: [1, 2, 3] }, fault: { status: 503 } }
  - { when: { text: "busy below", nth: [1, 2, 3] }, fault: { status: 500 } }
  - { when: { text: "wrong once", nth: [1] }, fault: { status: 400, message: "no such luck" } }
  - { when: { text: "wrong below", nth: [1] }, fault: { status: 400, message: "no such luck" } }
  - { when: { text: "twice wrong", nth: [1, 2] }, fault: { status: 400, message: "no" } }
  - { when: { text: "thrice wrong", nth: [1, 2, 3] }, fault: { status: 400, message: "no" } }
  - { when: { text: "wrong files" }, fault: { status: 400, message: "no" } }
  - { when: { text: broken }, fault: { status: 400, message: "never" } }
  - { when: { text: expensive }, reply: "dear", usage: { prompt: 1000, completion: 1000 } }
default: { reply: "I heard {{prompt}}" }
`;

const backends = await allBackends("runs");

describe.each(backends)("a run in trouble, on the %s backend", (backend) => {
  /** Cases without a part in the queue: one backend, and all in the soak. They always run without the throughput code too. */
  const once = it.skipIf(backend !== backends[0] && backend !== "plain" && !inject("thorough"));
  let mill: Mill;
  beforeAll(async () => {
    mill = await startMill({ backend, script });
  });
  afterAll(() => mill.close());

  /** How often a message was the last one of a request. */
  const asked = (text: string) => mill.requests().filter(({ messages }) => messages.at(-1)?.content === text).length;

  async function held(runId: string) {
    return until(async () => {
      const waits = await waitsOf(mill.store.database, [runId]);
      return waits.some(({ parked }) => parked.held) && waits;
    });
  }

  it("waits while the endpoint is in trouble, follows no edge and counts no step", async () => {
    const chart = `START --> PROMPT_A[Prompt: User A] --> SUCCESS
      PROMPT_A --> |FALSE| FAILED`;
    const run = await mill.run({ "a.md": workflow(chart, { "User A": "busy once" }) });
    expect(run).toMatchObject({ status: "success", result: "I heard busy once", spent: { steps: 1 } });
    const { entries } = await getHistory(mill.store.database, run.id);
    const failures = entries.flatMap((entry) =>
      entry.kind === "event" && entry.event.type === "activity.failed" ? [entry.event] : [],
    );
    expect(failures).toMatchObject([
      { next: "park", trouble: { model: "scripted" } },
      { next: "park", trouble: { model: "scripted" } },
    ]);
    expect((await replayRun(mill.store.database, mill.store.definitions, run.id)).differences).toEqual([]);
  });

  it("is interrupted after its longest wait, reports what it waits for, and continues when it is resumed", async () => {
    const chart = `START --> PROMPT_A[Prompt: User A] --> PROMPT_B[Prompt: User B]`;
    const runId = await mill.start(
      { "a.md": workflow(chart, { "User A": "hello first", "User B": "busy long" }) },
      { patienceMs: 1_500 },
    );
    const [wait] = await held(runId);
    expect(wait).toMatchObject({
      node: "PROMPT_B",
      nextTry: null,
      parked: { trouble: { model: "scripted" }, held: true },
    });
    // The number of attempts within the longest wait depends on the machine. A fast one makes three.
    expect(wait?.parked.tries).toBeGreaterThan(1);
    expect(await getRun(mill.store.database, runId)).toMatchObject({ status: "doing", endedAt: null });
    await mill.queues.enqueue((await resumeTree(mill.store, runId)).jobs);
    expect(await mill.ended(runId)).toMatchObject({ status: "success", result: "I heard busy long" });
    expect(asked("hello first")).toBe(1);
    expect(await waitsOf(mill.store.database, [runId])).toEqual([]);
    expect((await replayRun(mill.store.database, mill.store.definitions, runId)).differences).toEqual([]);
  });

  once("is resumed below its calls, and repeats nothing above them", async () => {
    const files = {
      "a.md": workflow(
        "START --> PROMPT_A[Prompt: User A] --> CALL_B[[Call: b.md]] --> ASSIGN_C[Assign: '{{RESULT}}!']",
        {
          "User A": "above here",
        },
      ),
      "b.md": workflow("START --> PROMPT_B[Prompt: User B]", { "User B": "busy below" }),
    };
    const runId = await mill.start(files, { patienceMs: 1_500 });
    await held(runId);
    await mill.queues.enqueue((await resumeTree(mill.store, runId)).jobs);
    expect(await mill.ended(runId)).toMatchObject({ status: "success", result: "I heard busy below!" });
    expect(await childRuns(mill.store.database, runId)).toHaveLength(1);
    expect(asked("above here")).toBe(1);
  });

  once("is forked at the step that failed, without repeating paid calls", async () => {
    const chart = `START --> PROMPT_A[Prompt: User A] --> SET_N[Set: N=RESULT] --> PROMPT_B[Prompt: User B]`;
    const old = await mill.run({ "a.md": workflow(chart, { "User A": "asked before", "User B": "wrong once" }) });
    expect(old).toMatchObject({ status: "failed" });
    const forked = await forkRun(mill.store, "default", { of: old.id, from: null });
    expect(forked.from).toEqual(["PROMPT_B"]);
    await mill.queues.enqueue(forked.jobs);
    const run = await mill.ended(forked.runId);
    expect(run).toMatchObject({
      status: "success",
      result: "I heard wrong once",
      variables: { N: "I heard asked before" },
    });
    expect(asked("asked before")).toBe(1);
    const messages = await getMessages(mill.store.database, `${run.id}/main/1`);
    expect(messages.map(({ text }) => text)).toEqual([
      "asked before",
      "I heard asked before",
      "wrong once",
      "I heard wrong once",
    ]);
    const { entries, activities } = await getHistory(mill.store.database, run.id);
    expect(entries.some((entry) => entry.kind === "event" && entry.event.type === "run.forked")).toBe(true);
    expect(activities.map(({ node }) => node)).toEqual(["PROMPT_A", "SET_N", "PROMPT_B"]);
    expect((await replayRun(mill.store.database, mill.store.definitions, run.id)).differences).toEqual([]);
    expect(await getRun(mill.store.database, old.id)).toEqual(old);
  });

  once("is forked at a node by its name, and that node's prompt is repeated", async () => {
    const chart = `START --> PROMPT_A[Prompt: User A] --> PROMPT_B[Prompt: User B]`;
    const old = await mill.run({ "a.md": workflow(chart, { "User A": "kept reply", "User B": "named again" }) });
    const forked = await forkRun(mill.store, "default", { of: old.id, from: ["PROMPT_B"] });
    await mill.queues.enqueue(forked.jobs);
    expect(await mill.ended(forked.runId)).toMatchObject({ status: "success", result: "I heard named again" });
    expect(asked("kept reply")).toBe(1);
    expect(asked("named again")).toBe(2);
    await expect(forkRun(mill.store, "default", { of: old.id, from: ["PROMPT_X"] })).rejects.toMatchObject({
      code: "STORE_NO_FORK",
    });
  });

  once("is forked inside the workflow it called, without a new call", async () => {
    const files = {
      "a.md": workflow("START --> PROMPT_A[Prompt: User A] --> CALL_B[[Call: b.md]] --> PROMPT_C[Prompt: User C]", {
        "User A": "top level",
        "User C": "closing words",
      }),
      "b.md": workflow("START --> PROMPT_P[Prompt: User P] --> PROMPT_Q[Prompt: User Q]", {
        "User P": "paid below",
        "User Q": "wrong below",
      }),
    };
    const old = await mill.run(files);
    expect(old).toMatchObject({ status: "failed" });
    const forked = await forkRun(mill.store, "default", { of: old.id, from: null });
    expect(forked.from).toEqual(["CALL_B", "PROMPT_Q"]);
    await mill.queues.enqueue(forked.jobs);
    expect(await mill.ended(forked.runId)).toMatchObject({ status: "success", result: "I heard closing words" });
    for (const text of ["top level", "paid below"]) {
      expect(asked(text)).toBe(1);
    }
    const messages = await getMessages(mill.store.database, `${forked.runId}/main/1`);
    expect(messages.filter(({ role }) => role === "user").map(({ text }) => text)).toEqual([
      "top level",
      "paid below",
      "wrong below",
      "closing words",
    ]);
    const [child] = await childRuns(mill.store.database, forked.runId);
    for (const id of [forked.runId, child?.id ?? ""]) {
      expect((await replayRun(mill.store.database, mill.store.definitions, id)).differences).toEqual([]);
    }
  });

  once("is forked with its files from before the step, and refused if they no longer exist", async () => {
    const chart = `START --> EXECUTE_A["Execute: echo one >> log"] --> PROMPT_B[Prompt: User B] --> EXECUTE_C["Execute: echo two >> log"]
      EXECUTE_C --> EXECUTE_D["Execute: cat log"] --> PROMPT_E[Prompt: User E]`;
    const files = { "a.md": workflow(chart, { "User B": "hello files", "User E": "wrong files" }) };
    const old = await mill.run(files);
    expect(old).toMatchObject({ status: "failed" });
    const forked = await forkRun(mill.store, "default", { of: old.id, from: ["EXECUTE_D"] });
    await mill.queues.enqueue(forked.jobs);
    const again = await mill.ended(forked.runId);
    const { entries } = await getHistory(mill.store.database, again.id);
    const printed = entries.flatMap((entry) =>
      entry.kind === "event" && entry.event.type === "activity.succeeded" && entry.event.outcome.kind === "executed"
        ? entry.event.outcome.text
        : [],
    );
    expect(printed.at(-1)).toContain("one\ntwo\n");
    expect(printed.at(-1)).not.toContain("two\ntwo");
    await expect(forkRun(mill.store, "default", { of: old.id, from: ["PROMPT_B"] })).rejects.toMatchObject({
      code: "STORE_NO_FORK",
    });
  });

  once("is forked several times, and still has the files of a called workflow", async () => {
    const files = {
      "a.md": workflow(
        `START --> CALL_B[[Call: b.md]] --> PROMPT_C[Prompt: User C] --> EXECUTE_D["Execute: cat made"]`,
        {
          "User C": "twice wrong",
        },
      ),
      "b.md": workflow(`START --> EXECUTE_B["Execute: echo by the callee > made"]`),
    };
    const old = await mill.run(files);
    expect(old).toMatchObject({ status: "failed" });
    const first = await forkRun(mill.store, "default", { of: old.id, from: null });
    await mill.queues.enqueue(first.jobs);
    expect(await mill.ended(first.runId)).toMatchObject({ status: "failed" });
    const second = await forkRun(mill.store, "default", { of: first.runId, from: null });
    await mill.queues.enqueue(second.jobs);
    const run = await mill.ended(second.runId);
    expect(run).toMatchObject({ status: "success", result: expect.stringContaining("by the callee") });
    expect((await replayRun(mill.store.database, mill.store.definitions, run.id)).differences).toEqual([]);
  });

  once("is forked from before a call if the call changed no files, and refused if it changed some", async () => {
    const files = {
      "m.md": workflow("START --> CALL_A[[Call: a.md]]"),
      "a.md": workflow(
        `START --> EXECUTE_A["Execute: echo one > made"] --> CALL_B[[Call: b.md]] --> CALL_C[[Call: c.md]] --> PROMPT_D[Prompt: User D] --> EXECUTE_E["Execute: cat made"]`,
        { "User D": "thrice wrong" },
      ),
      "b.md": workflow("START --> CALL_X[[Call: x.md]]"),
      "x.md": workflow(`START --> EXECUTE_X["Execute: echo two >> made"]`),
      "c.md": workflow("START --> PROMPT_C[Prompt: User C]", { "User C": "only words" }),
    };
    const old = await mill.run(files);
    let last = old;
    for (const from of [null, ["CALL_A", "CALL_C"], ["CALL_A", "PROMPT_D"]]) {
      expect(last).toMatchObject({ status: "failed" });
      const next = await forkRun(mill.store, "default", { of: last.id, from });
      await mill.queues.enqueue(next.jobs);
      last = await mill.ended(next.runId);
      const before = forkRun(mill.store, "default", { of: last.id, from: ["CALL_A", "CALL_B"] });
      await expect(before).rejects.toMatchObject({ code: "STORE_NO_FORK" });
    }
    expect(last).toMatchObject({ status: "success", result: "$ cat made\none\ntwo\n" });
  });

  once("keeps the result of a called workflow if a limit ends the run after the call", async () => {
    const files = {
      "a.md": workflow("START --> CALL_B[[Call: b.md]] --> ASSIGN_C[Assign: '{{RESULT}}!']"),
      "b.md": workflow("START --> PROMPT_B[Prompt: User B]", { "User B": `called once ${backend}` }),
    };
    const old = await mill.run(files, { caps: { steps: 2 } });
    expect(old).toMatchObject({ status: "failed", reason: { code: "LIMIT_STEPS" } });
    const forked = await forkRun(mill.store, "default", { of: old.id, from: null, caps: { steps: 100 } });
    await mill.queues.enqueue(forked.jobs);
    const run = await mill.ended(forked.runId);
    expect(run).toMatchObject({ status: "success", result: `I heard called once ${backend}!` });
    expect(asked(`called once ${backend}`)).toBe(1);
  });

  once(
    "repeats a call that changed files if a limit ends the run after it, with the files from before the call",
    async () => {
      const files = {
        "a.md": workflow(
          `START --> EXECUTE_A["Execute: echo one > made"] --> CALL_B[[Call: b.md]] --> EXECUTE_C["Execute: cat made"]`,
        ),
        "b.md": workflow("START --> CALL_X[[Call: x.md]]"),
        "x.md": workflow(`START --> EXECUTE_X["Execute: echo two >> made"]`),
      };
      const old = await mill.run(files, { caps: { steps: 4 } });
      expect(old).toMatchObject({ status: "failed", reason: { code: "LIMIT_STEPS" } });
      const forked = await forkRun(mill.store, "default", { of: old.id, from: null, caps: { steps: 100 } });
      await mill.queues.enqueue(forked.jobs);
      expect(await mill.ended(forked.runId)).toMatchObject({ status: "success", result: "$ cat made\none\ntwo\n" });
    },
  );

  once("continues with a higher limit after a limit ended it, and pays for nothing again", async () => {
    const chart = `START --> PROMPT_A[Prompt: User A] --> PROMPT_B[Prompt: User B]`;
    const files = { "a.md": workflow(chart, { "User A": "expensive once", "User B": "cheap words" }) };
    const old = await mill.run(files, { caps: { tokens: 3_000 } });
    expect(old).toMatchObject({ status: "failed", reason: { code: "LIMIT_TOKENS" } });
    const forked = await forkRun(mill.store, "default", { of: old.id, from: null, caps: { tokens: 100_000 } });
    await mill.queues.enqueue(forked.jobs);
    expect(await mill.ended(forked.runId)).toMatchObject({ status: "success", result: "I heard cheap words" });
    expect(asked("expensive once")).toBe(1);
  });

  once(
    "ends with the code of a limit that was reached below a call, and runs the ON_FAILED of each level",
    async () => {
      const handled = "ON_FAILED --> SET_SEEN[Set: SEEN=yes]";
      const files = {
        "a.md": workflow(`START --> CALL_B[[Call: b.md]] --> SUCCESS
        CALL_B --> |FALSE| SUCCESS
        ${handled}`),
        "b.md": workflow(`START --> ASSIGN_A[Assign: 'x'] --> ASSIGN_B[Assign: 'y'] --> ASSIGN_C[Assign: 'z']
        ${handled}`),
      };
      const run = await mill.run(files, { caps: { steps: 3 } });
      expect(run).toMatchObject({ status: "failed", reason: { code: "LIMIT_STEPS" }, variables: { SEEN: "yes" } });
      const [child] = await childRuns(mill.store.database, run.id);
      const below = await getRun(mill.store.database, child?.id ?? "");
      expect(below).toMatchObject({ status: "failed", reason: { code: "LIMIT_STEPS" }, variables: { SEEN: "yes" } });
    },
  );

  once("keeps status and RESULT after trouble in a handler, and the trouble is a warning", async () => {
    const chart = `START --> ASSIGN_A[Assign: 'Points: 7'] --> SUCCESS
      ON_SUCCESS --> PROMPT_A[Prompt: User A]`;
    const run = await mill.run({ "a.md": workflow(chart, { "User A": "broken" }) });
    expect(run).toMatchObject({ status: "success", result: "Points: 7", reason: null });
    const { entries } = await getHistory(mill.store.database, run.id);
    const warned = entries.flatMap((entry) => (entry.kind === "warning" ? entry.warning.code : []));
    expect(warned).toContain("HANDLER_FAILED");
  });
});
