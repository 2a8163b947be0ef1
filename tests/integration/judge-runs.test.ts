/** EXECUTE in the judge session of a run: its files, its results, and the session that a killed worker leaves. */
import { hostname } from "node:os";
import { createJailSandbox, type SandboxError } from "@markmill/sandbox";
import { reapSessions } from "@markmill/worker";
import { pack } from "tar-stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defaultLimits } from "../../packages/sandbox/src/limits.ts";
import type { Claimed } from "../../packages/store/src/machine.ts";
import { createJudgeKeeper } from "../../packages/worker/src/judge-session.ts";
import { createPerformer, type PerformerParts } from "../../packages/worker/src/perform.ts";
import { reportSkip } from "../support/ask-services.ts";
import { definitionOf, type Mill, startMill, workflow } from "../support/mill.ts";
import { sessionSpec } from "../support/session-spec.ts";
import { cancelRun, createRun, getRun, installationId, saveBlob, waitsOf } from "../support/store.ts";
import { until } from "../support/until.ts";

const jail = await createJailSandbox({ root: "/nonexistent" }).then(
  () => null,
  (error: SandboxError) => error,
);
if (jail !== null) await reportSkip({ what: "judge sessions of runs in the jail", reason: jail.message });
const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };

describe.skipIf(jail !== null)("EXECUTE in the judge session", () => {
  let mill: Mill;
  beforeAll(async () => {
    mill = await startMill({
      backend: "postgres",
      script: "default: { reply: ok }",
      sandbox: (root) => createJailSandbox({ root }),
    });
  });
  afterAll(() => mill.close());

  const chart = `START --> EXECUTE_STUDENT["Execute: echo changed > work.txt; echo fake > ls; chmod +x ls; export PATH=/workspace:$PATH; cat() { echo fake; }; export -f cat; (setsid sleep 500 &)"]
EXECUTE_STUDENT --> EXECUTE_ONE["Execute: cat /submission/work.txt; cat /judge/key.txt; ls -A /workspace; echo one > kept; guest cat work.txt; exit 4"]
EXECUTE_ONE --> SET_ONE["Set: ONE='{{EXIT_CODE}} {{RESULT}}'"]
SET_ONE --> EXECUTE_TWO["Execute: ls -A /workspace; guest bash -c 'cat /judge/key.txt' || exit 7"]
EXECUTE_TWO --> SET_TWO["Set: TWO='{{EXIT_CODE}} {{RESULT}}'"]
SET_TWO --> EXECUTE_AFTER["Execute: ls -A /judge /submission 2>&1; builtin echo end"]
EXECUTE_ONE@{ session: judge }
EXECUTE_TWO@{ session: judge }`;

  async function run(head: string) {
    const blob = await saveBlob(mill.store, await tarOf({ "work.txt": "as handed in\n" }));
    const definition = definitionOf({ "a.md": workflow(chart, {}, head), "tests/key.txt": "secret\n" });
    const created = await createRun(mill.store, { definition, submission: { blob } });
    await mill.queues.enqueue(created.jobs);
    return await mill.ended(created.runId);
  }

  it("starts from the submission as handed in, and nothing of the student's session or an earlier judge reaches it", async () => {
    const { status, variables, result } = await run("---\njudge: { files: tests }\n---\n\n");
    expect(status).toBe("success");
    expect(variables.ONE).toMatch(/^4 /);
    expect(variables.ONE).toMatch(/as handed in\nsecret\nas handed in\n/);
    expect(variables.ONE).not.toContain("fake");
    expect(variables.TWO).toMatch(/^7 /);
    expect(variables.TWO).not.toMatch(/kept$|^secret/m);
    expect(result).not.toContain("key.txt");
  });

  it("starts from the current files if the workflow says so", async () => {
    const { variables } = await run("---\njudge: { files: tests, of: workspace }\n---\n\n");
    expect(variables.ONE).toMatch(/changed\nsecret\nchanged\n/);
    expect(variables.ONE).not.toContain("fake");
  });

  describe("results of its tests", () => {
    const calling = `START --> CALL_TESTS[[b.md]]\nCALL_TESTS --> SET_SEEN["Set: SEEN='{{RESULT}}'"]`;
    const below = `START --> EXECUTE_TESTS["Execute: bash /judge/run.sh"]\nEXECUTE_TESTS@{ session: judge }`;
    const judged = async (script: string, handedIn: Readonly<Record<string, string>> = { "work.txt": "x" }) => {
      const definition = definitionOf({
        "a.md": workflow(calling),
        "b.md": workflow(below, {}, "---\njudge: { files: tests }\n---\n\n"),
        "tests/run.sh": script,
      });
      const blob = await saveBlob(mill.store, await tarOf(handedIn));
      const created = await createRun(mill.store, { definition, submission: { blob } });
      await mill.queues.enqueue(created.jobs);
      const { variables } = await mill.ended(created.runId);
      const text = variables.TEST_RESULTS;
      return { variables, tests: text === undefined || text === "" ? null : JSON.parse(text) };
    };

    it("return from the called workflow, and no row contains the nonce", async () => {
      const { tests } = await judged(`echo nonce is $MARKMILL_NONCE
printf '{"nonce":"%s","tests":[{"name":"a","status":"passed"}]}' $MARKMILL_NONCE >$MARKMILL_RESULTS
exit 1`);
      expect(tests).toMatchObject({ is: "read", tests: [{ name: "a", passed: true, visibility: "hidden" }] });
      const all = JSON.stringify(
        await mill.store.database.calm.query(`select row_to_json(a)::text as text from activities a
          union all select row_to_json(e)::text from events e union all select row_to_json(r)::text from runs r`),
      );
      expect(all).toContain("nonce is ****");
      expect(all).not.toMatch(/nonce is [0-9a-f]/);
    });

    it("are not taken from a file that the submission contains", async () => {
      const shipped = JSON.stringify({ nonce: "x", tests: [{ name: "a", status: "passed" }] });
      const script = "cp /submission/results.json $MARKMILL_RESULTS";
      expect((await judged(script, { "results.json": shipped })).tests).toMatchObject({ is: "forged" });
    });

    it("are empty without a file", async () => {
      const { tests, variables } = await judged("true", { "results.json": "{}" });
      expect({ tests, has: "TEST_RESULTS" in variables }).toEqual({ tests: null, has: false });
    });
  });

  it("holds the run when the teacher's autograder cannot be unpacked: no student takes the fail edge for it", async () => {
    const flow = `START --> EXECUTE_TESTS["Execute: autograder"]
EXECUTE_TESTS@{ session: judge }
EXECUTE_TESTS -->|FALSE| SET_ZERO["Set: POINTS='0'"]
SET_ZERO --> SUCCESS`;
    // It has the end of a zip and the name, and no entry.
    const zip = `run_autograder PK\u0005\u0006${"\0".repeat(18)}`;
    const definition = definitionOf({
      "a.md": workflow(flow, {}, "---\njudge: { autograder: hw.zip }\n---\n\n"),
      "hw.zip": zip,
    });
    const blob = await saveBlob(mill.store, await tarOf({ "work.txt": "x" }));
    const created = await createRun(mill.store, { definition, submission: { blob } });
    await mill.queues.enqueue(created.jobs);
    const [run, waits] = await until(async () => {
      const now = await getRun(mill.store.database, created.runId);
      const [wait] = await waitsOf(mill.store.database, [created.runId]);
      return now !== null && (now.endedAt !== null || wait !== undefined) ? ([now, wait] as const) : null;
    });
    expect([run.status, run.variables.POINTS, waits?.parked]).toMatchObject([
      "doing",
      undefined,
      {
        held: true,
        failure: { code: "SANDBOX_AUTOGRADER_INVALID", message: expect.stringContaining("run_autograder") },
      },
    ]);
    await cancelRun(mill.store, created.runId, "over");
  });

  it("are produced again when the worker was lost during the tests", async () => {
    const program = definitionOf({ "a.md": workflow(chart), "tests/key.txt": "x" }).programs["a.md"];
    const judges = createJudgeKeeper({
      sandbox: mill.sandbox,
      ceiling: { ...defaultLimits, diskBytes: 32 * 1024 * 1024 },
      images: [],
      app: "markmill-test",
      worker: "w",
    });
    const parts = { judges, sessions: null, submission: async () => ({ kind: "list", files: [] }) };
    const work = { kind: "execute", source: "literal", text: "guest true && exit 3", session: "judge" };
    const claimed = { run: { rootId: "r", program }, activity: { work }, interrupted: true };
    const performed = await createPerformer(parts as unknown as PerformerParts).perform(
      claimed as unknown as Claimed,
      "job",
      new AbortController().signal,
    );
    expect(performed).toMatchObject({ did: "succeed", outcome: { kind: "executed", exitCode: 3 } });
  });

  it("leaves sessions that are cleaned up only after their worker is gone", async () => {
    const app = `markmill-${await installationId(mill.store.database)}`;
    const created = new Date(Date.now() - 3_600_000).toISOString();
    const deadline = new Date(Date.now() + 3_600_000).toISOString();
    const left = async (id: string, worker: string) => {
      const labels = { app, run: "r", worker, created, deadline };
      await mill.sandbox.open(sessionSpec(id, { labels }));
      return id;
    };
    const mine = await left("r-judge-0000aaaa", mill.store.worker);
    const orphans = [await left("r-judge-0000bbbb", "gone"), await left("r-judge-0000bbbb-2", "gone")];
    await reapSessions(mill.store.database, mill.sandbox, { app, host: hostname() }, quiet);
    const ids = (await mill.sandbox.list()).map(({ id }) => id);
    expect(ids).toContain(mine);
    for (const id of orphans) expect(ids).not.toContain(id);
    await mill.sandbox.remove(mine);
  });
});

async function tarOf(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const archive = pack();
  for (const [name, text] of Object.entries(files)) archive.entry({ name, mode: 0o644 }, text);
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
