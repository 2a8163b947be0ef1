/** One trace per run across processes: the shipped API, workers and supervisor, and a collector on loopback. */
import { createClient } from "@markmill/contract";
import { parseScript, startScriptedModel } from "@markmill/llm";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type MarkmillPlace, makePlace, type StartedMarkmill, startMarkmill } from "../support/markmill-process.ts";
import { workflow } from "../support/mill.ts";
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from "../support/otlp-receiver.ts";
import { migratedDatabase } from "../support/postgres.ts";
import { freshRedis, redisAvailable } from "../support/redis.ts";
import { until } from "../support/until.ts";

const backends = (await redisAvailable("telemetry on the Redis backend"))
  ? (["redis", "postgres"] as const)
  : (["postgres"] as const);

/** None of these may be exported: a name, texts of a prompt, reply, command, output, variable and label, keys. */
const secrets = {
  name: "Zora-Quint",
  prompt: "weigh-the-essay",
  reply: "essay-is-lovely",
  command: "whisper-command",
  variable: "private-variable",
  label: "label-of-pupil",
  question: "what-shall-i-do",
  modelKey: "model-key-4711",
  collectorKey: "collector-key-0815",
};

const files = {
  "main.wf.md": workflow(
    `  START --> SET_A["SET: WHO = {{STUDENT}}"] --> PROMPT_B["PROMPT: User Weigh"] --> EXECUTE_C["EXECUTE: echo ${secrets.command}"]
  EXECUTE_C --> CALL_D["CALL: child.wf.md"] --> SET_E["SET: E = 3"] --> SUCCESS`,
    { "User Weigh": `${secrets.prompt}: {{STUDENT}}` },
  ),
  "child.wf.md": workflow(
    `  START --> SET_F["SET: F = ${secrets.variable}"] --> PROMPT_G["PROMPT: User Busy"] --> SUCCESS`,
    { "User Busy": `busy ${secrets.prompt}` },
  ),
};

/** The same steps of a run and of a called run, without a question. */
const inlineFiles = {
  "main.wf.md": workflow(
    '  START --> SET_A["SET: WHO = {{STUDENT}}"] --> CALL_D["CALL: child.wf.md"] --> SET_E["SET: E = 3"] --> SUCCESS',
  ),
  "child.wf.md": workflow('  START --> SET_F["SET: F = 2"] --> SUCCESS'),
};

const script = `
sticky: true
rules:
  - { when: { text: "busy", nth: [1] }, fault: { status: 500 } }
default: { reply: "${secrets.reply}", usage: { prompt: 120, completion: 30 } }
`;

/** One home for all workers: they share the sandbox check of the first one, as on any machine. */
const home = await makePlace({}, { jail: "proven" });
afterAll(() => home.remove());

/** The figures that /metrics has too. */
const figures = ["queue_jobs", "workers_alive", "oldest_due_seconds", "event_loop_delay_seconds"].map(
  (name) => `markmill.${name}`,
);

describe.each(backends)("telemetry with the queue on %s", (backend) => {
  let collector: OtlpReceiver;
  let started: StartedMarkmill[] = [];
  let place: MarkmillPlace;
  const closing: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    const database = await migratedDatabase();
    closing.push(() => database.drop());
    const redis = backend === "redis" ? await freshRedis() : null;
    if (redis !== null) closing.push(() => redis.stop());
    const parsed = parseScript(script, "script.yaml");
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.findings));
    const model = await startScriptedModel({ script: parsed.script, port: 0 });
    closing.push(() => model.close());
    collector = await startOtlpReceiver();
    closing.push(() => collector.close());
    const env = {
      ...home.env,
      DATABASE_URL: database.url,
      ...(redis === null ? {} : { REDIS_URL: redis.url }),
      OPENAI_BASE_URL: model.url,
      OPENAI_API_KEY: secrets.modelKey,
      DEFAULT_MODEL: "scripted",
      SANDBOX: "jail",
      SANDBOX_ACCEPT: "no-cgroup",
      SANDBOX_POOL_SIZE: "0",
      API_PORT: "0",
      PG_POOL_SIZE: "4",
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: `x-collector-key=${secrets.collectorKey}`,
      OTEL_BSP_SCHEDULE_DELAY: "100",
      OTEL_METRIC_EXPORT_INTERVAL: "500",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
    };
    place = { ...home, env };
  });
  afterAll(async () => {
    await stopAll();
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function start(role: string, env: Readonly<Record<string, string>> = {}): Promise<StartedMarkmill> {
    const process = startMarkmill({ ...place, env: { ...place.env, ...env } }, [role]);
    started.push(process);
    await process.says("stdout", new RegExp(`${role} started`));
    return process;
  }

  async function stopAll(): Promise<void> {
    const all = started;
    started = [];
    for (const { child } of all) child.kill("SIGTERM");
    await Promise.all(all.map(({ ended }) => ended));
  }

  async function serve(roles = ["worker", "worker", "supervisor"]) {
    // The first process migrates the database.
    const api = await start("api");
    await Promise.all(roles.map((role) => start(role)));
    return { api, url: urlOf(api) };
  }
  const urlOf = (api: StartedMarkmill) => /"url":"([^"]+)"/.exec(api.stdout())?.[1] ?? "";

  let token = "";
  let definition = "";

  async function startRun(url: string, headers: Record<string, string> = {}): Promise<string> {
    const answer = await fetch(`${url}/v1/runs`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
      body: JSON.stringify({ definition, variables: { STUDENT: secrets.name }, labels: { pupil: secrets.label } }),
    });
    expect(answer.status).toBe(201);
    return ((await answer.json()) as { id: string }).id;
  }

  async function ended(url: string, id: string) {
    const client = createClient({ url, token });
    return await until(async () => {
      const run = await client.getRun({ params: { id } });
      return run.endedAt === null ? null : run;
    });
  }

  it("a run with a called workflow is one trace, from the request to the last command, with the right parents", async () => {
    // Two workers on one backend. Which of them did what does not depend on the queue.
    const { api, url } = await serve(
      backend === backends[0] || inject("thorough") ? undefined : ["worker", "supervisor"],
    );
    token = (await api.says("stderr", /first key \(shown only this once\): (\S+)/))[1] ?? "";
    const client = createClient({ url, token });
    ({ hash: definition } = await client.saveDefinition({ body: { root: "main.wf.md", files } }));
    const caller = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };
    const id = await startRun(url, { traceparent: `00-${caller.traceId}-${caller.spanId}-01` });
    expect(await ended(url, id)).toMatchObject({ status: "success" });
    const { items: children } = await client.listChildRuns({ params: { id } });
    const child = children[0]?.id ?? "";
    const traceId = id.replaceAll("-", "");
    const inTrace = () => collector.spans().filter((span) => span.traceId === traceId);
    await until(async () =>
      inTrace().filter(({ name }) => name === "run").length === 2 && inTrace().some(({ name }) => name === "startRun")
        ? true
        : null,
    );
    // The counts of the queue are left out of an export if the queue answers too late.
    await until(() => figures.every((name) => collector.points().some((point) => point.name === name)));
    await stopAll();

    const spans = inTrace();
    const of = (name: string, where: Record<string, unknown> = {}): ReceivedSpan[] =>
      spans.filter(
        (span) => span.name === name && Object.entries(where).every(([key, value]) => span.attributes[key] === value),
      );
    const only = (name: string, where: Record<string, unknown> = {}): ReceivedSpan => {
      const found = of(name, where);
      expect(found, `${name} ${JSON.stringify(where)}`).toHaveLength(1);
      return found[0] as ReceivedSpan;
    };
    const root = only("run", { "markmill.run.id": id });
    expect(root).toMatchObject({ parentId: null, attributes: { "markmill.run.status": "success" } });
    expect(only("startRun")).toMatchObject({ parentId: root.spanId, kind: 2, links: [caller] });
    expect(only("startRun").resource).toMatchObject({ "service.name": "markmill", "service.instance.role": "api" });
    const inRoot = { "markmill.run.id": id };
    for (const [name, node] of [
      ["set", "SET_A"],
      ["prompt", "PROMPT_B"],
      ["execute", "EXECUTE_C"],
      ["call", "CALL_D"],
      ["set", "SET_E"],
    ] as const) {
      const span = only(name, { ...inRoot, "markmill.activity.node": node });
      expect(span).toMatchObject({ parentId: root.spanId, attributes: { "markmill.activity.outcome": "succeed" } });
      expect(span.resource).toMatchObject({ "service.instance.role": "worker", "deployment.environment.name": "test" });
    }
    const prompt = only("prompt", { "markmill.activity.node": "PROMPT_B" });
    const [chat] = of("chat scripted", inRoot);
    expect(chat).toMatchObject({
      parentId: prompt.spanId,
      kind: 3,
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "scripted",
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 30,
      },
    });
    const command = only("command");
    expect(command.parentId).toBe(only("execute").spanId);
    expect(command.attributes).toMatchObject({ "process.exit.code": 0, "markmill.command.language": "shell" });
    const call = only("call");
    const called = only("run", { "markmill.run.id": child });
    expect(called.parentId).toBe(call.spanId);
    // Each process continues the database's clock from its last answer, so it is late by the time of that answer.
    const behind = 60_000_000_000n;
    expect(call.from).toBeLessThanOrEqual(called.from + behind);
    expect(called.to).toBeLessThanOrEqual(call.to + behind);
    expect(only("set", { "markmill.activity.node": "SET_F" }).parentId).toBe(called.spanId);
    // The endpoint failed once. Another attempt is another span, with a link to the first.
    const tries = of("prompt", { "markmill.run.id": child }).sort((a, b) => (a.from < b.from ? -1 : 1));
    expect(tries.map(({ attributes }) => attributes["markmill.activity.outcome"])).toEqual(["fail", "succeed"]);
    expect(tries.map(({ parentId }) => parentId)).toEqual([called.spanId, called.spanId]);
    expect(tries[1]?.links).toEqual([{ traceId, spanId: tries[0]?.spanId }]);
    expect(tries[0]).toMatchObject({ status: 2, attributes: { "error.type": expect.stringMatching(/^MODEL_/) } });
    const asked = of("chat scripted", { "markmill.run.id": child }).sort((a, b) => (a.from < b.from ? -1 : 1));
    expect(asked.map(({ parentId }) => parentId)).toEqual(tries.map(({ spanId }) => spanId));

    // BullMQ's own spans are those of the jobs, with the work of each job below.
    const jobs = spans.filter(({ kind }) => kind === 5);
    expect(new Set(jobs.map(({ name }) => name))).toEqual(
      new Set(["process control", "process prompt", "process execute"]),
    );
    expect(spans.filter(({ kind }) => kind === 4).length).toBeGreaterThan(0);
    const known = new Set(spans.map(({ spanId }) => spanId));
    expect(known.size).toBe(spans.length);
    for (const { name, parentId } of spans) if (parentId !== null) expect(known, name).toContain(parentId);
    expect(spans.filter(({ parentId }) => parentId === null)).toEqual([root]);
    // Work of the queue without a job starts no trace.
    expect(new Set(collector.spans().map((span) => span.traceId))).toEqual(new Set([traceId]));
    expect(spans.every(({ from, to, events }) => from > 0n && to >= from && events === 0)).toBe(true);
  });

  it("OTLP has the figures of runs, activities, models and BullMQ, and those of /metrics", async () => {
    const total = (name: string, where: Record<string, unknown> = {}) =>
      collector
        .points()
        .filter((point) => point.name === name)
        .filter(({ attributes }) => Object.entries(where).every(([key, value]) => attributes[key] === value))
        .reduce((sum, { value, count }) => sum + (count ?? value), 0);
    expect(total("markmill.runs.ended", { status: "success" })).toBe(2);
    expect(total("markmill.activities", { kind: "prompt", outcome: "succeed" })).toBe(2);
    expect(total("markmill.activities", { kind: "prompt", outcome: "fail" })).toBe(1);
    expect(total("gen_ai.client.operation.duration")).toBe(3);
    expect(total("gen_ai.client.token.usage", { "gen_ai.token.type": "input" })).toBe(2);
    expect(total("markmill.command.duration")).toBe(1);
    expect(total("bullmq.jobs.completed")).toBeGreaterThan(0);
    expect(total("markmill.queue.operation.duration", { operation: "process" })).toBeGreaterThan(0);
    const names = new Set(collector.points().map(({ name }) => name));
    for (const name of figures) expect(names).toContain(name);
  });

  it("telemetry contains no key and no text of people, models or commands", () => {
    const sent = collector.raw();
    expect(sent).toContain("PROMPT_B");
    for (const [what, text] of Object.entries({ ...secrets, token })) expect(sent.includes(text), what).toBe(false);
    for (const text of ["main.wf.md", "child.wf.md", "echo ", place.env.DATABASE_URL ?? "?"]) {
      expect(sent.includes(text), text).toBe(false);
    }
    expect(collector.requests().every(({ headers }) => headers["x-collector-key"] === secrets.collectorKey)).toBe(true);
  });

  // The queue and the role have no part in these: the sender gets the same data on both backends.
  const modes = ["hang", "refuse", "is not there"] as const;
  type Trouble = readonly (readonly [role: string, mode: (typeof modes)[number]])[];
  const troubles: readonly (readonly [string, Trouble])[] = inject("thorough")
    ? modes.map((mode) => [mode, ["api", "worker", "supervisor"].map((role) => [role, mode] as const)] as const)
    : [
        [
          "hang, refuse or be away, for each process another",
          [
            ["api", "hang"],
            ["worker", "refuse"],
            ["supervisor", "is not there"],
          ],
        ],
      ];

  it.runIf(backend === "postgres").each(troubles)(
    "collectors that %s do not stop runs, and a process ends in time",
    async (_, trouble) => {
      const [hanging, refusing] = [await startOtlpReceiver(), await startOtlpReceiver()];
      hanging.mode = "hang";
      refusing.mode = "refuse";
      const address = { hang: hanging.url, refuse: refusing.url, "is not there": "http://127.0.0.1:9" };
      try {
        const [[first, its], ...rest] = trouble as [Trouble[number], ...Trouble];
        const api = await start(first, { OTEL_EXPORTER_OTLP_ENDPOINT: address[its] });
        await Promise.all(rest.map(([role, mode]) => start(role, { OTEL_EXPORTER_OTLP_ENDPOINT: address[mode] })));
        const url = urlOf(api);
        const ids = await Promise.all(Array.from({ length: 6 }, () => startRun(url)));
        for (const id of ids) expect(await ended(url, id)).toMatchObject({ status: "success" });
        for (const [mode, { requests }] of [
          ["hang", hanging],
          ["refuse", refusing],
        ] as const) {
          if (trouble.some(([, used]) => used === mode)) await expect.poll(() => requests().length).toBeGreaterThan(0);
        }
        const processes = started;
        // Without an end of its own the process would be killed, and have no exit code.
        await stopAll();
        for (const { ended: over } of processes) expect((await over).code).toBe(0);
      } finally {
        await hanging.close();
        await refusing.close();
      }
    },
  );

  // The id of a run decides whether it is recorded, on every queue.
  it.runIf(backend === backends[0] || inject("thorough"))(
    "a sample of the runs is recorded: all spans of a run or none, in every process",
    async () => {
      place = { ...place, env: { ...place.env, OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.5" } };
      // The API and a worker decide separately.
      const { url } = await serve(inject("thorough") ? undefined : ["worker"]);
      const body = { root: "main.wf.md", files: inject("thorough") ? files : inlineFiles };
      ({ hash: definition } = await createClient({ url, token }).saveDefinition({ body }));
      // With this number, all or none are recorded once in thirty thousand tests.
      const ids = await Promise.all(Array.from({ length: 16 }, () => startRun(url)));
      for (const id of ids) await ended(url, id);
      await stopAll();
      const traces = new Set(ids.map((id) => id.replaceAll("-", "")));
      const perTrace = Map.groupBy(
        collector.spans().filter(({ traceId }) => traces.has(traceId)),
        (span) => span.traceId,
      );
      expect(perTrace.size).toBeGreaterThan(0);
      expect(perTrace.size).toBeLessThan(ids.length);
      for (const spans of perTrace.values()) {
        expect(spans.filter(({ name }) => name === "run")).toHaveLength(2);
        expect(spans.filter(({ name }) => name === "startRun")).toHaveLength(1);
        expect(spans.filter(({ name }) => name === "set")).toHaveLength(3);
      }
    },
  );
});
