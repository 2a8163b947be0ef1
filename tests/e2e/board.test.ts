// Bull Board as operators see it: its JSON on both backends, and a browser on one, because the pages do not depend on the backend.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createBoard } from "@markmill/api";
import type { Role } from "@markmill/contract";
import { type JobData, QueueError } from "@markmill/queue";
import { Redis } from "ioredis";
import pg from "pg";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { startApi, type TestApi } from "../support/api.ts";
import { openBrowser } from "../support/chromium.ts";
import { type Mill, startMill, workflow } from "../support/mill.ts";
import { redisAvailable } from "../support/redis.ts";

/** A run that calls another run, which waits for a person. */
const files = {
  "main.wf.md": workflow(
    '  START --> SET_A["SET: A = 1"] --> CALL_B["CALL: child.wf.md"] --> SET_C["SET: C = 3"] --> SUCCESS',
  ),
  "child.wf.md": workflow(
    '  START --> SET_D["SET: D = 2"] --> PROMPT_E["PROMPT: User Say"] --> ASK_F["ASK: go on?"] --> SET_G["SET: G = 4"] --> SUCCESS',
    { "User Say": "Say something." },
  ),
};
const failing = {
  "fail.wf.md": workflow('  START --> SET_H["SET: H = 1"] --> PROMPT_I["PROMPT: User Wrong"] --> SUCCESS', {
    "User Wrong": "Ask wrongly.",
  }),
};
const script = `sticky: true
rules:
  - { when: { text: "Ask wrongly" }, fault: { status: 400, message: "Ada Lovelace wrote nonsense" } }
default: { reply: ok }
`;
const names = { student: "Ada Lovelace" };

interface FlowNode {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly queueName: string;
  readonly children: readonly FlowNode[];
}
interface ShownJob {
  readonly id: string;
  readonly name: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly failedReason?: string;
  readonly externalUrl?: { readonly href: string };
}
interface ShownQueue {
  readonly name: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly jobs: readonly ShownJob[];
  readonly readOnlyMode: boolean;
  readonly isPaused: boolean;
  readonly hasWorkers: boolean | null;
}

/** Jobs of the control queue whose worker was killed and which another worker has finished: failed, with BullMQ's message. */
async function failJobs({ queueAt }: Mill, jobs: readonly (readonly [string, JobData])[]): Promise<void> {
  const { backend, prefix } = queueAt;
  const reason = "Missing lock for job a1-1-1. moveToFinished";
  if (backend.kind === "redis") {
    const redis = new Redis(backend.url);
    for (const [id, data] of jobs) {
      const job = {
        name: "activity",
        data: JSON.stringify(data),
        opts: "{}",
        timestamp: 1,
        finishedOn: 2,
        failedReason: reason,
      };
      await redis.hset(`${prefix}:control:${id}`, job);
      await redis.zadd(`${prefix}:control:failed`, 2, id);
    }
    redis.disconnect();
    return;
  }
  const client = new pg.Client({ connectionString: backend.url });
  await client.connect();
  for (const [id, data] of jobs) {
    await client.query(
      `insert into bullmq.job (queue, id, seq, name, state, data, added_at_ms, finished_at_ms, failed_reason)
       values ('control', $1, nextval('bullmq.job_seq'), 'activity', 'failed', $2, 1, 2, $3)`,
      [id, JSON.stringify(data), reason],
    );
  }
  await client.end();
}

const screenshots = join(import.meta.dirname, "../../.cache/screenshots");
let browser: Browser | null = null;
beforeAll(async () => {
  browser = await openBrowser("the board in a browser (its JSON is tested)");
  await mkdir(screenshots, { recursive: true });
});
afterAll(async () => {
  await browser?.close();
});

for (const backend of ["redis", "postgres"] as const) {
  const there = backend === "postgres" || (await redisAvailable("the board on Redis"));
  describe.skipIf(!there)(`the board on ${backend}`, () => {
    let mill: Mill;
    let api: TestApi;
    let run: string;
    const inBrowser = () => browser !== null && (backend === "postgres" || inject("thorough"));
    let page: Page | null = null;
    beforeAll(async () => {
      mill = await startMill({ backend, script });
      api = await startApi(mill, {}, createBoard({ queues: mill.queues, writes: false }));
      run = await start(files, "main.wf.md");
    });
    afterAll(async () => {
      await page?.context().close();
      await api?.close();
      await mill?.close();
    });

    async function start(source: Readonly<Record<string, string>>, root: string): Promise<string> {
      const owner = await api.client("owner");
      const { hash } = await owner.saveDefinition({ body: { root, files: source } });
      return (await owner.startRun({ body: { definition: hash, labels: names } })).id;
    }

    async function get(path: string, roles: readonly Role[] = ["ops"]): Promise<Response> {
      const headers = { authorization: `Bearer ${await api.key(roles)}` };
      return await fetch(`${api.url}/board${path}`, { headers, redirect: "manual" });
    }
    const json = async <Body>(path: string) => (await (await get(path)).json()) as Body;
    const flow = async (id: string) =>
      (await json<{ flowRoot: FlowNode | null }>(`/api/queues/control/${id}/flow?depth=10&maxChildren=100`)).flowRoot;
    async function queue(name: string, status = "latest"): Promise<ShownQueue> {
      const asked = `/api/queues?activeQueue=${name}&status=${status}&page=1&jobsPerPage=50`;
      const { queues } = await json<{ queues: readonly ShownQueue[] }>(asked);
      const found = queues.find((one) => one.name === name);
      if (found === undefined) throw new Error(`no queue ${name}`);
      return found;
    }
    const shape = (node: FlowNode | null): unknown =>
      node === null
        ? null
        : {
            [node.name.split(" · ")[0] ?? ""]: node.state,
            ...(node.children.length > 0 && { below: node.children.map(shape) }),
          };

    async function logIn(): Promise<Page> {
      const context = await (browser as Browser).newContext({ viewport: { width: 1400, height: 900 } });
      const opened = await context.newPage();
      opened.setDefaultTimeout(90_000);
      await opened.goto(`${api.url}/board/runs/${run}`);
      await opened.getByLabel("Key").fill(await api.key(["ops"]));
      await opened.getByRole("button", { name: "Log in" }).first().click();
      return opened;
    }

    it("shows a run with its called workflow as a tree while it runs", async () => {
      const open = {
        "main.wf.md": "active",
        below: [
          { SET_A: "completed" },
          {
            CALL_B: "waiting-children",
            below: [{ SET_D: "completed" }, { PROMPT_E: "completed" }, { ASK_F: "waiting" }],
          },
        ],
      };
      await expect.poll(async () => shape(await flow(`run-${run}`))).toEqual(open);
      if (!inBrowser()) return;
      page = await logIn();
      for (const node of ["SET_A", "CALL_B", "SET_D", "PROMPT_E", "ASK_F"]) {
        // The board shortens texts that are wider than its boxes.
        const title = page.getByText(node, { exact: true }).first();
        await title.waitFor();
        expect(await title.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth), node).toBe(true);
      }
      await page.screenshot({ path: join(screenshots, `board-${backend}-running.png`) });
    });

    it("links a run to the board and a job to its run, and shows ids but no names", async () => {
      const owner = await api.key(["owner"]);
      const answer = await fetch(`${api.url}/v1/runs/${run}`, { headers: { authorization: `Bearer ${owner}` } });
      expect(answer.headers.get("link")).toContain(`</board/runs/${run}>`);
      const led = await get(`/runs/${run}`);
      expect(led.headers.get("location")).toBe(`/board/queue/control/run-${run}`);
      const { jobs } = await queue("control");
      const set = jobs.find(({ name }) => name.startsWith("SET_A"));
      expect(set).toMatchObject({
        name: `SET_A · main.wf.md · run ${run}`,
        data: { runId: run },
        externalUrl: { href: `/v1/runs/${run}` },
      });
      const { queues } = await json<{ queues: readonly ShownQueue[] }>("/api/queues?activeQueue=control");
      expect(queues.map(({ name }) => name)).toEqual(["control", "prompt", "execute", "supervisor"]);
      expect(JSON.stringify([queues, jobs, await flow(`run-${run}`)])).not.toContain(names.student);
    });

    it("shows the tree and every finished job after the run has ended", async () => {
      const owner = await api.client("owner");
      const asks = async () => (await owner.listAsks({ query: { run } })).items;
      await expect.poll(async () => (await asks()).length).toBe(1);
      await owner.answerAsk({ params: { id: (await asks())[0]?.id ?? 0 }, body: { text: "yes" } });
      await mill.ended(run);
      const ended = {
        "main.wf.md": "completed",
        below: [
          { SET_A: "completed" },
          {
            CALL_B: "completed",
            below: [{ SET_D: "completed" }, { PROMPT_E: "completed" }, { ASK_F: "completed" }, { SET_G: "completed" }],
          },
          { SET_C: "completed" },
        ],
      };
      await expect.poll(async () => shape(await flow(`run-${run}`))).toEqual(ended);
      const finished = async (name: string) =>
        (await queue(name, "completed")).jobs.map((job) => job.name.split(" · ")[0]).sort();
      await expect.poll(() => finished("control")).toEqual(["ASK_F", "CALL_B", "SET_A", "SET_C", "SET_D", "SET_G"]);
      expect(await finished("prompt")).toEqual(["PROMPT_E"]);
      // Every job of the tree links to the whole tree.
      const { jobs } = await queue("control", "completed");
      for (const { id } of jobs) expect(shape(await flow(id))).toEqual(ended);
      expect((await get(`/api/queues/control/${jobs[0]?.id}`)).status).toBe(200);
      if (page === null) return;
      await page.goto(`${api.url}/board/runs/${run}`);
      for (const node of ["SET_A", "CALL_B", "SET_D", "SET_G", "SET_C"]) await page.getByText(node).first().waitFor();
      await page.screenshot({ path: join(screenshots, `board-${backend}-ended.png`) });
      await page.goto(`${api.url}/board/queue/control?status=completed`);
      await page.getByText("SET_G").first().waitFor();
      await page.screenshot({ path: join(screenshots, `board-${backend}-completed.png`) });
      await page.goto(`${api.url}/board/`);
      await page.getByText("completed", { exact: false }).first().waitFor();
      await page.screenshot({ path: join(screenshots, `board-${backend}-overview.png`) });
    });

    it("shows failed jobs with their reason", async () => {
      const failed = await start(failing, "fail.wf.md");
      expect(await mill.ended(failed)).toMatchObject({ status: "failed" });
      const shown = async () => (await queue("prompt", "failed")).jobs.filter(({ data }) => data.runId === failed);
      await expect
        .poll(async () => (await shown()).map((job) => job.name))
        .toEqual([expect.stringContaining("PROMPT_I")]);
      expect((await shown())[0]?.failedReason).toMatch(/^[A-Z_]+: .+\. Fix: /);
      expect(JSON.stringify(await shown())).not.toContain("nonsense");
    });

    it("shows no job as failed whose activity or run ended well, whatever happened to the job", async () => {
      const board = async () => await queue("control", "failed");
      const before = (await board()).counts.failed ?? 0;
      // A worker that loses its locks leaves this state. The run continues with another job.
      const tree = await mill.store.board.tree(run);
      const call = tree?.activities.find(({ kind }) => kind === "call");
      const spec = { runId: call?.runId ?? "", activityId: call?.id ?? 0, epoch: 0 };
      const owner = await api.client("owner");
      const asking = { "ask.wf.md": workflow('  START --> ASK_Q["ASK: well?"] --> SUCCESS') };
      const open = await start(asking, "ask.wf.md");
      await expect.poll(async () => (await owner.listAsks({ query: { run: open } })).items.length).toBe(1);
      const asked = (await mill.store.board.tree(open))?.activities.find(({ node }) => node === "ASK_Q");
      const lost = { runId: open, activityId: asked?.id ?? 0, epoch: 0 };
      const failing = [spec, lost].map((one) => [`a${one.activityId}-9-9`, one] as const);
      await failJobs(mill, failing);
      await expect.poll(async () => (await board()).counts.failed).toBe(before + 1);
      const shown = (await board()).jobs.filter(({ id }) => id.endsWith("-9-9"));
      expect(shown).toMatchObject([
        { id: `a${lost.activityId}-9-9`, failedReason: expect.stringMatching(/^QUEUE_LOCK_LOST: .* Fix: /) },
      ]);
      await owner.cancelRun({ params: { id: open } });
      await expect.poll(async () => (await board()).counts.failed).toBe(before);
    });

    it("loads nothing from other sites", async () => {
      const headers = { authorization: `Bearer ${await api.key(["ops"])}`, accept: "text/html" };
      for (const path of ["/", "/queue/control"]) {
        const html = await (await fetch(`${api.url}/board${path}`, { headers })).text();
        expect(html).toContain("<div id=");
        expect([...html.matchAll(/(?:href|src)="(?:https?:)?\/\/[^"]*/g)].map(([link]) => link)).toEqual([]);
        const styles = [...html.matchAll(/href="([^"]+\.css)"/g)].map(([, href = ""]) => href);
        expect(styles.length).toBeGreaterThan(0);
        for (const href of styles) {
          const css = await (await fetch(new URL(href, `${api.url}/board/`), { headers })).text();
          expect(css).not.toMatch(/@import|url\(["']?(?:https?:)?\/\//);
        }
      }
      if (page === null) return;
      const asked: string[] = [];
      page.on("request", (request) => void asked.push(request.url()));
      await page.goto(`${api.url}/board/`);
      await page.getByText("completed", { exact: false }).first().waitFor();
      expect(asked.length).toBeGreaterThan(3);
      expect(asked.filter((url) => !url.startsWith(api.url) && !url.startsWith("data:"))).toEqual([]);
    });

    it("is open to ops alone, and read-only", async () => {
      for (const role of ["owner", "grader", "reader"] as const) {
        expect((await get("/api/queues", [role])).status, role).toBe(403);
        expect((await get("/", [role])).status, role).toBe(403);
      }
      expect((await fetch(`${api.url}/board/api/queues`)).status).toBe(401);
      const page = await fetch(`${api.url}/board/`, { headers: { accept: "text/html" } });
      expect([page.status, page.headers.get("content-type")]).toEqual([401, "text/html; charset=utf-8"]);
      const headers = { authorization: `Bearer ${await api.key(["ops"])}`, "content-type": "application/json" };
      const board = api.api.routes.filter(({ url, method }) => url.startsWith("/board") && !/GET|HEAD/.test(method));
      expect(board.length).toBeGreaterThan(10);
      for (const { url, method } of board) {
        const path = url.replace(":queueName", "control").replace(/:\w+/g, "x");
        const answer = await fetch(`${api.url}${path}`, { method, headers, body: "{}" });
        expect([method, path, answer.status]).toEqual([method, path, 403]);
      }
      expect((await queue("control")).readOnlyMode).toBe(true);
      for (const id of [
        "x",
        "a999999999-1-1",
        `run-${crypto.randomUUID()}`,
        `a1-1.${crypto.randomUUID()}`,
        "%00",
        "..%2f..",
      ]) {
        expect((await get(`/api/queues/control/${id}`)).status, id).toBe(404);
        expect((await get(`/api/queues/control/${id}/flow`)).status, id).toBe(404);
      }
      expect((await get("/runs/x")).status).toBe(404);
      expect(api.log).toEqual([]);
    });

    it("shows queues without workers and paused queues, and allows audited writes if a setting permits them", async () => {
      const writing = await startApi(mill, {}, createBoard({ queues: mill.queues, writes: true }));
      try {
        const headers = { authorization: `Bearer ${await writing.key(["ops"])}` };
        const put = async (path: string) =>
          (await fetch(`${writing.url}/board/api/queues${path}`, { method: "PUT", headers })).status;
        expect((await queue("control")).hasWorkers).toBe(true);
        expect(await put("/prompt/pause")).toBe(200);
        expect((await queue("prompt")).isPaused).toBe(true);
        expect(await put("/prompt/resume")).toBe(200);
        expect((await queue("prompt")).isPaused).toBe(false);
        expect(await put("/prompt/obliterate")).toBe(403);
        expect(await put("/prompt/a1-1-1/retry")).toBe(403);
        expect(await put("/prompt/a1-1-1/clean")).toBe(404);
        const owner = await writing.client("owner");
        const { items } = await owner.listAudit({ query: { action: "board" } });
        expect(items.map(({ target, outcome }) => [target, outcome])).toContainEqual(["/prompt/pause", 200]);
      } finally {
        await writing.close();
      }
    });
  });
}

it("the board shows queues without workers", async () => {
  const mill = await startMill({ backend: "postgres", script: "default: { reply: ok }\n", worker: false });
  const api = await startApi(mill, {}, createBoard({ queues: mill.queues, writes: false }));
  try {
    const headers = { authorization: `Bearer ${await api.key(["ops"])}` };
    const answer = await fetch(`${api.url}/board/api/queues`, { headers });
    const { queues } = (await answer.json()) as { queues: readonly ShownQueue[] };
    expect(queues.map(({ name, hasWorkers }) => [name, hasWorkers])).toEqual([
      ["control", false],
      ["prompt", false],
      ["execute", false],
      ["supervisor", null],
    ]);
  } finally {
    await api.close();
    await mill.close();
  }
});

it("the board shows ended runs while the queue is unreachable, and reports that it is unreachable", async () => {
  const mill = await startMill({ backend: "postgres", script });
  const away = {
    watch: () => {
      throw new QueueError("QUEUE_UNREACHABLE", "The queue has not been reached yet.");
    },
  };
  const api = await startApi(mill, {}, createBoard({ queues: away, writes: true }));
  try {
    await mill.run(failing);
    const headers = { authorization: `Bearer ${await api.key(["ops"])}` };
    const look = async () =>
      (await (await fetch(`${api.url}/board/api/queues`, { headers })).json()) as { queues: readonly ShownQueue[] };
    await expect.poll(async () => (await look()).queues[0]).toMatchObject({ counts: { completed: 1, waiting: 0 } });
    expect((await look()).queues[1]).toMatchObject({
      counts: { failed: 1 },
      description: expect.stringContaining("unreachable"),
    });
    const paused = await fetch(`${api.url}/board/api/queues/prompt/pause`, { method: "PUT", headers });
    expect(paused.status).toBe(503);
  } finally {
    await api.close();
    await mill.close();
  }
});
