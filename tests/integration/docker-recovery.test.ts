/**
 * Whole runs on a private Docker engine that is stopped, killed, filled or loses containers. A submission is graded at the end, or the run
 * waits for a transient error. No trouble of the sandbox becomes a verdict.
 */
import { fileURLToPath } from "node:url";
import Docker from "dockerode";
import { pack } from "tar-stream";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { buildImage } from "../../infra/images/sandbox/build-offline.ts";
import { createDockerSandbox } from "../../packages/sandbox/src/docker/docker-sandbox.ts";
import { reportSkip } from "../support/ask-services.ts";
import { dockerAvailable, startDockerEngine } from "../support/docker-engine.ts";
import type { OwnEngine } from "../support/docker-engine-server.ts";
import { definitionOf, type Mill, startMill, workflow } from "../support/mill.ts";
import { createRun, getHistory, saveBlob } from "../support/store.ts";
import { until } from "../support/until.ts";

const available = await dockerAvailable("recovery of runs from trouble of their Docker engine");
const mayStart = available && process.platform === "linux" && process.getuid?.() === 0;
if (available && !mayStart)
  await reportSkip({ what: "recovery of runs from trouble of their Docker engine", reason: "starting one needs root" });

/** Shorter than the default times, so that an engine is given up within the test. */
const bounds = { pingMs: 300, answerMs: 5_000, silentMs: 4_000, callMs: 20_000 };
const head = "---\nsandbox: { wall: 12s }\njudge: { files: tests, wall: 20s }\n---\n\n";

describe.skipIf(!mayStart)("runs on a failing Docker engine", () => {
  let own: OwnEngine;
  let docker: Docker;
  let mill: Mill;

  beforeAll(async () => {
    own = await startDockerEngine(fileURLToPath(new URL("../../.cache", import.meta.url)), { dataMegabytes: 900 });
    const { tag } = await buildImage("tiny", own.engine.host);
    docker = new Docker({ socketPath: own.engine.host.replace("unix://", "") });
    mill = await startMill({
      backend: "postgres",
      script: "default: { reply: ok }",
      sandbox: () => createDockerSandbox({ hosts: [own.engine.host], images: [tag], bounds }),
      environment: { SANDBOX_IMAGE: tag, DRAIN_TIMEOUT_MS: "1000" },
    });
  });
  afterAll(async () => {
    await own?.thaw();
    await own?.makeRoom();
    await mill?.close();
    await own?.engine.stop();
  });

  /** The command waits until `finish` releases it. */
  const waits = "until [ -e /tmp/go ]; do sleep 0.2; done";
  /** Two EXECUTEs: the first leaves a mark, the second adds one, waits, and prints what it found. */
  const executes = workflow(
    `START --> EXECUTE_MARK["Execute: echo mark >> marks"]
EXECUTE_MARK --> EXECUTE_LOOK["Execute: echo tries >> marks; ${waits}; cat marks; exit 3"]
EXECUTE_LOOK --> SET_SEEN["Set: SEEN='{{EXIT_CODE}} {{RESULT}}'"]`,
    {},
    head,
  );
  const judged = (command: string) =>
    workflow(
      `START --> EXECUTE_JUDGE["Execute: ${command}"]
EXECUTE_JUDGE@{ session: judge }
EXECUTE_JUDGE --> SET_SEEN["Set: SEEN='{{EXIT_CODE}} {{RESULT}}'"]`,
      {},
      head,
    );

  async function start(text: string): Promise<string> {
    const archive = pack();
    archive.entry({ name: "work.sh" }, `${waits}; echo worked\n`);
    archive.finalize();
    const chunks: Buffer[] = [];
    for await (const chunk of archive) chunks.push(chunk as Buffer);
    const blob = await saveBlob(mill.store, Buffer.concat(chunks));
    const definition = definitionOf({ "a.md": text, "tests/key.txt": "k\n" });
    const created = await createRun(mill.store, { definition, submission: { blob } });
    await mill.queues.enqueue(created.jobs);
    return created.runId;
  }

  const containersOf = async (run: string, name = /./) =>
    (await docker.listContainers().catch(() => [])).filter(({ Names }) =>
      Names.some((one) => one.includes(run) && name.test(one)),
    );

  /** The container in which a command or program of the run waits. */
  async function whereWaits(run: string, name: RegExp): Promise<Docker.Container> {
    return await until(async () => {
      for (const { Id } of await containersOf(run, name)) {
        const container = docker.getContainer(Id);
        const top = await container.top({ ps_args: "-eo pid,args" }).catch(() => undefined);
        if ((top?.Processes as string[][] | undefined)?.some(([, line]) => line === "sleep 0.2")) return container;
      }
      return undefined;
    });
  }

  /** Releases every waiting command of the run. */
  async function finish(run: string) {
    let over = false;
    const ended = mill.ended(run).finally(() => {
      over = true;
    });
    while (!over) {
      for (const { Id } of await containersOf(run)) await letGo(docker.getContainer(Id)).catch(() => undefined);
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 300))]);
    }
    return await ended;
  }

  async function letGo(container: Docker.Container): Promise<void> {
    const exec = await container.exec({ Cmd: ["touch", "/tmp/go"], User: "0:0" });
    await exec.start({ Detach: true });
  }

  const failuresOf = async (run: string) =>
    (await getHistory(mill.store.database, run)).entries.flatMap((entry) =>
      entry.kind === "event" && entry.event.type === "activity.failed" ? [entry.event.failure.code] : [],
    );

  it("are judged again when the container of the session, of the judge or of a guest is killed", async () => {
    const [inSession, inJudge, inGuest] = await Promise.all([
      start(executes),
      start(judged(`${waits}; cat /judge/key.txt; exit 4`)),
      start(judged("guest sh work.sh; echo guest $?; exit 5")),
    ]);
    await Promise.all([
      whereWaits(inSession, /session/).then((container) => container.kill()),
      whereWaits(inJudge, /judge-[0-9a-f]+$/).then((container) => container.kill()),
      whereWaits(inGuest, /judge-[0-9a-f]+-\d+$/).then((container) => container.kill()),
    ]);
    const ended = await Promise.all([inSession, inJudge, inGuest].map(finish));
    expect(ended.map(({ status }) => status)).toEqual(["success", "success", "success"]);
    expect(ended[0]?.variables.SEEN).toMatch(/^3 [\s\S]*\nmark\ntries\n\[exit code 3\]/);
    expect(ended[1]?.variables.SEEN).toMatch(/^4 [\s\S]*\nk\n/);
    expect(ended[2]?.variables.SEEN).toMatch(/^5 [\s\S]*\nworked\nguest 0\n/);
    // The trouble was noticed, and was not blamed on the submission.
    for (const id of [inSession, inJudge, inGuest]) expect(await failuresOf(id)).not.toEqual([]);
  });

  const programs = inject("thorough") ? (["dockerd", "containerd"] as const) : (["dockerd"] as const);
  it.each(programs)("end with their verdict when %s stalls during a command", async (program) => {
    const run = await start(executes);
    await whereWaits(run, /session/);
    await own.freeze(program);
    // The stall is longer than the wait for the engine. The outcome of the command is unknown, and the command is repeated.
    await until(async () => (await failuresOf(run)).length > 0);
    await own.thaw();
    const { status, variables } = await finish(run);
    expect(status).toBe("success");
    expect(variables.SEEN).toMatch(/^3 [\s\S]*\nmark\ntries\n\[exit code 3\]/);
  });

  it("continue on another worker when their worker ends while the engine hangs", async () => {
    const run = await start(executes);
    await whereWaits(run, /session/);
    await own.freeze("dockerd");
    await mill.restart();
    await own.thaw();
    const { status, variables } = await finish(run);
    expect(status).toBe("success");
    expect(variables.SEEN).toMatch(/^3 [\s\S]*\nmark\ntries\n\[exit code 3\]/);
  });

  it("wait while the engine's disk is full, and continue when there is space", async () => {
    await own.fill();
    const run = await start(executes);
    await until(async () => (await mill.store.database.calm.query(troubled(run))).rows.length > 0);
    await own.makeRoom();
    const { status, variables } = await finish(run);
    expect(status).toBe("success");
    expect(variables.SEEN).toMatch(/^3 [\s\S]*\nmark\ntries\n\[exit code 3\]/);
  });

  it("repeat from their checkpoint when the engine is killed during a command and restarted", async () => {
    const [inSession, inJudge] = await Promise.all([start(executes), start(judged(`${waits}; exit 4`))]);
    await Promise.all([whereWaits(inSession, /session/), whereWaits(inJudge, /judge/)]);
    await own.kill();
    await until(async () => (await mill.store.database.calm.query(troubled(inSession))).rows.length > 0);
    await own.restart();
    const ended = await Promise.all([inSession, inJudge].map(finish));
    expect(ended.map(({ status }) => status)).toEqual(["success", "success"]);
    expect(ended[0]?.variables.SEEN).toMatch(/^3 [\s\S]*\nmark\ntries\n\[exit code 3\]/);
    expect(ended[1]?.variables.SEEN).toMatch(/^4 /);
  });
});

const troubled = (run: string) => ({
  text: "select trouble from activities where run_id = $1 and trouble is not null",
  values: [run],
});
