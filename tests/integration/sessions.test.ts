/** A run's sandbox session over its life: shared by its commands, rebuilt when it was lost, gone when the run is over. */

import { hostname } from "node:os";
import { createJailSandbox, type SandboxError } from "@markmill/sandbox";
import {
  answerAsk,
  cancelRun,
  claimSession,
  createRun,
  getHistory,
  installationId,
  openAsks,
  releaseSession,
  saveBlob,
} from "@markmill/store";
import { reapSessions } from "@markmill/worker";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { reportSkip } from "../support/ask-services.ts";
import { definitionOf, type Mill, startMill, workflow } from "../support/mill.ts";

const jail = await createJailSandbox({ root: "/nonexistent" }).then(
  () => null,
  (error: SandboxError) => error,
);
if (jail !== null) await reportSkip({ what: "sessions of runs in the jail", reason: jail.message });
const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };

describe.skipIf(jail !== null)("the session of a run", () => {
  let mill: Mill;
  beforeAll(async () => {
    mill = await startMill({
      backend: "postgres",
      script: "default: { reply: ok }",
      sandbox: (root) => createJailSandbox({ root }),
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
    await mill.queues.ring(answered.rings);
    return (await mill.ended(runId)).result ?? "";
  }

  it("keeps directory, environment and files, also over a restart of all workers, and is gone when the run has ended", async () => {
    const runId = await mill.start(asking(""));
    await waiting(runId);
    expect((await mill.sandbox.list()).map(({ id }) => id)).toEqual([runId]);
    await mill.restart();
    expect(await goOn(runId)).toBe("$ pwd; echo $COLOUR; cat /workspace/box/note\n/workspace/box\nred\nkept\n");
    await until(async () => (await mill.sandbox.list()).length === 0);
  });

  it("that was lost is rebuilt from the submission, and from the last checkpoint where the workflow keeps them", async () => {
    const plain = await mill.start(asking(""));
    await waiting(plain);
    await mill.sandbox.remove(plain);
    expect(await goOn(plain)).toContain("No such file or directory");
    const kept = await mill.start(asking("---\nsandbox:\n  checkpoint: true\n---\n\n"));
    await waiting(kept);
    await mill.sandbox.remove(kept);
    expect(await goOn(kept)).toBe("$ pwd; echo $COLOUR; cat /workspace/box/note\n/workspace/box\nred\nkept\n");
  });

  it("that another worker uses is waited for: no attempt is used up, and the command runs once", async () => {
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
  }, 100_000);

  it("begins with the submission's files", async () => {
    const { execFileSync } = await import("node:child_process");
    const tar = execFileSync("tar", ["-C", "examples/median/submission", "-cf", "-", "."]);
    const blob = await saveBlob(mill.store.database, tar);
    const definition = definitionOf({ "a.md": workflow(`START --> EXECUTE_A["Execute: ls -1"]`) });
    const created = await createRun(mill.store, { definition, submission: { blob } });
    await mill.queues.ring(created.rings);
    expect((await mill.ended(created.runId)).result).toBe("$ ls -1\nchecks.mjs\nmedian.js\npackage.json\n");
  });

  it("of a run that ended without its worker is taken away by the reaper, others stay", async () => {
    const over = await mill.start(asking(""));
    const open = await mill.start(asking(""));
    await waiting(over);
    await waiting(open);
    // Cancelled by somebody who has no sandbox: nobody ends the session.
    await cancelRun(mill.store, over, "over");
    expect((await mill.sandbox.list()).map(({ id }) => id).sort()).toEqual([over, open].sort());
    await reapSessions(mill.store.database, mill.sandbox, { app: "markmill-other", host: "elsewhere" }, quiet);
    expect(await mill.sandbox.list()).toHaveLength(2);
    const app = `markmill-${await installationId(mill.store.database)}`;
    await reapSessions(mill.store.database, mill.sandbox, { app, host: hostname() }, quiet);
    expect((await mill.sandbox.list()).map(({ id }) => id)).toEqual([open]);
    await goOn(open);
  });
});

async function until(look: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 20_000; !(await look()); ) {
    if (performance.now() > end) throw new Error("it did not happen");
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}
