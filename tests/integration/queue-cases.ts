/** The behaviour of a queue on every backend. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { JobSpec } from "@markmill/engine";
import { type BackendOptions, jobId, openQueues, type QueueError, type Queues } from "@markmill/queue";
import { afterAll, beforeAll, expect, it } from "vitest";

let activity = 0;

export function spec(more: Partial<JobSpec> = {}): JobSpec {
  activity += 1;
  return {
    queue: "control",
    runId: "run",
    activityId: activity,
    epoch: 1,
    attempt: 1,
    enqueues: 1,
    delayMs: 0,
    parentJob: null,
    ...more,
  };
}

export function behaves(
  open: () => Promise<{ backend: BackendOptions; prefix: string; close(): Promise<void> }>,
): void {
  let place: Awaited<ReturnType<typeof open>>;
  let queues: Queues;
  const errors: QueueError[] = [];
  beforeAll(async () => {
    place = await open();
    queues = await openQueues({ ...place, onError: (error) => errors.push(error) });
  });
  afterAll(async () => {
    await queues?.close();
    await place?.close();
  });

  it("delivers each enqueued job once, with ids only", async () => {
    const heard: string[] = [];
    const serving = queues.serve(
      "control",
      async (delivered) => {
        expect(delivered).toMatchObject({ runId: "run", epoch: 1, attempt: 1, enqueues: 1 });
        heard.push(delivered.jobId);
        return { do: "done" };
      },
      { concurrency: 5 },
    );
    const specs = Array.from({ length: 20 }, () => spec());
    expect(await Promise.all(specs.map((one) => queues.enqueue([one])))).toEqual(specs.map(() => []));
    await expect.poll(() => heard.length).toBe(20);
    expect(heard.sort()).toEqual(specs.map(jobId).sort());
    expect(serving.lastHeard()).toBeGreaterThan(0);
    await serving.close();
  });

  it("creates one job for a repeated enqueue, and a new job for a later enqueue number", async () => {
    const one = spec({ queue: "execute" });
    await queues.enqueue([one, one]);
    await queues.enqueue([one]);
    const heard: string[] = [];
    const serving = queues.serve("execute", async (delivered) => {
      heard.push(delivered.jobId);
      return { do: "done" };
    });
    await expect.poll(() => heard).toEqual([jobId(one)]);
    await expect.poll(() => queues.live([one])).toEqual(new Map());
    await queues.enqueue([one]);
    await queues.enqueue([{ ...one, enqueues: 2 }]);
    await expect.poll(() => heard).toEqual([jobId(one), jobId({ ...one, enqueues: 2 })]);
    await serving.close();
  });

  it("handles as many jobs in parallel as its concurrency, which can change", async () => {
    const ends = Promise.withResolvers<void>();
    const serving = queues.serve("prompt", async () => {
      await ends.promise;
      return { do: "done" };
    });
    serving.setConcurrency(3);
    await queues.enqueue(Array.from({ length: 4 }, () => spec({ queue: "prompt" })));
    await expect.poll(() => serving.active()).toBe(3);
    ends.resolve();
    await expect.poll(() => queues.counts()).toMatchObject({ prompt: { active: 0, waiting: 0 } });
    await serving.close();
  });

  it("reports which jobs exist, and how many", async () => {
    const [here, gone, later] = [
      spec({ queue: "supervisor" }),
      spec({ queue: "supervisor" }),
      spec({ queue: "supervisor", delayMs: 3_600_000 }),
    ];
    await queues.enqueue([here, later]);
    expect(await queues.live([here, gone, later])).toEqual(
      new Map<string, unknown>([
        [jobId(here), { is: "waiting" }],
        [jobId(later), { is: "delayed", forMs: expect.closeTo(3_600_000, -6) }],
      ]),
    );
    expect((await queues.counts()).supervisor).toMatchObject({ waiting: 1, delayed: 1 });
  });

  it("delivers a job again at the time that its handler requests", async () => {
    const [soon, late] = [spec({ queue: "prompt" }), spec({ queue: "prompt" })];
    const heard: string[] = [];
    const serving = queues.serve("prompt", async (delivered) => {
      heard.push(delivered.jobId);
      if (delivered.jobId === jobId(late)) return { do: "later", ms: 3_600_000 };
      return heard.filter((one) => one === jobId(soon)).length === 1 ? { do: "later", ms: 300 } : { do: "done" };
    });
    await queues.enqueue([late]);
    await expect.poll(() => queues.live([late])).toMatchObject(new Map([[jobId(late), { is: "delayed" }]]));
    await queues.enqueue([soon]);
    await expect.poll(() => heard).toEqual([late, soon, soon].map(jobId));
    expect(await queues.live([late])).toEqual(
      new Map([[jobId(late), { is: "delayed", forMs: expect.closeTo(3_600_000, -6) }]]),
    );
    await serving.close();
  });

  it("lets a calling job wait for the jobs of its callee, and adds them alone if the calling job is gone", async () => {
    const heard: string[] = [];
    const call = spec();
    const child = spec({ queue: "execute", parentJob: jobId(call) });
    const orphan = spec({ queue: "execute", parentJob: "a999999-1-1" });
    const calls = queues.serve("control", async (delivered) => {
      heard.push(`call ${delivered.jobId}`);
      if (heard.length > 1) return { do: "done" };
      await queues.enqueue([child]);
      return { do: "children" };
    });
    await queues.enqueue([call]);
    await expect.poll(async () => (await queues.counts()).control["waiting-children"]).toBe(1);
    expect(await queues.enqueue([orphan])).toEqual([]);
    const children = queues.serve("execute", async (delivered) => {
      heard.push(`child ${delivered.jobId}`);
      return { do: "done" };
    });
    await expect
      .poll(() => [...heard].sort())
      .toEqual(
        [`call ${jobId(call)}`, `call ${jobId(call)}`, `child ${jobId(child)}`, `child ${jobId(orphan)}`].sort(),
      );
    await Promise.all([calls.close(), children.close()]);
  });

  it("delivers the jobs that handlers enqueue, from the first delivery on, one after the other", async () => {
    const chain = Array.from({ length: 30 }, () => spec());
    const aside = [spec({ queue: "prompt" }), spec({ queue: "prompt" }), spec({ queue: "prompt", delayMs: 200 })];
    const heard: string[] = [];
    const steps = queues.serve("control", async (delivered, enqueue) => {
      heard.push(delivered.jobId);
      const next = chain[heard.length];
      await enqueue(heard.length === 1 ? [...chain.slice(1, 2), ...aside] : next === undefined ? [] : [next]);
      return { do: "done" };
    });
    const heardAside: string[] = [];
    const prompts = queues.serve("prompt", async (delivered) => {
      expect(delivered.queue).toBe("prompt");
      heardAside.push(delivered.jobId);
      return { do: "done" };
    });
    await queues.enqueue(chain.slice(0, 1));
    await expect.poll(() => heard).toEqual(chain.map(jobId));
    await expect.poll(() => [...heardAside].sort()).toEqual(aside.map(jobId));
    await Promise.all([steps.close(), prompts.close()]);
  });

  it("keeps no finished job on queues with hand-over, 100 on others, and 500 failed ones", async () => {
    // On Postgres, jobs that end at the same time do not see each other until the next one ends.
    const concurrency = 10;
    const about = (count: number) => expect.toSatisfy((kept: number) => kept >= count && kept < count + concurrency);
    const handled = { control: 0, prompt: 0, execute: 0 };
    const servings = (["control", "prompt", "execute"] as const).map((name) =>
      queues.serve(
        name,
        async () => {
          handled[name] += 1;
          if (name === "execute" && handled.execute > 130) throw new Error("a defect");
          return { do: "done" };
        },
        { concurrency },
      ),
    );
    const many = (queue: JobSpec["queue"], length: number) => Array.from({ length }, () => spec({ queue }));
    const specs = [...many("control", 50), ...many("prompt", 50), ...many("execute", 660)];
    expect(await queues.enqueue(specs)).toEqual([]);
    await expect.poll(() => handled).toEqual({ control: 50, prompt: 50, execute: 660 });
    await Promise.all(servings.map((serving) => serving.close()));
    const { control, prompt, execute } = await queues.counts();
    expect({ control, prompt, execute }).toMatchObject({
      control: { completed: 0, failed: 0, active: 0 },
      prompt: { completed: 0, failed: 0, active: 0 },
      execute: { completed: about(100), failed: about(500), active: 0 },
    });
  });

  it("keeps no more jobs of a call and its callee than of other activities", async () => {
    const call = spec();
    const callee = [spec({ parentJob: jobId(call) }), spec({ parentJob: jobId(call) })];
    const heard: string[] = [];
    const serving = queues.serve("control", async (delivered, enqueue) => {
      heard.push(delivered.jobId);
      if (heard.length > 1) return { do: "done" };
      await enqueue(callee);
      return { do: "children" };
    });
    await queues.enqueue([call]);
    await expect
      .poll(() => [heard[0], heard.slice(1, 3).sort(), heard[3]])
      .toEqual([jobId(call), callee.map(jobId), jobId(call)]);
    await serving.close();
    expect((await queues.counts()).control).toMatchObject({
      completed: 0,
      "waiting-children": 0,
      waiting: 0,
      active: 0,
    });
    expect(await queues.live([call, ...callee])).toEqual(new Map());
  });

  it("waits for running handlers when it is closed, until it is closed by force", async () => {
    const own = await openQueues(place);
    const held = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const serving = own.serve("supervisor", async () => {
      held.resolve();
      await released.promise;
      return { do: "done" };
    });
    await own.enqueue([spec({ queue: "supervisor" })]);
    await held.promise;
    const patient = Promise.all([serving.close(), serving.close()]).then(() => "handled");
    const soon = new Promise((resolve) => setTimeout(resolve, 200, "held"));
    expect(await Promise.race([patient, soon])).toBe("held");
    const forced = serving.close(true).then(() => own.close());
    const late = new Promise((resolve) => setTimeout(resolve, 60_000, "late"));
    expect(await Promise.race([forced, late])).toBeUndefined();
    released.resolve();
    await patient;
  });

  it("delivers a killed process's job to another process within seconds", async () => {
    const script = fileURLToPath(new URL("queue-worker.ts", import.meta.url));
    const victim = spawn(process.execPath, [script, place.backend.kind, place.backend.url, place.prefix], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const one = spec({ queue: "execute" });
    await queues.enqueue([one]);
    const [line] = await once(victim.stdout, "data");
    expect(String(line).trim()).toBe(jobId(one));
    const taken = new Promise<unknown>((resolve) => {
      queues.serve("execute", async ({ jobId, stalled }) => {
        resolve({ jobId, stalled });
        return { do: "done" };
      });
    });
    victim.kill("SIGKILL");
    expect(await taken).toEqual({ jobId: jobId(one), stalled: 1 });
  });

  it("continues with new connections after a stall", async () => {
    const heard: string[] = [];
    const serving = queues.serve("prompt", async (delivered) => {
      heard.push(delivered.jobId);
      return { do: "done" };
    });
    serving.reconnect();
    const one = spec({ queue: "prompt" });
    await queues.enqueue([one]);
    await expect.poll(() => heard).toEqual([jobId(one)]);
    await serving.close();
  });

  it("reports whether it is paused, so that an idle worker does not count as stalled", async () => {
    const serving = queues.serve("prompt", async () => ({ do: "done" }));
    expect(await serving.isPaused()).toBe(false);
    await queues.watch("prompt").pause();
    expect(await serving.isPaused()).toBe(true);
    await queues.watch("prompt").resume();
    expect(await serving.isPaused()).toBe(false);
    await serving.close();
  });

  it("does not count new connections as a delivery, so that an idle worker still counts as stalled", async () => {
    const serving = queues.serve("prompt", async () => ({ do: "done" }));
    const before = serving.lastHeard();
    serving.reconnect();
    expect(serving.lastHeard()).toBe(before);
    await serving.close();
  });
}
