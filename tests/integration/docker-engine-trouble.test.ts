/** Docker engines that are down, hang or stall: they cause no verdict, no engine blocks another one, and no call waits for ever. */
import { randomBytes } from "node:crypto";
import Docker from "dockerode";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeEngines } from "../../packages/sandbox/src/docker/describe-engines.ts";
import {
  createDockerSandbox,
  type DockerSandbox,
  type DockerSandboxOptions,
} from "../../packages/sandbox/src/docker/docker-sandbox.ts";
import { openJudge } from "../../packages/sandbox/src/judge/judge-session.ts";
import type { RunOptions, Session } from "../../packages/sandbox/src/port.ts";
import { dockerAvailable, sharedDocker } from "../support/docker-engine.ts";
import { judgeSpec } from "../support/judge-spec.ts";
import { migratedDatabase } from "../support/postgres.ts";
import { keeperOf } from "../support/session-keeper.ts";
import { sessionSpec } from "../support/session-spec.ts";
import { type StallingEngine, startStallingEngine } from "../support/stalling-engine.ts";
import { openStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const available = await dockerAvailable("Docker engines that are down, hang or stall");
const absent = "unix:///nonexistent/docker.sock";
/** A transient error: the caller tries again. */
const passing = /^SANDBOX_(ENGINE_UNREACHABLE|ENGINE_FAILED|SESSION_LOST|START_FAILED|OUTCOME_UNKNOWN)$/;
const unknown = { code: "SANDBOX_OUTCOME_UNKNOWN" };
const unreachable = { code: "SANDBOX_ENGINE_UNREACHABLE" };

describe.skipIf(!available).concurrent("Docker engines in trouble", () => {
  let host = "";
  let image = "";
  let docker: Docker;
  /** Accepts connections and does not answer. */
  let hanging: StallingEngine;
  const ways: StallingEngine[] = [];
  const sandboxes: DockerSandbox[] = [];
  const opened: string[] = [];

  beforeAll(async () => {
    ({ host, image } = await sharedDocker());
    docker = new Docker({ socketPath: host.replace("unix://", "") });
    hanging = await wayTo(null);
  });
  afterAll(async () => {
    await Promise.all(sandboxes.map((sandbox) => sandbox.close()));
    await Promise.all(ways.map((way) => way.close()));
    const cleaner = await createDockerSandbox({ hosts: [host], images: [image] });
    await Promise.all(opened.map((id) => cleaner.remove(id)));
    await cleaner.close();
  });

  /** The engine of the test run until it is stalled; null: no answer at all. */
  async function wayTo(engine: string | null): Promise<StallingEngine> {
    const way = await startStallingEngine(engine);
    ways.push(way);
    return way;
  }

  async function sandboxOn(hosts: readonly string[], bounds: DockerSandboxOptions["bounds"] = {}) {
    const sandbox = await createDockerSandbox({ hosts, images: [image], bounds });
    sandboxes.push(sandbox);
    return sandbox;
  }
  const newSpec = (more: Parameters<typeof sessionSpec>[1] = {}) => {
    const id = `e-${randomBytes(6).toString("hex")}`;
    opened.push(id);
    return sessionSpec(id, more);
  };
  const sh = (session: Session, text: string, options: RunOptions = {}) =>
    session.run({ kind: "shell", text }, options);
  /** Runs a command, and stalls its engine as soon as the command has started. */
  const stalledIn = async (stalling: StallingEngine, session: Session, text: string, options: RunOptions = {}) => {
    let begun = false;
    const outcome = sh(session, `echo begun; ${text}`, {
      ...options,
      onOutput: () => {
        begun = true;
      },
    });
    outcome.catch(() => undefined);
    await until(() => begun);
    stalling.stall();
    return { outcome };
  };
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  it("the doctor tells absent, hanging and serving engines apart, with images and free space", async () => {
    const missing = `markmill-absent-${randomBytes(4).toString("hex")}`;
    const standing = await describeEngines(
      { hosts: [absent, hanging.host, host], images: [image, missing] },
      { selfTest: false },
    );
    expect(standing).toMatchObject([
      { host: absent, problem: { ...unreachable, message: expect.stringContaining("ENOENT") } },
      { host: hanging.host, problem: { message: expect.stringContaining("no answer to a ping in 5000 ms") } },
      {
        host,
        problem: null,
        facts: { engineVersion: expect.stringMatching(/^\d+\./) },
        images: [
          { name: image, present: true },
          { name: missing, present: false },
        ],
        storage: { place: expect.stringMatching(/^\//), freeBytes: expect.any(Number) },
        selfTest: null,
      },
    ]);
  });

  it("a hanging and an absent engine delay no start, session, list or removal on a third one", async () => {
    const sandbox = await sandboxOn([hanging.host, absent, host]);
    expect((await sandbox.describe()).map(({ facts }) => facts !== undefined)).toEqual([false, false, true]);
    const spec = newSpec();
    const session = await sandbox.open(spec);
    expect(await sh(session, "echo served")).toMatchObject({ exitCode: 0, output: "served\n" });
    expect((await sandbox.open(spec)).attached).toBe(true);
    expect((await sandbox.list()).map(({ id }) => id)).toContain(session.id);
    await session.end();
    expect((await sandbox.list()).map(({ id }) => id)).not.toContain(session.id);
    // The session may exist on the engine that did not answer.
    await expect(sandbox.remove(session.id)).rejects.toMatchObject(unreachable);
  });

  it("a short stall of the engine does not time out a command, which continues", async () => {
    const stalling = await wayTo(host);
    const sandbox = await sandboxOn([stalling.host]);
    const session = await sandbox.open(newSpec({ limits: { wallMs: 3_000, silenceMs: 3_000 } }));
    const { outcome } = await stalledIn(stalling, session, "sleep 1; echo done");
    await pause(5_000);
    stalling.goOn();
    expect(await outcome).toMatchObject({ exitCode: 0, timedOut: false, output: "begun\ndone\n" });
  });

  it("a short stall before a command starts does not time it out either", async () => {
    const stalling = await wayTo(host);
    const sandbox = await sandboxOn([stalling.host]);
    const session = await sandbox.open(newSpec({ limits: { wallMs: 3_000 } }));
    stalling.stall();
    const outcome = sh(session, "echo done");
    await pause(5_000);
    stalling.goOn();
    expect(await outcome).toMatchObject({ exitCode: 0, timedOut: false, output: "done\n" });
  });

  it("a stall that does not end produces no outcome and no endless wait, and the session works after it", async () => {
    const bounds = { pingMs: 200, answerMs: 1_000, silentMs: 3_000 };
    const stalling = await wayTo(host);
    const sandbox = await sandboxOn([stalling.host], bounds);
    const spec = newSpec({ limits: { wallMs: 2_000 } });
    const session = await sandbox.open(spec);
    const { outcome } = await stalledIn(stalling, session, "sleep 600");
    await expect(outcome).rejects.toMatchObject(unknown);
    await expect(sandbox.open(spec)).rejects.toMatchObject(unreachable);
    stalling.goOn();
    // The engine is asked again as soon as it answers.
    const again = await until(() => sandbox.open(spec).catch(() => undefined));
    expect(again.attached).toBe(true);
    expect(await sh(again, "cat lib/data.txt; pgrep -x sleep")).toMatchObject({ output: "seven\n" });
  });

  it("every call to a stalled engine ends with a transient error", async () => {
    const stalling = await wayTo(host);
    const sandbox = await sandboxOn([stalling.host], { pingMs: 200, answerMs: 1_000, silentMs: 3_000 });
    const spec = newSpec();
    const session = await sandbox.open(spec);
    await sh(session, "true");
    const snapshot = await session.snapshot();
    const program = await session.start({ argv: ["cat"] });
    stalling.stall();
    const calls: Readonly<Record<string, () => Promise<unknown>>> = {
      open: () => sandbox.open(spec),
      "open another": () => sandbox.open(newSpec()),
      list: () => sandbox.list(),
      remove: () => sandbox.remove(spec.id),
      run: () => sh(session, "true"),
      start: () => session.start({ argv: ["true"] }),
      readFile: () => session.readFile("main.py", { maxBytes: 100, links: "refused" }),
      writeFile: () => session.writeFile("new", Buffer.from("x")),
      snapshot: () => session.snapshot(),
      changes: () => session.changes(snapshot, { maxBytes: 1_000_000 }),
      endAllBut: () => session.endAllBut([]),
      rewind: () => session.rewind({ snapshot, parts: [] }),
      "a program": () => program.ended,
      end: () => session.end(),
    };
    // The test uses a second session, because calls to one session run one after the other.
    const results = await Promise.all(
      Object.entries(calls).map(async ([name, call]) => [
        name,
        await call().then(
          () => "done",
          (error: { readonly code?: string }) => error.code ?? String(error),
        ),
      ]),
    );
    for (const [name, code] of results) expect(code, name).toMatch(passing);
  });

  it("a command is given up at once when its worker stops, also while its engine hangs", async () => {
    const stalling = await wayTo(host);
    const sandbox = await sandboxOn([stalling.host]);
    const spec = newSpec();
    const session = await sandbox.open(spec);
    const stop = new AbortController();
    const { outcome } = await stalledIn(stalling, session, "sleep 600", { signal: stop.signal });
    stop.abort(new Error("The worker is shutting down."));
    await expect(outcome).rejects.toThrow("shutting down");
    await sandbox.close();
    stalling.goOn();
    // The engine notices the closed input, and the guard ends the command.
    const other = await (await sandboxOn([host])).open(spec);
    await until(async () => !(await sh(other, "pgrep -x sleep; true")).output.includes("\n"));
  });

  /** A command that has stopped its guard, on an engine that is stalled before that. What is called `spared` goes on. */
  const stoppedGuard = async (stalling: StallingEngine, session: Session, options: RunOptions, spared = "none") => {
    const stopAll = `for p in /proc/[0-9]*; do read -r -d "" line <$p/cmdline; [[ $line == ${spared} || $p == /proc/$$ ]] || kill -STOP \${p#/proc/}; done 2>/dev/null; exec sleep 600`;
    const text = `until [ -e /tmp/go ]; do sleep 0.05; done; bash -c '${stopAll}'`;
    const { outcome } = await stalledIn(stalling, session, text, options);
    const container = docker.getContainer(session.instance);
    const touch = await container.exec({ Cmd: ["touch", "/tmp/go"], User: "0:0" });
    await touch.start({ Detach: true });
    await until(async () => {
      const { Processes } = await container.top({ ps_args: "-eo pid,args" });
      return (Processes as string[][] | null)?.some(([, line]) => line === "sleep 600");
    });
    return { outcome };
  };

  it.each([
    ["the same session object is used again", false],
    ["another activity opens the session and ends what was interrupted", true],
  ])("a command that stopped its guard and is given up while its engine hangs ends before %s", async (_, opensAnew) => {
    const stalling = await wayTo(host);
    const sandbox = await sandboxOn([stalling.host]);
    const spec = newSpec();
    const session = await sandbox.open(spec);
    const stop = new AbortController();
    const { outcome } = await stoppedGuard(stalling, session, { signal: stop.signal });
    stop.abort(new Error("The worker is shutting down."));
    await expect(outcome).rejects.toThrow("shutting down");
    stalling.goOn();
    const next = opensAnew ? await sandbox.open(spec) : session;
    if (opensAnew) await next.endAllBut([]);
    expect((await sh(next, "pgrep -c -x sleep; echo on")).output).toBe("0\non\n");
  });

  it.each([
    ["its run is cancelled", true],
    ["its engine is silent for too long", false],
  ])(
    "a command that stopped its guard, given up because %s, is ended before its worker's next activity; a server that was left on purpose lives",
    async (_, cancelled) => {
      const stalling = await wayTo(host);
      const bounds = cancelled ? {} : { pingMs: 200, answerMs: 1_000, silentMs: 3_000 };
      const database = await migratedDatabase();
      const store = await openStore({ url: database.url, worker: "one" });
      try {
        const { id, execute } = keeperOf(store, await sandboxOn([stalling.host], bounds));
        opened.push(id);
        await execute(1, async (session) => void (await sh(session, "sleep 599 >/dev/null 2>&1 &")));
        const stop = new AbortController();
        const givenUp = execute(
          2,
          async (session, signal) => {
            const { outcome } = await stoppedGuard(stalling, session, { signal }, "sleep");
            if (cancelled) stop.abort(new Error("The run was cancelled."));
            return await outcome.catch((error: Error) => error.message);
          },
          stop.signal,
        );
        expect(await givenUp).toMatch(cancelled ? "cancelled" : "SANDBOX_OUTCOME_UNKNOWN");
        stalling.goOn();
        const found = await until(async () =>
          execute(3, async (session) => (await sh(session, "pgrep -a -x sleep")).output).catch(
            (error: { readonly code?: string }) => (error.code === unreachable.code ? null : `${error.code}`),
          ),
        );
        expect(found).toMatch(/^\d+ sleep 599\n$/);
      } finally {
        await store.close();
        await database.drop();
      }
    },
  );

  it("a guest of the judge that stalls with its engine has not timed out", async () => {
    const stalling = await wayTo(host);
    const sandbox = await sandboxOn([stalling.host]);
    const judge = await openJudge(sandbox, judgeSpec());
    try {
      let begun = false;
      const running = judge.run(
        { kind: "shell", text: `echo begun; guest --time 2 -- sh -c 'echo 1; sleep 1; echo 2'; echo "code $?"` },
        {
          onOutput: (text) => {
            begun ||= text.includes("1");
          },
        },
      );
      running.catch(() => undefined);
      await until(() => begun);
      stalling.stall();
      await pause(4_000);
      stalling.goOn();
      expect(await running).toMatchObject({ output: "begun\n1\n2\ncode 0\n" });
    } finally {
      await judge.end();
    }
  });

  it("a created container that is not started yet belongs to a starting session", async () => {
    const id = `e-${randomBytes(6).toString("hex")}`;
    opened.push(id);
    const created = { "markmill.created": new Date().toISOString() };
    const Labels = { "markmill.sandbox": "1", "markmill.session": id, "markmill.app": "markmill-test", ...created };
    await docker.createContainer({ name: `markmill-new-${id}`, Image: image, Cmd: ["sleep", "600"], Labels });
    const sandbox = await sandboxOn([host]);
    expect((await sandbox.list()).find((one) => one.id === id)).toMatchObject({ status: "starting" });
  });

  it("a session whose container ends during its file upload is lost, and can be requested again", async () => {
    const sandbox = await sandboxOn([host]);
    const spec = newSpec({
      files: { kind: "list", files: [{ path: "big", mode: 0o644, bytes: randomBytes(24 * 1024 * 1024) }] },
    });
    const filters = JSON.stringify({ label: [`markmill.session=${spec.id}`] });
    const opening = sandbox.open(spec).then(
      () => "opened",
      (error: { readonly code?: string }) => error.code ?? String(error),
    );
    await until(async () => {
      const [made] = await docker.listContainers({ filters });
      if (made === undefined) return false;
      const container = docker.getContainer(made.Id);
      const { ExecIDs } = await container.inspect();
      if ((ExecIDs ?? []).length === 0) return false;
      await container.kill();
      return true;
    });
    expect(await opening).toMatch(passing);
    expect((await sh(await sandbox.open(spec), "wc -c <big")).output).toBe("25165824\n");
  });
});
