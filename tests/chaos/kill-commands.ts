/**
 * kill -9 of the worker at every point of an EXECUTE: the run continues, and the workspace contains each effect once. The session is alive,
 * lost, or was never on this host.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createJailSandbox, createNoneSandbox } from "@markmill/sandbox";
import { pack } from "tar-stream";
import { afterAll, afterEach, beforeAll, expect, inject, it } from "vitest";
import {
  definitionOf,
  type Mill,
  type SpawnedWorker,
  type SpawnOptions,
  startMill,
  workflow,
} from "../support/mill.ts";
import { createRun, getHistory, saveBlob } from "../support/store.ts";
import { until } from "../support/until.ts";

// A repeated EXECUTE would be visible: it adds lines, creates folders and changes state.
const chart = (
  scratch: string,
) => `START --> EXECUTE_A["Execute: echo a >> log; mkdir made; cd made; export TURN=\${TURN}a; echo t >> ${scratch}"]
EXECUTE_A --> PROMPT_P["Prompt: User P"] --> EXECUTE_B --> EXECUTE_C["Execute: echo c >> ../log; cat ../log given ${scratch}; echo $TURN; pwd | sed 's:.*/::'; ls -A ../ | grep -vxE '(given)?t?'"]`;
const reply = (seconds: number) =>
  [
    "```bash",
    "echo b1 >> ../log; mkdir ../twice; mv ../given .",
    `echo b2 >> ../log; sleep ${seconds}; echo b3 >> ../log; rmdir ../twice`,
    "```",
  ].join("\\n");
// A sleep that only this file uses, too long to end during a test. A test that kills in the middle of a command finds the command there
// on a machine of any speed, and ends the sleep of the repeated command.
const slowly = 600 + process.pid / 10_000_000;
const script = `rules: [{ when: { text: slowly }, reply: "${reply(slowly)}" }]
default: { reply: "${reply(0.6)}" }`;
const told = ["a", "b1", "b2", "b3", "c", "the task", "t", "a", "made", "log", "made", ""].join("\n");

async function submission(): Promise<Buffer> {
  const archive = pack();
  const chunks: Buffer[] = [];
  archive.entry({ name: "given", mode: 0o644 }, "the task\n");
  archive.finalize();
  for await (const chunk of archive) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** The long sleeps of this file, with their pids outside every session. */
function sleeping(): number[] {
  return readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid) && lineOf(pid) === `sleep\0${slowly}\0`)
    .map(Number);
}

function lineOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    return "";
  }
}

/**
 * points: cases of the worker alone, equal in every sandbox. middle: all cases of a session in the middle of a command, which depend on
 * the sandbox; without it, one of them.
 */
export function killDuringCommands(sandbox: "none" | "jail", cases: readonly ("points" | "middle")[]): void {
  // Without a sandbox /tmp is the machine's own.
  const asking = (question: string) => ({
    "a.md": workflow(chart(sandbox === "jail" ? "/tmp/t" : "$HOME/t"), { "User P": question }),
  });
  let mill: Mill;
  let here = "";
  let elsewhere = "";
  beforeAll(async () => {
    here = await mkdtemp(join(tmpdir(), "markmill-here-"));
    elsewhere = await mkdtemp(join(tmpdir(), "markmill-there-"));
    const environment = { LOCK_DURATION_MS: "2000", STALLED_INTERVAL_MS: "500" };
    mill = await startMill({
      backend: "postgres",
      script,
      worker: false,
      environment,
      sandbox: () => sandboxAt(here),
    });
  });
  afterAll(async () => {
    await mill.close();
    for (const root of [here, elsewhere]) {
      const left = await sandboxAt(root);
      for (const { id } of await left.list()) await left.remove(id);
      await rm(root, { recursive: true, force: true });
    }
  });

  async function sandboxAt(root: string) {
    if (sandbox === "jail") return await createJailSandbox({ root });
    return createNoneSandbox({ root, warn: () => undefined });
  }

  const spawned: SpawnedWorker[] = [];
  async function worker(more: SpawnOptions = {}): Promise<SpawnedWorker> {
    const one = await mill.spawnWorker({ sandbox, sessions: here, ...more });
    spawned.push(one);
    return one;
  }
  afterEach(async () => {
    for (const { process, kill } of spawned.splice(0)) {
      if (process.exitCode === null && process.signalCode === null) await kill();
    }
  });

  /** Processes that a killed worker of another test has left here, until the cleanup deletes its session. */
  let earlier: readonly number[] = [];

  async function start(flow = asking("what now?")): Promise<string> {
    const blob = await saveBlob(mill.store, await submission());
    const created = await createRun(mill.store, { definition: definitionOf(flow), submission: { blob } });
    await mill.queues.enqueue(created.jobs);
    return created.runId;
  }

  let interrupted: readonly number[] = [];

  /** Waits until the commands of all these runs are in their long sleep. */
  async function inTheMiddle(runs = 1): Promise<void> {
    await until(async () => sleeping().filter((pid) => !earlier.includes(pid)).length >= runs, { everyMs: 250 });
    interrupted = sleeping();
  }

  /** Ends the sleep of a repeated command, never that of the interrupted one. */
  function wake(): void {
    for (const pid of sleeping()) if (!interrupted.includes(pid)) process.kill(pid);
  }

  /** Another worker continues the runs to their end. */
  async function ends(runIds: readonly string[], next: () => Promise<() => Promise<void>> = mill.work): Promise<void> {
    const rest = await next();
    const waking = setInterval(wake, 500);
    const runs = await Promise.all(runIds.map((runId) => mill.ended(runId))).finally(() => clearInterval(waking));
    await rest();
    for (const run of runs) {
      expect(run).toMatchObject({ status: "success", hits: { EXECUTE_A: 1, EXECUTE_B: 1, EXECUTE_C: 1 } });
      expect(run.result?.slice(run.result.indexOf("\n") + 1)).toBe(told);
    }
  }

  const points = [
    { killAt: { point: "after-claim", kind: "execute" } },
    { killInSession: "before-checkpoint" },
    { killInSession: "before-begin" },
    { killInSession: "after-begin" },
    { killInSession: "after-commands" },
    { killInSession: "in-checkpoint" },
    { killInSession: "after-checkpoint" },
    { killAt: { point: "after-work", kind: "execute" } },
    { killAt: { point: "after-commit", kind: "execute" } },
    { killAt: { point: "after-enqueue", kind: "execute" } },
  ] as const;

  // Each point kills one worker: in the first EXECUTE, then in its repetition or in the second one. kill-worker tests the first and the
  // last point, which every activity has and which use no session.
  const several = points.slice(1, -1);
  const deaths = inject("thorough")
    ? points.map((point) => [point, point])
    : several.flatMap((_, index) => (index % 2 === 0 ? [several.slice(index, index + 2)] : []));
  for (const each of cases.includes("points") ? deaths : []) {
    const names = each.map((point) => ("killInSession" in point ? point.killInSession : point.killAt.point));
    it(`at ${names.join(" and then at ")}: each effect happens once`, async () => {
      const [first, ...others] = each;
      const victim = await worker(first);
      const runId = await start();
      await victim.exited;
      for (const point of others) await (await worker(point)).exited;
      await ends([runId]);
    });
  }

  const inMiddle = it.runIf(cases.includes("middle"));

  /** Runs that are all in the middle of a command. */
  async function begun(count = 1): Promise<string[]> {
    earlier = sleeping();
    const runIds = await Promise.all(Array.from({ length: count }, () => start(asking("slowly, what now?"))));
    await inTheMiddle(count);
    return runIds;
  }

  it("in the middle of a command, with or without its session: one line, one folder, and the state from before", async () => {
    const victim = await worker();
    const [alive = "", lost = ""] = await begun(2);
    await victim.kill();
    await (await sandboxAt(here)).remove(lost);
    await ends([alive, lost]);
    for (const runId of [alive, lost]) {
      const { entries } = await getHistory(mill.store.database, runId);
      const failed = entries.flatMap((entry) =>
        entry.kind === "event" && entry.event.type === "activity.failed" ? [entry.event.failure.code] : [],
      );
      expect(failed).toEqual(["WORKER_LOST"]);
    }
  });

  inMiddle(
    "in the middle of a command, the next worker on a host that never had the session: each effect once",
    async () => {
      const victim = await worker();
      const runIds = await begun();
      await victim.kill();
      const there = await sandboxAt(elsewhere);
      await ends(runIds, () => mill.work(there)).finally(() => there.close());
    },
  );

  inMiddle("in the middle of restoring the workspace, twice: each effect happens once", async () => {
    const victim = await worker();
    const runIds = await begun();
    await victim.kill();
    for (const killInSession of ["in-rewind", "after-rewind"]) {
      const next = await worker({ killInSession });
      await next.exited;
    }
    await ends(runIds);
  });

  inMiddle(
    "a worker that was only asleep: its command is ended before the workspace goes back, and it does nothing more in it",
    async () => {
      const sleeper = await worker();
      const runIds = await begun();
      sleeper.process.kill("SIGSTOP");
      await ends(runIds);
      sleeper.process.kill("SIGCONT");
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      expect(sleeper.process.exitCode).toBeNull();
      await ends(runIds, async () => async () => undefined);
    },
  );

  const decided = it.runIf(cases.includes("points") || inject("thorough"));
  decided("without checkpoints: the run reports an unknown outcome, and repeats nothing", async () => {
    const marker = join(here, "ran");
    const head = "---\nsandbox: { checkpoint: false }\n---\n";
    const outside = sandbox === "none" ? `echo ran >> ${marker}` : "echo ran >> /workspace/ran";
    const flow = { "a.md": workflow(`START --> EXECUTE_A["Execute: ${outside}; sleep 0.6; echo x >> log"]`, {}, head) };
    const victim = await worker({ killAt: { point: "after-work", kind: "execute" } });
    const runId = await start(flow);
    await victim.exited;
    const rest = await mill.work();
    const run = await mill.ended(runId);
    await rest();
    expect(run).toMatchObject({
      status: "failed",
      reason: { code: "OUTCOME_UNKNOWN", message: expect.stringContaining("turned checkpoints off") },
    });
    if (existsSync(marker)) {
      expect(await readFile(marker, "utf8")).toBe("ran\n");
    }
  });
}
