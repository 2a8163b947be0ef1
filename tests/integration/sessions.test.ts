/** The sandbox session of a run: its commands share it, it is rebuilt after a loss, and it is deleted after the run. */

import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createJailSandbox, createNoneSandbox, type Sandbox, type SandboxError, type Session } from "@markmill/sandbox";
import { reapSessions } from "@markmill/worker";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { reportSkip } from "../support/ask-services.ts";
import { definitionOf, type Mill, startMill, workflow } from "../support/mill.ts";
import { migratedDatabase, type TestDatabase } from "../support/postgres.ts";
import { keeperOf, type TestKeeper } from "../support/session-keeper.ts";
import {
  answerAsk,
  cancelRun,
  claimSession,
  createRun,
  getHistory,
  installationId,
  openAsks,
  openStore,
  releaseSession,
  type Store,
  saveBlob,
} from "../support/store.ts";
import { until } from "../support/until.ts";

const jail = await createJailSandbox({ root: "/nonexistent" }).then(
  () => null,
  (error: SandboxError) => error,
);
if (jail !== null) await reportSkip({ what: "sessions of runs in the jail", reason: jail.message });
const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };

describe.skipIf(jail !== null)("the session of a run", () => {
  let mill: Mill;
  /** The sandbox's error for a lost session. */
  let overfilled = false;
  beforeAll(async () => {
    mill = await startMill({
      backend: "postgres",
      script: "default: { reply: ok }",
      sandbox: async (root) => ({
        ...(await createJailSandbox({ root })),
        endedByMemory: async () => overfilled,
      }),
    });
  });
  afterAll(() => mill.close());

  const asking = (head: string) => ({
    "a.md": workflow(
      `START --> EXECUTE_A["Execute: mkdir -p box && cd box && echo kept > note && export COLOUR=red"] --> ASK_B[Ask: Go on?] --> EXECUTE_C["Execute: pwd; echo $COLOUR; cat /workspace/box/note"]`,
      {},
      head,
    ),
  });

  async function waiting(runId: string) {
    for (;;) {
      const [ask] = await openAsks(mill.store.database, runId);
      if (ask !== undefined) return ask;
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }

  async function goOn(runId: string): Promise<string> {
    const answered = await answerAsk(mill.store, (await waiting(runId)).activityId, "yes", null);
    await mill.queues.enqueue(answered.jobs);
    return (await mill.ended(runId)).result ?? "";
  }

  it("keeps directory, environment and files, also after a restart of all workers, and is deleted after the run's end", async () => {
    const runId = await mill.start(asking(""));
    await waiting(runId);
    expect((await mill.sandbox.list()).map(({ id }) => id)).toEqual([runId]);
    await mill.restart();
    expect(await goOn(runId)).toBe("$ pwd; echo $COLOUR; cat /workspace/box/note\n/workspace/box\nred\nkept\n");
    await until(async () => (await mill.sandbox.list()).length === 0);
  });

  it("is rebuilt from the last command's checkpoint after a loss, and not if the workflow keeps no checkpoints", async () => {
    const kept = await mill.start(asking(""));
    await waiting(kept);
    await mill.sandbox.remove(kept);
    expect(await goOn(kept)).toBe("$ pwd; echo $COLOUR; cat /workspace/box/note\n/workspace/box\nred\nkept\n");
    const bare = await mill.start(asking("---\nsandbox:\n  checkpoint: false\n---\n\n"));
    await waiting(bare);
    await mill.sandbox.remove(bare);
    await goOn(bare);
    expect(await mill.ended(bare)).toMatchObject({
      status: "failed",
      reason: { code: "OUTCOME_UNKNOWN", message: expect.stringContaining("turned checkpoints off") },
    });
  });

  it("fails the next command with an unknown outcome if it was lost with a background process", async () => {
    const chart = `START --> EXECUTE_A["Execute: sleep 300 >/dev/null 2>&1 & echo started"] --> ASK_B[Ask: Go on?] --> EXECUTE_C["Execute: echo went on"]`;
    const same = await mill.start({ "a.md": workflow(chart) });
    await waiting(same);
    expect(await goOn(same)).toBe("$ echo went on\nwent on\n");
    const lost = await mill.start({ "a.md": workflow(chart) });
    await waiting(lost);
    await mill.sandbox.remove(lost);
    await goOn(lost);
    expect(await mill.ended(lost)).toMatchObject({
      status: "failed",
      reason: { code: "OUTCOME_UNKNOWN", message: expect.stringContaining("left running") },
    });
    // This process may have filled the session's memory. A student's program must not end its own judgement in this way.
    const filled = await mill.start({ "a.md": workflow(chart) });
    await waiting(filled);
    overfilled = true;
    await mill.sandbox.remove(filled);
    expect(await goOn(filled)).toBe("$ echo went on\nwent on\n");
    overfilled = false;
  });

  it("is waited for while another worker uses it: no attempt is used up, and the command runs once", async () => {
    const runId = await mill.start(asking(""));
    await waiting(runId);
    const other = { id: runId, kind: "jail", host: hostname(), worker: "another", leaseMs: 6_000 };
    expect((await claimSession(mill.store.database, other)).kind).toBe("held");
    const done = goOn(runId);
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    await releaseSession(mill.store.database, runId, "another");
    expect(await done).toBe("$ pwd; echo $COLOUR; cat /workspace/box/note\n/workspace/box\nred\nkept\n");
    const { activities } = await getHistory(mill.store.database, runId);
    expect(activities.map(({ node, attempt }) => [node, attempt])).toEqual([
      ["EXECUTE_A", 1],
      ["ASK_B", 1],
      ["EXECUTE_C", 1],
    ]);
  });

  it("records once that its files are too many for a checkpoint, and continues", async () => {
    const big = `head -c 3000000 /dev/urandom > big`;
    const chart = `START --> EXECUTE_A["Execute: ${big}"] --> EXECUTE_B["Execute: ls -s big"] --> EXECUTE_C["Execute: rm big"] --> EXECUTE_D["Execute: echo end"]`;
    const small = await startMill({
      backend: "postgres",
      script: "default: { reply: ok }",
      sandbox: (root) => createJailSandbox({ root }),
      environment: { SANDBOX_CHECKPOINT_MB: "1" },
    });
    try {
      const run = await small.run({ "a.md": workflow(chart) });
      expect(run).toMatchObject({ status: "success", result: "$ echo end\nend\n" });
      const { entries } = await getHistory(small.store.database, run.id);
      const warnings = entries.flatMap((entry) => (entry.kind === "warning" ? [entry.warning] : []));
      expect(warnings.map(({ code, node }) => [code, node])).toEqual([["EXECUTE_NOTE", "EXECUTE_A"]]);
      expect(warnings[0]?.message).toMatch(/no checkpoint of the workspace.*cannot be repeated/);
    } finally {
      await small.close();
    }
  });

  it("leaves no checkpoint at its end, and keeps at most two of them while it lives", async () => {
    const commands = Array.from(
      { length: 6 },
      (_, turn) => `EXECUTE_${turn}["Execute: head -c 4000000 /dev/urandom > blob"]`,
    );
    const runId = await mill.start({
      "a.md": workflow(
        `START --> ${commands.join(" --> ")} --> ASK_B[Ask: Go on?] --> EXECUTE_C["Execute: wc -c < blob"]`,
      ),
    });
    await waiting(runId);
    const stored = async () => {
      const { rows } = await mill.store.database.calm.query<{ bytes: number }>(
        `select coalesce(sum(length(bytes)), 0)::float8 as bytes from checkpoint_parts where session_id = $1`,
        [runId],
      );
      return rows[0]?.bytes ?? -1;
    };
    expect(await stored()).toBeGreaterThan(4_000_000);
    expect(await stored()).toBeLessThan(4 * 4_100_000);
    expect(await goOn(runId)).toBe("$ wc -c < blob\n4000000\n");
    await until(async () => (await stored()) === 0);
    const { rows } = await mill.store.database.calm.query("select 1 from session_marks where session_id = $1", [runId]);
    expect(rows).toEqual([]);
  });

  it("starts with the submission's files", async () => {
    const { execFileSync } = await import("node:child_process");
    const tar = execFileSync("tar", ["-C", "examples/median/submission", "-cf", "-", "."]);
    const blob = await saveBlob(mill.store, tar);
    const definition = definitionOf({ "a.md": workflow(`START --> EXECUTE_A["Execute: ls -1"]`) });
    const created = await createRun(mill.store, { definition, submission: { blob } });
    await mill.queues.enqueue(created.jobs);
    expect((await mill.ended(created.runId)).result).toBe("$ ls -1\nchecks.mjs\nmedian.js\npackage.json\n");
  });

  it("is deleted by the cleanup if its run ended without its worker, and other sessions stay", async () => {
    const over = await mill.start(asking(""));
    const open = await mill.start(asking(""));
    await waiting(over);
    await waiting(open);
    // The session of another test may still be ending.
    const left = async () => {
      const there = new Set((await mill.sandbox.list()).map(({ id }) => id));
      return [over, open].filter((id) => there.has(id));
    };
    // The caller has no sandbox, so the cancellation does not end the session.
    await cancelRun(mill.store, over, "over");
    expect(await left()).toEqual([over, open]);
    await reapSessions(mill.store.database, mill.sandbox, { app: "markmill-other", host: "elsewhere" }, quiet);
    expect(await left()).toEqual([over, open]);
    const app = `markmill-${await installationId(mill.store.database)}`;
    await reapSessions(mill.store.database, mill.sandbox, { app, host: hostname() }, quiet);
    expect(await left()).toEqual([open]);
    await goOn(open);
  });
});

describe("what may still run when a use of a session ends", () => {
  let root: string;
  let database: TestDatabase;
  let store: Store;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "markmill-left-running-"));
    database = await migratedDatabase();
    store = await openStore({ url: database.url, worker: "one" });
  });
  afterAll(async () => {
    await store?.close();
    await database?.drop();
    await rm(root, { recursive: true, force: true });
  });

  /** `absent`: no engine answers. `leaves`: what runs is not ended when it is given up. */
  function place() {
    const none = createNoneSandbox({ root, warn: () => undefined });
    const now = { absent: false, leaves: false };
    const opened: Session[] = [];
    const sandbox: Sandbox = {
      ...none,
      async open(spec, options) {
        if (now.absent) throw new Error("No engine answers.");
        const session = await none.open(spec, options);
        opened.push(session);
        return Object.defineProperty(session, "leftRunning", { get: () => now.leaves && session === opened.at(-1) });
      },
    };
    return { now, keeper: (worker: string, id?: string) => keeperOf(store, sandbox, worker, id) };
  }

  const leave = async (session: Session, seconds: number) => {
    await session.run({ kind: "shell", text: `sleep ${seconds} >/dev/null 2>&1 &` });
  };
  const living = async ({ id }: TestKeeper) => {
    const { stdout } = await promisify(execFile)("ps", ["-eo", "args=", "eww"], { maxBuffer: 64 * 1024 * 1024 });
    const lines = stdout.split("\n").filter((line) => line.startsWith("sleep ") && line.includes(id));
    return lines.map((line) => Number(line.split(" ")[1])).sort();
  };
  const end = (one: TestKeeper) => createNoneSandbox({ root, warn: () => undefined }).remove(one.id);

  it.each(["the same worker", "another worker"])(
    "is ended by the next activity of %s, and what earlier commands left on purpose goes on",
    async (who) => {
      const { now, keeper } = place();
      const one = keeper("one");
      const next = who === "the same worker" ? one : keeper("two", one.id);
      await one.execute(1, (session) => leave(session, 901));
      now.leaves = true;
      await one.execute(2, (session) => leave(session, 902));
      // Nobody could end it yet.
      now.absent = true;
      await expect(next.use(3, "read", async () => undefined)).rejects.toThrow("No engine");
      Object.assign(now, { absent: false, leaves: false });
      expect(await living(one)).toEqual([901, 902]);
      await next.use(3, "read", async () => undefined);
      expect(await living(one)).toEqual([901]);
      // Once is enough.
      await next.execute(4, (session) => leave(session, 904));
      await next.execute(5, async () => undefined);
      expect(await living(one)).toEqual([901, 904]);
      await end(one);
    },
  );

  it("is not looked for after a command that was given up and has ended", async () => {
    const { keeper } = place();
    const one = keeper("one");
    const stop = new AbortController();
    await one.execute(1, (session) => leave(session, 901), stop.signal);
    const aborted = async (session: Session) => {
      await leave(session, 902);
      stop.abort();
    };
    await one.execute(2, aborted, stop.signal);
    await one.use(3, "read", async () => undefined);
    expect(await living(one)).toEqual([901, 902]);
    await end(one);
  });

  it("because its worker slept too long to end it, is ended by that worker's next activity", async () => {
    const one = place().keeper("one");
    await one.execute(1, (session) => leave(session, 901));
    const now = performance.now.bind(performance);
    const listing = one.use(2, "write", async (session) => {
      await session.start({ argv: ["sleep", "902"] });
      vi.spyOn(performance, "now").mockImplementation(() => now() + 60_000);
      await session.endAllBut([]);
    });
    await expect(listing).rejects.toThrow("lease of the session is over");
    vi.restoreAllMocks();
    expect(await living(one)).toEqual([901, 902]);
    await one.use(3, "read", async () => undefined);
    expect(await living(one)).toEqual([901]);
    await end(one);
  });
});
