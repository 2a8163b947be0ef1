// Faults of a model endpoint, from the scripted server over HTTP to the account of a run. The shown figures are compared with the
// server's own account of the requests that it bills.
import { nanodollars } from "@markmill/llm";
import { afterEach, describe, expect, it } from "vitest";
import { type Mill, type MillOptions, startMill, workflow } from "../support/mill.ts";
import {
  callsOfRun,
  cancelRun,
  currentPauses,
  getHistory,
  getMessages,
  getThreads,
  listRuns,
  type RunDetail,
  settleAbandoned,
  spentOf,
} from "../support/store.ts";

let mill: Mill;
afterEach(async () => {
  await mill?.close();
});

const start = async (script: string, more: Partial<MillOptions> = {}) => {
  mill = await startMill({ backend: "postgres", script, ...more });
  return mill;
};

const one = workflow('START --> PROMPT_A["Prompt: User Look"] --> SUCCESS', { "User Look": "Look at this." });
const two = workflow('START --> PROMPT_A["Prompt: User Look"] --> PROMPT_B["Prompt: User More"] --> SUCCESS', {
  "User Look": "Look at this.",
  "User More": "Look again.",
});

const failuresOf = async (runId: string) =>
  (await getHistory(mill.store.database, runId)).entries.flatMap((entry) =>
    entry.kind === "event" && entry.event.type === "activity.failed" ? [entry.event] : [],
  );

const pricePrompt = nanodollars(1) / 1_000_000;
const priceCompletion = nanodollars(2) / 1_000_000;

/** Compares the server's account with ours: in the sum of the tree, in the run, and in the list of runs. */
async function expectHonest(run: RunDetail): Promise<void> {
  const billed = mill.requests().filter((request) => request.billed);
  const sure = billed.filter(({ served, fault }) => served || ["blank", "null", "empty"].includes(fault ?? ""));
  const certain = sure.reduce(
    (sum, { usage }) => sum + (usage?.prompt ?? 0) * pricePrompt + (usage?.completion ?? 0) * priceCompletion,
    0,
  );
  const spent = await spentOf(mill.store.database, run.id);
  expect(spent.calls).toBe(billed.length);
  expect(spent.unsure?.calls).toBe(billed.length - sure.length);
  expect(spent.nanodollars - (spent.unsure?.nanodollars ?? 0)).toBe(certain);
  const all = billed.reduce((sum, { usage }) => sum + (usage?.prompt ?? 0) + (usage?.completion ?? 0), 0);
  expect(spent.promptTokens + spent.completionTokens).toBeGreaterThanOrEqual(all);
  const { characters: _, ...shown } = spent;
  expect(run.spent).toEqual({ steps: run.spent.steps, ...shown });
  const listed = (await listRuns(mill.store)).runs.find(({ id }) => id === run.id);
  expect(listed?.spent).toEqual(run.spent);
}

describe("an empty reply", () => {
  it("is a failed attempt, is requested again, and its cost is booked", async () => {
    await start("rules: [{ when: { nth: [1, 2] }, fault: blank }]\ndefault: { reply: Fine }");
    const run = await mill.run({ "a.wf.md": one });
    expect(run).toMatchObject({ status: "success", result: "Fine" });
    const failures = await failuresOf(run.id);
    expect(failures.map(({ failure, next }) => [failure.code, next])).toEqual([
      ["MODEL_EMPTY_REPLY", "retry"],
      ["MODEL_EMPTY_REPLY", "retry"],
    ]);
    expect(failures.map(({ usage }) => usage?.calls)).toEqual([1, 1]);
    await expectHonest(run);
  });

  it("fails the activity if every attempt stays empty, for each way of being empty", async () => {
    const faults = ["'null'", "blank", "tool-calls", "reasoning", "empty"];
    await start(`rules:\n${faults.map((fault, i) => `  - { when: { text: look${i} }, fault: ${fault} }`).join("\n")}`);
    const ended = await Promise.all(
      faults.map((_, i) => mill.run({ "a.wf.md": one.replace("Look at this.", `look${i}`) })),
    );
    for (const run of ended) {
      expect(run).toMatchObject({ status: "failed", reason: { code: "MODEL_EMPTY_REPLY" } });
      expect(run.spent.calls).toBeGreaterThan(1);
    }
    expect(ended.reduce((sum, run) => sum + run.spent.calls, 0)).toBe(mill.requests().length);
  });
});

describe("a model reply", () => {
  it("is marked if it was cut at the output limit, or fails if the workflow says so", async () => {
    await start("default: { reply: It goes on and, finish: length }");
    const run = await mill.run({ "a.wf.md": one });
    expect(run.result).toBe("It goes on and");
    const { entries } = await getHistory(mill.store.database, run.id);
    expect(JSON.stringify(entries)).toContain('"cut":"length"');
    for (const head of ["---\nsettings: { cut-replies: fail }\n---\n", "---\nsettings:\n  cutReplies: fail\n---\n"]) {
      const strict = await mill.run({ "b.wf.md": head + one });
      expect(strict).toMatchObject({ status: "failed", reason: { code: "MODEL_REPLY_CUT" }, spent: { calls: 1 } });
    }
  });

  it("fails at once, with its cost, if it was filtered or refused", async () => {
    await start("default: { reply: I will not, finish: content_filter }");
    const run = await mill.run({ "a.wf.md": one });
    expect(run).toMatchObject({ status: "failed", reason: { code: "MODEL_REFUSED" }, spent: { calls: 1 } });
    expect(mill.requests()).toHaveLength(1);
  });

  it("has its reasoning in the history, and not in RESULT or the conversation", async () => {
    await start("default: { reply: '<think>they lack a test</think>Points: 7', reasoning: I weigh it }");
    const run = await mill.run({ "a.wf.md": two });
    expect(run.result).toBe("Points: 7");
    const sent = JSON.stringify(mill.requests().map(({ messages }) => messages));
    expect(sent).toContain("Points: 7");
    expect(sent).not.toMatch(/think|weigh|lack/);
    for (const { id } of await getThreads(mill.store.database, run.id)) {
      expect(JSON.stringify(await getMessages(mill.store.database, id))).not.toMatch(/weigh|lack/);
    }
    const calls = await callsOfRun(mill.store.database, run.id);
    expect(calls.map(({ reply }) => (reply as { reasoning?: string }).reasoning)).toEqual(
      Array(2).fill("I weigh it\n\nthey lack a test"),
    );
  });
});

describe("trouble with a model endpoint", () => {
  it("is shown as what the run waits for, where and why", async () => {
    await start(
      "rules: [{ when: { nth: 1 }, fault: { status: 503, message: The engine is cold } }]\ndefault: { reply: Fine }",
    );
    const run = await mill.run({ "a.wf.md": one });
    expect(run.status).toBe("success");
    expect(await failuresOf(run.id)).toMatchObject([
      {
        next: "park",
        failure: { code: "MODEL_SERVER_ERROR" },
        trouble: {
          model: "scripted",
          endpoint: expect.stringContaining("127.0.0.1"),
          reason: "503 The engine is cold",
        },
      },
    ]);
  });

  // The faults come in pairs, because an activity has too few attempts for all of them in a row.
  it.each([
    ["{ cut: 4 }", "500"],
    ["malformed", "html"],
    ["reset", "blank"],
    ["reset-after-headers", "hang"],
  ])("a call with the faults %s and %s is booked with the cost that the server reports", async (first, second) => {
    await start(
      `rules: [{ when: { nth: 1 }, reply: Too early, fault: ${first} }, { when: { nth: 2 }, reply: x, fault: ${second} }]
default: { reply: Fine, usage: { prompt: 7, completion: 3 } }`,
      { environment: { MODEL_TIMEOUT_MS: "1000" } },
    );
    const run = await mill.run({ "a.wf.md": one }, { caps: { nanodollars: 1e9 } });
    expect(run).toMatchObject({ status: "success", result: "Fine" });
    expect(mill.requests()).toHaveLength(3);
    await expectHonest(run);
  });

  it("an open call of a cancelled run is booked, also if its worker was killed", async () => {
    await start("default: { fault: hang }", { worker: false });
    const worker = await mill.spawnWorker();
    const runId = await mill.start({ "a.wf.md": one });
    while (mill.requests().length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    await worker.kill();
    await cancelRun(mill.store, runId, "enough");
    const run = await mill.ended(runId);
    expect(run.spent).toMatchObject({ calls: 1, unsure: { calls: 1 } });
    expect(run.spent.nanodollars).toBeGreaterThan(0);
    await settleAbandoned(mill.store.database, 0);
    await expectHonest((await mill.ended(runId)) as RunDetail);
  });

  it("a call of a killed worker is shown beside the repeated call", async () => {
    await start("rules: [{ when: { nth: 1 }, fault: hang }]\ndefault: { reply: Fine }", { worker: false });
    const worker = await mill.spawnWorker();
    const runId = await mill.start({ "a.wf.md": one });
    while (mill.requests().length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    await worker.kill();
    const rest = await mill.work();
    const run = await mill.ended(runId);
    await rest();
    expect(run).toMatchObject({ status: "success", spent: { calls: 2, unsure: { calls: 1 } } });
    await expectHonest(run);
  });
});

describe("a model that refuses requests", () => {
  it("is paused for every run, visibly, no longer than the maximum, and one successful request ends the pause", async () => {
    await start(
      "rules: [{ when: { nth: 1 }, fault: { status: 429, retryAfter: 86400, message: Slow down } }]\ndefault: { reply: Fine }",
      { environment: { MODEL_PAUSE_MAX_MS: "3000" } },
    );
    const runs = [await mill.start({ "a.wf.md": one })];
    while ((await currentPauses(mill.store.database)).length === 0) await new Promise((r) => setTimeout(r, 20));
    expect(await currentPauses(mill.store.database)).toMatchObject([{ model: "scripted", reason: "429 Slow down" }]);
    for (let i = 0; i < 4; i++) runs.push(await mill.start({ "a.wf.md": one }));
    for (const run of runs) expect(await mill.ended(run)).toMatchObject({ status: "success", result: "Fine" });
    expect(await currentPauses(mill.store.database)).toEqual([]);
    expect(mill.requests()).toHaveLength(6);
  });
});
