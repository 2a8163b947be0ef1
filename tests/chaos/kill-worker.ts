/** kill -9 of the worker at every named point, on both backends: the run finishes, nothing is paid twice, nothing commits twice. */

import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { type Backend, type Mill, startMill, workflow } from "../support/mill.ts";
import { getHistory, getMessages, replayRun } from "../support/store.ts";
import { until } from "../support/until.ts";

const script = `
rules:
  - { when: { pattern: "say (?<what>.*)" }, reply: "{{what}}", delay: 150ms }
`;
const files = {
  "a.md": workflow(
    `START --> PROMPT_A[Prompt: User A] --> SET_B[Set: B=RESULT] --> CALL_C[[c.md]] --> PROMPT_D[Prompt: User D]`,
    { "User A": "say one", "User D": "say three" },
  ),
  "c.md": workflow(`START --> PROMPT_C[Prompt: User C] --> EXECUTE_E["Execute: echo {{RESULT}}"]`, {
    "User C": "say two",
  }),
};
const points = ["before-claim", "after-claim", "after-work", "after-commit", "after-ring"] as const;

interface KillOptions {
  /** In place of the shipped times. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Else only those at which the queue has a part (default true). */
  readonly everyPoint?: boolean;
}

export function killWorkers(backend: Backend, { environment = {}, everyPoint = true }: KillOptions = {}): void {
  const takeovers: number[] = [];
  let mill: Mill;
  beforeAll(async () => {
    mill = await startMill({ backend, script, worker: false, environment });
  });
  afterAll(async () => {
    await mill.close();
    const sorted = takeovers.toSorted((a, b) => a - b);
    console.log(
      `takeover after kill -9: median ${sorted[Math.floor(sorted.length / 2)]} ms of ${sorted.length} (${sorted.join(", ")})`,
    );
  });

  async function survive(killAt: { point: string; kind: string }): Promise<void> {
    const before = mill.requests().length;
    const victim = await mill.spawnWorker({ killAt });
    const runId = await mill.start(files);
    await victim.exited;
    const died = performance.now();
    const rest = await mill.work();
    const seen = (await getHistory(mill.store.database, runId)).entries.length;
    const moved = async () => (await getHistory(mill.store.database, runId)).entries.length > seen;
    await until(moved, { everyMs: 100 });
    takeovers.push(Math.round(performance.now() - died));
    const run = await mill.ended(runId);
    await rest();

    expect(run).toMatchObject({
      status: "success",
      result: "three",
      hits: { PROMPT_A: 1, SET_B: 1, CALL_C: 1, PROMPT_D: 1 },
    });
    const { entries, activities } = await getHistory(mill.store.database, runId);
    const events = entries.filter((entry) => entry.kind === "event").map((entry) => entry.event.type);
    expect(events).toEqual(["run.started", ...Array(4).fill("activity.succeeded")]);
    expect(activities.map(({ node, state, attempt }) => [node, state, attempt])).toEqual(
      ["PROMPT_A", "SET_B", "CALL_C", "PROMPT_D"].map((node) => [node, "done", 1]),
    );
    const messages = await getMessages(mill.store.database, `${runId}/main/1`);
    expect(messages.map(({ text }) => text)).toEqual(["say one", "one", "say two", "two", "say three", "three"]);
    // Every reply that arrived was used: three prompts, three paid calls.
    expect(mill.requests().length - before).toBe(3);
  }

  for (const point of points) {
    it.runIf(everyPoint || point === "before-claim" || point === "after-commit")(
      `at ${point}, with a prompt in hand: nothing is paid or committed twice`,
      () => survive({ point, kind: "prompt" }),
    );
  }
  it("at after-ring, with the start of a called workflow in hand: nothing is paid or committed twice", () =>
    survive({ point: "after-ring", kind: "call" }));
  it.runIf(everyPoint)("at after-commit, with a variable in hand: nothing is paid or committed twice", () =>
    survive({ point: "after-commit", kind: "set" }),
  );

  it("in the middle of a call: the call is made once more, and its reply is the only one", async () => {
    const victim = await mill.spawnWorker();
    const before = mill.requests().length;
    const runId = await mill.start(files);
    await until(async () => mill.requests().length > before);
    await victim.kill();
    const rest = await mill.work();
    const run = await mill.ended(runId);
    await rest();
    expect(run).toMatchObject({ status: "success", result: "three" });
    // The call that was lost with its worker may have been billed: it counts, as unsure.
    expect(run.spent.calls - (run.spent.unsure?.calls ?? 0)).toBe(3);
    expect(run.spent.unsure?.calls ?? 0).toBeLessThanOrEqual(1);
    expect(mill.requests().length - before).toBeLessThanOrEqual(4);
  });

  it.runIf(everyPoint)(
    "after commands, before their outcome is told: they are repeated, or, where that is forbidden, their outcome is unknown",
    async () => {
      const chart = (more: string) =>
        `START --> EXECUTE_A@{ shape: rect, label: "Execute: echo line >> log; cat log"${more} }\nEXECUTE_A --> |FALSE| SET_B[Set: B=ERROR]`;
      const never = { "a.md": workflow(chart(", repeat: never")) };
      const usual = { "a.md": workflow(chart("")) };
      for (const [run, wants] of [
        [never, { status: "failed", reason: { code: "OUTCOME_UNKNOWN" } }],
        [usual, { status: "success", result: "$ echo line >> log; cat log\nline\n" }],
      ] as const) {
        const victim = await mill.spawnWorker({ killAt: { point: "after-work", kind: "execute" } });
        const runId = await mill.start(run);
        await victim.exited;
        const rest = await mill.work();
        const ended = await mill.ended(runId);
        await rest();
        expect(ended).toMatchObject(wants);
      }
    },
  );

  it("anywhere between the jobs of many runs at once: each step counts once", async () => {
    const [laps, count] = [12, inject("thorough") ? 40 : 16];
    const chart = `START --> SET_N["Set: N='0'"]
SET_N --> ASSIGN_N["Assign: '{{N}}+'"]
ASSIGN_N --> SET_MORE["Set: N=RESULT"]
SET_MORE --> CHECK_N{"Check: N MATCHES '^0[+]{${laps}}$'"}
CHECK_N --> |FALSE| ASSIGN_N
CHECK_N --> |TRUE| SUCCESS`;
    const loop = { "a.md": workflow(chart, {}, "---\nlimits:\n  hits: 100\n  steps: 1000\n---\n") };
    let victim = await mill.spawnWorker();
    const runIds = await Promise.all(Array.from({ length: count }, () => mill.start(loop)));
    const events = async () => {
      const { rows } = await mill.store.database.calm.query<{ n: number }>(
        "select count(*)::integer as n from events where run_id = any($1)",
        [runIds],
      );
      return rows[0]?.n ?? 0;
    };
    const all = count * (2 + 3 * laps);
    for (const share of [0.2, 0.5]) {
      await until(async () => (await events()) > share * all);
      await victim.kill();
      expect(await events()).toBeLessThan(all);
      victim = await mill.spawnWorker();
    }
    for (const runId of runIds) {
      const run = await mill.ended(runId);
      expect(run).toMatchObject({ status: "success", hits: { ASSIGN_N: laps }, spent: { steps: 1 + 3 * laps } });
      expect(run.variables.N).toBe(`0${"+".repeat(laps)}`);
      expect(await replayRun(mill.store.database, mill.store.definitions, runId)).toMatchObject({ differences: [] });
    }
    expect(await events()).toBe(all);
    await victim.kill();
  });

  it("a worker that was only asleep finds itself fenced: its late result is dropped", async () => {
    const sleeper = await mill.spawnWorker();
    const before = mill.requests().length;
    const runId = await mill.start({
      "a.md": workflow("START --> PROMPT_A[Prompt: User A] --> SET_B[Set: B=RESULT]", { "User A": "say late" }),
    });
    await until(async () => mill.requests().length > before);
    sleeper.process.kill("SIGSTOP");
    const rest = await mill.work();
    const run = await mill.ended(runId);
    sleeper.process.kill("SIGCONT");
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await rest();
    await sleeper.kill();
    expect(run).toMatchObject({ status: "success", variables: { B: "late" } });
    const { entries } = await getHistory(mill.store.database, runId);
    expect(entries.filter((entry) => entry.kind === "event")).toHaveLength(3);
  });
}
