/** kill -9 of the worker at every named point, on both backends: the run finishes, nothing is paid or committed twice. */

import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { reportSkip } from "../support/ask-services.ts";
import { type Backend, type Mill, type SpawnedWorker, startMill, workflow } from "../support/mill.ts";
import { getHistory, getMessages, replayRun } from "../support/store.ts";
import { until } from "../support/until.ts";

const script = `
rules:
  - { when: { pattern: "say (?<what>.*)" }, reply: "{{what}}", delay: 150ms }
  - { when: { pattern: "tell (?<what>.*)" }, reply: "{{what}}" }
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
const inHand = { prompt: "a prompt", set: "a variable", call: "the start of a called workflow" } as const;
interface Death {
  readonly point: string;
  readonly kind: keyof typeof inHand;
}
const beforeClaim: Death = { point: "before-claim", kind: "prompt" };
const afterClaim: Death = { point: "after-claim", kind: "prompt" };
const afterWork: Death = { point: "after-work", kind: "prompt" };
const afterCommit: Death = { point: "after-commit", kind: "prompt" };
const afterEnqueue: Death = { point: "after-enqueue", kind: "prompt" };
const variableSet: Death = { point: "after-commit", kind: "set" };
const callEnqueued: Death = { point: "after-enqueue", kind: "call" };
// A run passes the points in this order. After its enqueue all kinds of activities are equal.
const all: readonly (readonly Death[])[] = inject("thorough")
  ? [beforeClaim, afterClaim, afterWork, afterCommit, afterEnqueue, variableSet, callEnqueued].map((death) => [death])
  : [
      [beforeClaim, afterWork, variableSet],
      [afterClaim, afterCommit, callEnqueued],
    ];

interface KillOptions {
  /** Replaces the shipped times. */
  readonly environment?: Readonly<Record<string, string>>;
  /** false: only the points where the queue has a part. */
  readonly everyPoint: boolean;
}

export function killWorkers(backend: Backend, { environment = {}, everyPoint }: KillOptions): void {
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

  async function events(runIds: readonly string[]): Promise<number> {
    const { rows } = await mill.store.database.calm.query<{ n: number }>(
      "select count(*)::integer as n from events where run_id = any($1)",
      [runIds],
    );
    return rows[0]?.n ?? 0;
  }

  /** One run, in which one worker is killed after the other. */
  async function survive(deaths: readonly Death[]): Promise<void> {
    const before = mill.requests().length;
    let runId = "";
    for (const killAt of deaths) {
      const victim = await mill.spawnWorker({ killAt });
      runId ||= await mill.start(files);
      await victim.exited;
    }
    const died = performance.now();
    const rest = await mill.work();
    const seen = await events([runId]);
    await until(async () => (await events([runId])) > seen, { everyMs: 100 });
    takeovers.push(Math.round(performance.now() - died));
    const run = await mill.ended(runId);
    await rest();

    expect(run).toMatchObject({
      status: "success",
      result: "three",
      hits: { PROMPT_A: 1, SET_B: 1, CALL_C: 1, PROMPT_D: 1 },
    });
    const { entries, activities } = await getHistory(mill.store.database, runId);
    const types = entries.filter((entry) => entry.kind === "event").map((entry) => entry.event.type);
    expect(types).toEqual(["run.started", ...Array(4).fill("activity.succeeded")]);
    expect(activities.map(({ node, state, attempt }) => [node, state, attempt])).toEqual(
      ["PROMPT_A", "SET_B", "CALL_C", "PROMPT_D"].map((node) => [node, "done", 1]),
    );
    const messages = await getMessages(mill.store.database, `${runId}/main/1`);
    expect(messages.map(({ text }) => text)).toEqual(["say one", "one", "say two", "two", "say three", "three"]);
    // Every reply that arrived was used: three prompts, three paid calls.
    expect(mill.requests().length - before).toBe(3);
  }

  for (const deaths of everyPoint ? all : [[beforeClaim, afterCommit, callEnqueued]]) {
    const names = deaths.map(({ point, kind }) => `${point} with ${inHand[kind]} in hand`);
    it(`at ${names.join(", then at ")}: nothing is paid or committed twice`, () => survive(deaths));
  }

  const prompts = ["one", "two", "three"].map((word) => [`User ${word}`, `tell ${word}`] as const);
  const inARow = {
    "a.md": workflow(
      `START --> ${prompts.map(([id]) => `PROMPT_${id.slice(5)}[Prompt: ${id}]`).join(" --> ")}`,
      Object.fromEntries(prompts),
    ),
  };

  /** Returns whether the worker was killed with the next prompt claimed. After a pause of a second a worker enqueues it instead. */
  async function dieWithTheNext(killAt: Death): Promise<boolean> {
    const before = mill.requests().length;
    const victim = await mill.spawnWorker({ killAt });
    const runId = await mill.start(inARow);
    await victim.exited;
    const { rows } = await mill.store.database.calm.query<{ state: string }>(
      "select state from activities where run_id = $1 order by id desc limit 1",
      [runId],
    );
    const rest = await mill.work();
    const run = await mill.ended(runId);
    await rest();
    expect(run).toMatchObject({ status: "success", result: "three", spent: { calls: 3 } });
    expect(mill.requests().length - before).toBe(3);
    return rows[0]?.state === "claimed";
  }

  it.runIf(everyPoint).for([afterCommit, afterEnqueue])(
    "$point with the next prompt claimed by the commit: another worker sends the prompt once",
    async (death, { skip }) => {
      let died = false;
      for (let tries = 0; tries < 3 && !died; tries++) died = await dieWithTheNext(death);
      if (died) return;
      const reason = "the machine is so busy that a worker's first prompt takes more than a second";
      await reportSkip({ what: `kill -9 ${death.point} with the next prompt claimed`, reason });
      skip(reason);
    },
  );

  it.runIf(everyPoint)(
    "in the middle of a call: the call is repeated once, and only its second reply counts",
    async () => {
      const victim = await mill.spawnWorker();
      const before = mill.requests().length;
      const runId = await mill.start(files);
      await until(async () => mill.requests().length > before);
      await victim.kill();
      const rest = await mill.work();
      const run = await mill.ended(runId);
      await rest();
      expect(run).toMatchObject({ status: "success", result: "three" });
      // The call that was lost with its worker may have been billed. It counts as unsure.
      expect(run.spent.calls - (run.spent.unsure?.calls ?? 0)).toBe(3);
      expect(run.spent.unsure?.calls ?? 0).toBeLessThanOrEqual(1);
      expect(mill.requests().length - before).toBeLessThanOrEqual(4);
    },
  );

  async function afterCommands(more: string) {
    const chart = `START --> EXECUTE_A@{ shape: rect, label: "Execute: echo line >> log; cat log"${more} }\nEXECUTE_A --> |FALSE| SET_B[Set: B=ERROR]`;
    const victim = await mill.spawnWorker({ killAt: { point: "after-work", kind: "execute" } });
    const runId = await mill.start({ "a.md": workflow(chart) });
    await victim.exited;
    const rest = await mill.work();
    const ended = await mill.ended(runId);
    await rest();
    return ended;
  }

  it.runIf(everyPoint)(
    "after commands that must not be repeated, before their outcome is stored: it is unknown",
    async () => {
      const ended = await afterCommands(", repeat: never");
      expect(ended).toMatchObject({ status: "failed", reason: { code: "OUTCOME_UNKNOWN" } });
    },
  );

  // In other test runs kill-commands is enough.
  it.runIf(everyPoint && inject("thorough"))(
    "after commands, before their outcome is stored: they are repeated",
    async () => {
      const ended = await afterCommands("");
      expect(ended).toMatchObject({ status: "success", result: "$ echo line >> log; cat log\nline\n" });
    },
  );

  it("at any moment between the jobs of many parallel runs: each step counts once", async () => {
    const [laps, count] = [12, inject("thorough") ? 40 : 16];
    const chart = `START --> SET_N["Set: N='0'"]
SET_N --> ASSIGN_N["Assign: '{{N}}+'"]
ASSIGN_N --> SET_MORE["Set: N=RESULT"]
SET_MORE --> CHECK_N{"Check: N MATCHES '^0[+]{${laps}}$'"}
CHECK_N --> |FALSE| ASSIGN_N
CHECK_N --> |TRUE| SUCCESS`;
    const loop = { "a.md": workflow(chart, {}, "---\nlimits:\n  hits: 100\n  steps: 1000\n---\n") };
    let victim: SpawnedWorker | null = await mill.spawnWorker();
    const runIds = await Promise.all(Array.from({ length: count }, () => mill.start(loop)));
    const all = count * (2 + 3 * laps);
    for (const share of inject("thorough") ? [0.2, 0.5] : [0.35]) {
      victim ??= await mill.spawnWorker();
      await until(async () => (await events(runIds)) > share * all);
      await victim.kill();
      victim = null;
      expect(await events(runIds)).toBeLessThan(all);
    }
    const rest = await mill.work();
    for (const runId of runIds) {
      const run = await mill.ended(runId);
      expect(run).toMatchObject({ status: "success", hits: { ASSIGN_N: laps }, spent: { steps: 1 + 3 * laps } });
      expect(run.variables.N).toBe(`0${"+".repeat(laps)}`);
      expect(await replayRun(mill.store.database, mill.store.definitions, runId)).toMatchObject({ differences: [] });
    }
    expect(await events(runIds)).toBe(all);
    await rest();
  });
}
