/** The behaviour of CodeMentor workflows: every activity, handler and limit, end to end, on all backends. */

import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { allBackends, type Mill, startMill, workflow } from "../support/mill.ts";
import {
  answerAsk,
  cancelRun,
  childRuns,
  getHistory,
  getMessages,
  openAsks,
  replayRun,
  resumeRun,
  stopRun,
} from "../support/store.ts";
import { until } from "../support/until.ts";

const script = `
sticky: true
rules:
  - { when: { text: never }, reply: "not yet" }
  - { when: { text: "count to three", turn: 3 }, reply: "DONE" }
  - { when: { text: "count to three" }, reply: "not yet" }
  - { when: { pattern: "echo (?<what>[^\\\\n]*)" }, reply: "{{what}}" }
  - { when: { text: commands }, reply: "Sure.\\n\\n\`\`\`bash\\ncd /tmp && export COLOUR=green\\necho first\\n\`\`\`\\n" }
  - { when: { text: "more please" }, reply: "\`\`\`bash\\npwd; echo $COLOUR\\n\`\`\`" }
  - { when: { text: busy, nth: [1, 2] }, fault: { status: 429, retryAfterMs: 50 } }
  - { when: { text: busy }, reply: "at last" }
  - { when: { text: broken }, fault: { status: 400, message: "no such luck" } }
  - { when: { text: slow }, reply: "finally", delay: 1500ms }
  - { when: { text: expensive }, reply: "x", usage: { prompt: 1000, completion: 1000 } }
  - { when: { text: "does not fit the schema: points: expected integer" }, verbatim: true, reply: "Sorry.\\n\`\`\`json\\n{\\"points\\": 7}\\n\`\`\`" }
  - { when: { text: "in points" }, verbatim: true, reply: '{"points": "seven"}' }
default: { reply: "I heard {{prompt}}" }
`;

const backends = await allBackends("runs");

describe.each(backends)("a run on the %s backend", (backend) => {
  /** Cases without a part in the queue: one backend, and all in the soak. They always run without the throughput code too. */
  const once = it.skipIf(backend !== backends[0] && backend !== "plain" && !inject("thorough"));
  let mill: Mill;
  beforeAll(async () => {
    mill = await startMill({ backend, script });
  });
  afterAll(() => mill.close());

  once(
    "opens a conversation with a system prompt, uses an assistant prompt as an example, and sends a user prompt",
    async () => {
      const chart = `START --> PROMPT_S[Prompt: System] --> PROMPT_E[Prompt: Assistant Example] --> PROMPT_A[Prompt: User Ask]`;
      const run = await mill.run(
        {
          "a.md": workflow(chart, {
            System: "You are {{WHO}}.",
            "Assistant Example": "Like this.",
            "User Ask": "echo hello {{WHO}}",
          }),
        },
        { variables: { WHO: "Ada" } },
      );
      expect(run).toMatchObject({ status: "success", result: "hello Ada" });
      const messages = await getMessages(mill.store.database, `${run.id}/main/1`);
      expect(messages.map(({ role, text }) => [role, text])).toEqual([
        ["system", "You are Ada."],
        ["assistant", "Like this."],
        ["user", "echo hello Ada"],
        ["assistant", "hello Ada"],
      ]);
    },
  );

  once("repeats a PROMPT with a schema once, with the errors, and RESULT is the JSON alone", async () => {
    const chart = `START --> PROMPT_A[Prompt: User A]\nPROMPT_A@{ schema: Points }`;
    const schema = { type: "object", properties: { points: { type: "integer" } }, required: ["points"] };
    const section = `\n# Schemas\n## Points\n\`\`\`json\n${JSON.stringify(schema)}\n\`\`\`\n`;
    const before = mill.requests().length;
    const text = workflow(chart, { "User A": "Answer in points." });
    const run = await mill.run({ "a.md": text.replace("# Prompts", `${section}\n# Prompts`) });
    expect(run).toMatchObject({ status: "success", result: '{"points":7}' });
    const asked = mill.requests().slice(before);
    expect(asked.map(({ body }) => (body as { response_format?: unknown }).response_format)).toEqual(
      Array(2).fill({ type: "json_schema", json_schema: { name: "reply", schema } }),
    );
  });

  once("keeps the conversations of named agents apart, and returns to one of them by name", async () => {
    const chart = `START --> PROMPT_A[Prompt: System Author] --> PROMPT_B[Prompt: User One] --> PROMPT_C[Prompt: System Critic] --> PROMPT_D[Prompt: User Two]
      PROMPT_D --> PROMPT_E@{ shape: rect, label: "Prompt: User Three", agent: "Author" }`;
    const run = await mill.run({
      "a.md": workflow(chart, {
        "System Author": "author",
        "System Critic": "critic",
        "User One": "echo one",
        "User Two": "echo two",
        "User Three": "echo three",
      }),
    });
    const author = await getMessages(mill.store.database, `${run.id}/Author/1`);
    const critic = await getMessages(mill.store.database, `${run.id}/Critic/2`);
    expect(author.map(({ text }) => text)).toEqual(["author", "echo one", "one", "echo three", "three"]);
    expect(critic.map(({ text }) => text)).toEqual(["critic", "echo two", "two"]);
  });

  once("runs the commands of a reply in one session with one directory and environment", async () => {
    const chart = `START --> PROMPT_A[Prompt: User A] --> EXECUTE_A[Execute: ] --> SET_F[Set: FIRST=RESULT] --> PROMPT_B[Prompt: User B] --> EXECUTE_B[Execute: ]`;
    const run = await mill.run({ "a.md": workflow(chart, { "User A": "commands", "User B": "more please" }) });
    expect(run.variables.FIRST).toBe("$ cd /tmp && export COLOUR=green\n\n$ echo first\nfirst\n");
    expect(run).toMatchObject({ status: "success", result: "$ pwd; echo $COLOUR\n/tmp\ngreen\n" });
  });

  once(
    "runs a literal command with filled values, and follows the failure edge after a non-zero exit if one is drawn",
    async () => {
      const chart = `START --> EXECUTE_A["Execute: echo {{WHAT}}: a > b"] --> EXECUTE_B@{ shape: rect, label: "Execute: exit 3", on-failure: fail }
      EXECUTE_B --> |FALSE| SET_C[Set: CODE=EXIT_CODE]`;
      const run = await mill.run({ "a.md": workflow(chart) }, { variables: { WHAT: "x" } });
      expect(run).toMatchObject({ status: "success", variables: { CODE: "3" } });
    },
  );

  once("reports a reply without commands", async () => {
    const chart = `START --> PROMPT_A[Prompt: User A] --> EXECUTE_A[Execute: ]`;
    const run = await mill.run({ "a.md": workflow(chart, { "User A": "echo just words" }) });
    expect(run).toMatchObject({ status: "success", result: "[no commands found in the reply]\n" });
    const { entries } = await getHistory(mill.store.database, run.id);
    expect(entries).toContainEqual(
      expect.objectContaining({ kind: "warning", warning: expect.objectContaining({ code: "NO_COMMANDS" }) }),
    );
  });

  once("sets and assigns variables, prompts, constants and literals, and never expands a value twice", async () => {
    const chart = `START --> SET_A[Set: A='{{SECRET}} of {{WHO}}'] --> SET_B[Set: B=A] --> SET_C[Set: C=User P] --> SET_D[Set: D=plain = text] --> ASSIGN_E[Assign: 'Points: {{A}}']`;
    const run = await mill.run(
      { "a.md": workflow(chart, { "User P": "Dear {{WHO}}" }) },
      { variables: { WHO: "{{SECRET}}" } },
    );
    expect(run.variables).toMatchObject({
      A: "{{SECRET}} of {{SECRET}}",
      B: "{{SECRET}} of {{SECRET}}",
      C: "Dear {{SECRET}}",
      D: "plain = text",
    });
    expect(run.result).toBe("Points: {{SECRET}} of {{SECRET}}");
  });

  once("checks and loops until the check holds, at most as often as the hit limit says", async () => {
    const chart = (ask: string) => `START --> PROMPT_A[Prompt: User ${ask}] --> CHECK_A{RESULT == DONE}
      CHECK_A --> |YES| SUCCESS
      CHECK_A --> |NO| PROMPT_A`;
    const prompts = { "User Count": "count to three", "User Never": "never" };
    expect(await mill.run({ "a.md": workflow(chart("Count"), prompts) })).toMatchObject({
      status: "success",
      hits: { PROMPT_A: 3 },
    });
    const never = await mill.run({ "a.md": workflow(chart("Never"), prompts) });
    expect(never).toMatchObject({ status: "failed", reason: { code: "LIMIT_HITS" }, hits: { PROMPT_A: 3 } });
    const more = await mill.run(
      { "a.md": workflow(chart("Never"), prompts) },
      { variables: { MAX_ACTIVITY_HITS: "5" } },
    );
    expect(more).toMatchObject({ status: "failed", hits: { PROMPT_A: 5 } });
  });

  once(
    "runs ON_FAILED after a node's failure, an implicit failure, an error and a limit, and ON_SUCCESS, each once",
    async () => {
      const tail = `ON_FAILED --> PROMPT_R[Prompt: User R]
      ON_SUCCESS --> SET_S[Set: CHEERED=STATUS]`;
      const prompts = { "User R": "echo report {{STATUS}} {{ERROR}}", "User Broken": "broken", "User Never": "never" };
      const run = (chart: string) => mill.run({ "a.md": workflow(`${chart}\n${tail}`, prompts) });
      expect(await run("START --> FAILED")).toMatchObject({
        status: "failed",
        variables: { REPORT: expect.stringMatching(/^report FAILED FAILED_REACHED/) },
      });
      expect(await run("START --> CHECK_A{RESULT == 'x'} --> SUCCESS")).toMatchObject({
        status: "failed",
        variables: { REPORT: expect.stringMatching(/^report FAILED CHECK_FALSE/) },
      });
      expect(await run("START --> PROMPT_A[Prompt: User Broken]")).toMatchObject({
        status: "failed",
        variables: { REPORT: expect.stringMatching(/^report FAILED MODEL_/) },
      });
      expect(await run("START --> PROMPT_A[Prompt: User Never]\nPROMPT_A --> PROMPT_A")).toMatchObject({
        status: "failed",
        variables: { REPORT: expect.stringMatching(/^report FAILED LIMIT_HITS/) },
      });
      expect(await run("START --> SUCCESS")).toMatchObject({ status: "success", variables: { CHEERED: "SUCCESS" } });
    },
  );

  once("follows a drawn failure edge of any node kind, and SUCCESS in the handler keeps the failure", async () => {
    const prompts = { "User Broken": "broken" };
    const edge = await mill.run({
      "a.md": workflow("START --> PROMPT_A[Prompt: User Broken]\nPROMPT_A --> |ERROR| SET_A[Set: A=ERROR]", prompts),
    });
    expect(edge).toMatchObject({ status: "success", variables: { A: expect.stringMatching(/^MODEL_/) } });
    const handled = await mill.run({
      "a.md": workflow("START --> PROMPT_A[Prompt: User Broken]\nON_FAILED --> SUCCESS", prompts),
    });
    expect(handled).toMatchObject({ status: "failed", reason: { code: expect.stringMatching(/^MODEL_/) } });
  });

  it("retries transient failures without counting a step, and asks the model again after Retry-After", async () => {
    const before = mill.requests().length;
    const run = await mill.run({
      "a.md": workflow("START --> PROMPT_A[Prompt: User A]", { "User A": `busy ${backend}` }),
    });
    expect(run).toMatchObject({ status: "success", result: "at last", spent: { steps: 1, calls: 1 } });
    expect(mill.requests().length - before).toBeGreaterThanOrEqual(1);
  });

  it("calls a workflow that shares conversation and session, passes variables both ways, and has its own settings", async () => {
    const caller = workflow(
      `START --> PROMPT_A[Prompt: User A] --> CALL_B[[sub/b.md]] --> PROMPT_C[Prompt: User C]
      PARAMS["MAX_ACTIVITY_HITS=9, COLOUR=red"]`,
      { "User A": "echo one", "User C": "echo three" },
    );
    const callee = workflow(
      `START --> PROMPT_X[Prompt: User X] --> EXECUTE_X["Execute: cd /tmp"] --> SET_Y[Set: FROM=COLOUR {{COLOUR}}] --> ASSIGN_Z[Assign: 'from below']
      PARAMS["COLOUR=blue, MAX_ACTIVITY_HITS=2, SHAPE=round"]`,
      { "User X": "echo two" },
    );
    const run = await mill.run({ "main.md": caller, "sub/b.md": callee });
    expect(run).toMatchObject({
      status: "success",
      result: "three",
      variables: { FROM: "COLOUR red", MAX_ACTIVITY_HITS: "9" },
    });
    expect(run.variables).not.toHaveProperty("SHAPE");
    const messages = await getMessages(mill.store.database, `${run.id}/main/1`);
    expect(messages.map(({ text }) => text)).toEqual(["echo one", "one", "echo two", "two", "echo three", "three"]);
    const [child] = await childRuns(mill.store.database, run.id);
    expect(child).toMatchObject({ status: "success", result: "from below", rootId: run.id, depth: 1 });
  });

  once("follows the failure edge of a failed call, else ON_FAILED, and ends recursion at the depth limit", async () => {
    const failing = workflow("START --> FAILED");
    const drawn = await mill.run({
      "a.md": workflow("START --> CALL_B[[b.md]]\nCALL_B --> |FALSE| SET_A[Set: A=STATUS]"),
      "b.md": failing,
    });
    expect(drawn).toMatchObject({ status: "success", variables: { A: "FAILED" } });
    const bare = await mill.run({
      "a.md": workflow("START --> CALL_B[[b.md]] --> SUCCESS\nON_FAILED --> SET_A[Set: SEEN=ERROR]"),
      "b.md": failing,
    });
    expect(bare).toMatchObject({
      status: "failed",
      reason: { code: "CALL_FAILED" },
      variables: { SEEN: expect.stringContaining("CALL_FAILED") },
    });
    const recursive = workflow(
      "START --> CHECK_A{A == 'stop'}\nCHECK_A --> |TRUE| SUCCESS\nCHECK_A --> |FALSE| CALL_A[[a.md]]",
    );
    const deep = await mill.run({ "a.md": recursive }, { caps: { depth: 3 } });
    expect(deep).toMatchObject({ status: "failed", reason: { code: "LIMIT_DEPTH" } });
  });

  it("asks a person without holding a worker, also if everything was restarted before the answer", async () => {
    const runId = await mill.start({
      "a.md": workflow(
        "START --> PROMPT_A[Prompt: User A] --> ASK_B[Ask: Is that right?] --> SET_C[Set: ANSWER=RESULT]",
        { "User A": "echo the answer is 41" },
      ),
    });
    const asks = await until(async () => {
      const found = await openAsks(mill.store.database, runId);
      return found.length === 1 ? found : null;
    });
    expect(asks[0]).toMatchObject({ question: "Is that right?", text: "the answer is 41" });
    await mill.restart();
    const answered = await answerAsk(mill.store, asks[0]?.activityId ?? 0, "no, 42", "teacher");
    await mill.queues.enqueue(answered.jobs);
    expect(await mill.ended(runId)).toMatchObject({ status: "success", variables: { ANSWER: "no, 42" } });
    expect((await answerAsk(mill.store, asks[0]?.activityId ?? 0, "again", "teacher")).kind).toBe("dropped");
  });

  it("lets a question expire: with a default it continues, without one it fails", async () => {
    const chart = (more: string) =>
      `START --> ASK_A@{ shape: manual-input, label: "Ask: Well?", timeout: 300ms${more} } --> SET_B[Set: B=RESULT]`;
    expect(await mill.run({ "a.md": workflow(chart(', default: "nobody"')) })).toMatchObject({
      status: "success",
      variables: { B: "nobody" },
    });
    expect(await mill.run({ "a.md": workflow(chart("")) })).toMatchObject({
      status: "failed",
      reason: { code: "ASK_EXPIRED" },
    });
  });

  once("ends at limits of steps, tokens, cost and time, each with its code, and a handler still reports", async () => {
    const chart = `START --> PROMPT_A[Prompt: User A] --> PROMPT_B[Prompt: User A] --> PROMPT_C[Prompt: User A]
      ON_FAILED --> SET_R[Set: REPORTED=ERROR]`;
    const files = { "a.md": workflow(chart, { "User A": "expensive" }) };
    const limited = (caps: object) => mill.run(files, { caps, variables: { AI_MAX_OUTPUT_TOKENS: "1000" } });
    for (const [caps, code] of [
      [{ steps: 2 }, "LIMIT_STEPS"],
      [{ tokens: 3_000 }, "LIMIT_TOKENS"],
      [{ nanodollars: 5_000_000 }, "LIMIT_COST"],
    ] as const) {
      expect(await limited(caps)).toMatchObject({
        status: "failed",
        reason: { code },
        variables: { REPORTED: expect.stringContaining(code) },
      });
    }
    const slow = await mill.run(
      {
        "a.md": workflow(
          `START --> PROMPT_A[Prompt: User A] --> PROMPT_B[Prompt: User A]\nON_FAILED --> SET_R[Set: REPORTED=ERROR]`,
          { "User A": `slow ${backend}` },
        ),
      },
      { caps: { timeMs: 600 } },
    );
    expect(slow).toMatchObject({
      status: "failed",
      reason: { code: "LIMIT_TIME" },
      variables: { REPORTED: expect.stringContaining("LIMIT_TIME") },
    });
  });

  it("discards open activities when it is cancelled, and cancels the called run too", async () => {
    const files = {
      "a.md": workflow("START --> CALL_B[[b.md]]"),
      "b.md": workflow("START --> PROMPT_A[Prompt: User A]", { "User A": `slow cancel ${backend}` }),
    };
    const runId = await mill.start(files);
    await until(async () => ((await childRuns(mill.store.database, runId)).length === 1 ? true : null));
    await cancelRun(mill.store, runId, "enough");
    const run = await mill.ended(runId);
    expect(run).toMatchObject({ status: "cancelled", reason: { code: "CANCELLED", message: "enough" } });
    await new Promise((resolve) => setTimeout(resolve, 1_800));
    const [child] = await childRuns(mill.store.database, runId);
    expect(child).toMatchObject({ status: "cancelled", result: "" });
  });

  it("discards the late reply from before a stop, and finishes once after the resume", async () => {
    const runId = await mill.start({
      "a.md": workflow("START --> PROMPT_A[Prompt: User A] --> SET_B[Set: B=RESULT]", {
        "User A": `slow stop ${backend}`,
      }),
    });
    await until(async () =>
      mill.requests().some((request) => JSON.stringify(request).includes(`slow stop ${backend}`)) ? true : null,
    );
    await stopRun(mill.store, runId);
    await new Promise((resolve) => setTimeout(resolve, 1_800));
    const resumed = await resumeRun(mill.store, runId);
    await mill.queues.enqueue(resumed.jobs);
    expect(await mill.ended(runId)).toMatchObject({
      status: "success",
      variables: { B: "finally" },
      hits: { PROMPT_A: 1 },
    });
  });

  once("does not count the time of a stop for MAX_DURATION", async () => {
    const text = `slow pause ${backend}`;
    const runId = await mill.start(
      {
        "a.md": workflow("START --> CALL_B[[b.md]]"),
        "b.md": workflow("START --> PROMPT_A[Prompt: User A]", { "User A": text }),
      },
      { variables: { MAX_DURATION: "8" } },
    );
    await until(async () => (mill.requests().some((request) => JSON.stringify(request).includes(text)) ? true : null));
    await stopRun(mill.store, runId);
    await new Promise((resolve) => setTimeout(resolve, 8_200));
    await mill.queues.enqueue((await resumeRun(mill.store, runId)).jobs);
    expect(await mill.ended(runId)).toMatchObject({ status: "success", result: "finally" });
  });

  once("starts once per idempotency key", async () => {
    const files = { "a.md": workflow("START --> SET_A[Set: A=1]") };
    const ids = await Promise.all([1, 2, 3].map(() => mill.start(files, { idempotencyKey: `key-${backend}` })));
    expect(new Set(ids).size).toBe(1);
    expect((await mill.ended(ids[0] ?? "")).status).toBe("success");
  });

  once("is replayed from its rows to the identical state", async () => {
    const run = await mill.run({
      "a.md": workflow(
        "START --> PROMPT_A[Prompt: User A] --> CHECK_B{RESULT CONTAINS 'x'}\nCHECK_B --> |FALSE| SET_C[Set: C='{{RESULT}}!']",
        { "User A": "echo y" },
      ),
    });
    expect((await replayRun(mill.store.database, mill.store.definitions, run.id)).differences).toEqual([]);
  });

  once(
    "fails clearly at the start if a limit is not a number, and reads only allowed environment variables",
    async () => {
      const wrong = await mill.run(
        { "a.md": workflow("START --> SUCCESS") },
        { variables: { MAX_ACTIVITY_HITS: "many" } },
      );
      expect(wrong).toMatchObject({
        status: "failed",
        reason: { code: "SETTING_INVALID", message: expect.stringContaining("MAX_ACTIVITY_HITS") },
      });
      const env = await mill.run(
        { "a.md": workflow("START --> ASSIGN_A[Assign: '{{HOME}} {{COURSE}}']") },
        { environment: { COURSE: "CS1" } },
      );
      expect(env.result).toBe("{{HOME}} CS1");
    },
  );
});
