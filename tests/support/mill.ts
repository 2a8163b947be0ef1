// The whole mill for a test: store and queue on real services, the scripted model over loopback HTTP, a worker and a supervisor
// in this process, and workers in processes of their own to be killed.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Config, readConfig } from "@markmill/config";
import { loadDefinition } from "@markmill/definition";
import type { Limits } from "@markmill/engine";
import {
  builtInCatalogue,
  createModelClient,
  type LoggedRequest,
  parseScript,
  startScriptedModel,
} from "@markmill/llm";
import { type BackendOptions, openQueues, type Queues } from "@markmill/queue";
import { createNoneSandbox, type Sandbox } from "@markmill/sandbox";
import { appLabel, openWorker } from "@markmill/worker";
import { startSupervisor } from "@markmill/worker/supervisor";
import { askService } from "./ask-services.ts";
import { compileCache } from "./compile-cache.ts";
import { type GatedModel, startGatedModel } from "./gated-model.ts";
import { migratedDatabase, type TestDatabase } from "./postgres.ts";
import { redisAvailable, sharedRedis } from "./redis.ts";
import { createRun, type Definition, getRun, openStore, type RunDetail, type Store, StoreError } from "./store.ts";

/** plain: the queue on Postgres, and nothing that exists for speed alone: the throughput folders of store and queue are not used. */
export type Backend = "redis" | "postgres" | "plain";

/** All there are on this machine; `what` cannot be tried on Redis where it says so. */
export async function allBackends(what: string): Promise<readonly Backend[]> {
  return (await redisAvailable(`${what} on the Redis backend`))
    ? ["redis", "postgres", "plain"]
    : ["postgres", "plain"];
}

export interface MillOptions {
  readonly backend: Backend;
  /** YAML of the scripted model. */
  readonly script: string;
  /** Start a worker in this process (default true). */
  readonly worker?: boolean;
  readonly supervisor?: boolean;
  /** In place of no isolation; gets a directory for its sessions. */
  readonly sandbox?: (directory: string) => Sandbox | Promise<Sandbox>;
  /** In place of one on the run's server. */
  readonly database?: Pick<TestDatabase, "url" | "drop">;
  /** Requests go through `gate`. */
  readonly gated?: boolean;
  /** In place of the run's shared Redis. */
  readonly redisUrl?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

export interface Mill {
  readonly store: Store;
  readonly queues: Queues;
  readonly databaseUrl: string;
  /** For processes of its own. */
  readonly queueAt: { readonly backend: BackendOptions; readonly prefix: string };
  readonly sandbox: Sandbox;
  /** Requests the model has answered. */
  requests(): readonly LoggedRequest[];
  /** In front of the model; only where the options ask for it. */
  readonly gate: GatedModel | null;
  /** Creates a run of the first file and enqueues it. */
  start(files: Readonly<Record<string, string>>, request?: StartRequest): Promise<string>;
  /** Waits until the run has ended. */
  ended(runId: string, timeoutMs?: number): Promise<RunDetail>;
  run(files: Readonly<Record<string, string>>, request?: StartRequest): Promise<RunDetail>;
  /** A worker in a process of its own. */
  spawnWorker(options?: SpawnOptions): Promise<SpawnedWorker>;
  /**
   * A worker of this process beside those that were spawned, until the answer is called: it starts at a tenth of the cost of a process. With
   * sessions of its own, as another host has them, where a sandbox is given; whoever gives it closes it.
   */
  work(elsewhere?: Sandbox): Promise<() => Promise<void>>;
  /** Stops worker and supervisor of this process and starts them anew. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

interface StartRequest {
  readonly variables?: Readonly<Record<string, string>>;
  readonly caps?: Partial<Limits>;
  readonly patienceMs?: number;
  readonly environment?: Readonly<Record<string, string>>;
  readonly idempotencyKey?: string;
}

export interface SpawnOptions {
  /** Dies by SIGKILL when it gets here with an activity of this kind, for the first time or so many times. */
  readonly killAt?: { readonly point: string; readonly kind: string; readonly times?: number };
  /** Dies by SIGKILL at this point of a session's use. */
  readonly killInSession?: string;
  readonly sandbox?: "none" | "jail";
  /** A directory of sessions of its own, as another host has it. */
  readonly sessions?: string;
  /** Its event loop stands still for so long, so long after it claimed an activity of this kind. */
  readonly blockAt?: { readonly kind: string; readonly afterMs: number; readonly ms: number };
  /** Other ways to the same servers. */
  readonly databaseUrl?: string;
  readonly backend?: BackendOptions;
}

export interface SpawnedWorker {
  readonly process: ChildProcess;
  readonly exited: Promise<void>;
  kill(): Promise<void>;
}

const quiet = {
  info: () => undefined,
  warn: () => undefined,
  error: (fields: object, text: string) => console.error(text, fields),
};

export async function startMill(options: MillOptions): Promise<Mill> {
  const database = options.database ?? (await migratedDatabase());
  const plain = options.backend === "plain";
  const home = await mkdtemp(join(tmpdir(), "markmill-mill-"));
  const script = parseScript(options.script, "script.yaml");
  if (!script.ok) throw new Error(JSON.stringify(script.findings));
  const model = await startScriptedModel({ script: script.script, port: 0 });
  const gate = options.gated === true ? await startGatedModel(model.url) : null;
  const modelUrl = gate?.url ?? model.url;
  const redis =
    options.backend === "redis"
      ? { prefix: "markmill", ...(options.redisUrl ? { url: options.redisUrl } : await sharedRedis()) }
      : null;
  const config = configOf({ DEFAULT_MODEL: "scripted", ...options.environment });
  const backend =
    redis === null ? ({ kind: "postgres", url: database.url } as const) : ({ kind: "redis", url: redis.url } as const);
  const prefix = redis?.prefix ?? "markmill";
  const store = await openStore({
    url: database.url,
    worker: `test-${process.pid}`,
    leaseMs: config.worker.lockDurationMs,
    ceilings: config.ceilings,
    runsPerTenant: config.runsPerTenant,
    plain,
  });
  /** Of this mill's sessions: others have theirs on the same Docker engine. */
  const app = await appLabel(store.database);
  const queues = await openQueues({ backend, prefix, plain });
  const spawned: SpawnedWorker[] = [];

  async function work(sessions = sandbox) {
    const { timeoutMs } = config.models;
    const client = createModelClient({ baseUrl: modelUrl, apiKey: "test", catalogue: builtInCatalogue, timeoutMs });
    return await openWorker({
      config,
      store,
      databaseUrl: database.url,
      queues,
      client,
      catalogue: builtInCatalogue,
      sandbox: sessions,
      log: quiet,
      onStalled: () => console.error("a worker of this process heard nothing, and gave up"),
    });
  }
  async function serve() {
    const worker = options.worker === false ? null : await work();
    const supervisor =
      options.supervisor === false
        ? null
        : startSupervisor({ store, queues, log: quiet, retentionDays: 0, runsPerTenant: config.runsPerTenant });
    return async () => {
      await supervisor?.stop();
      await worker?.drain();
    };
  }
  const sessions = join(home, "sessions");
  const sandbox = (await options.sandbox?.(sessions)) ?? createNoneSandbox({ root: sessions, warn: () => undefined });
  let rest = await serve();

  /** The run, or undefined while it goes on: a whole run is only read when it has ended, or whoever asks has waited long enough. */
  async function look(runId: string, whole: boolean): Promise<RunDetail | null | undefined> {
    const text = "select ended_at is not null as ended from runs where id = $1";
    const ended = await store.database.calm
      .query<{ ended: boolean }>({ name: "mill-run-ended", text, values: [runId] })
      .then(
        ({ rows }) => rows[0]?.ended,
        // Asked again by the store, which knows what kind of trouble that is.
        () => undefined,
      );
    return whole || ended !== false ? await getRun(store.database, runId) : undefined;
  }

  const mill: Mill = {
    store,
    queues,
    databaseUrl: database.url,
    queueAt: { backend, prefix },
    sandbox,
    requests: () => model.requests(),
    gate,
    async start(files, request = {}) {
      const created = await createRun(store, { definition: definitionOf(files), ...request });
      await queues.enqueue(created.jobs);
      return created.runId;
    },
    async ended(runId, timeoutMs = 180_000) {
      const until = performance.now() + timeoutMs;
      // Often at first, then seldom: many tests wait at once, and each look costs a query.
      for (let pauseMs = 20; ; pauseMs = Math.min(1.2 * pauseMs, 200)) {
        const late = performance.now() > until;
        // A connection that a test has cut is no news here.
        const run = await look(runId, late).catch((error: unknown) => {
          if (error instanceof StoreError && error.transient) return undefined;
          throw error;
        });
        if (run === null) throw new Error(`no run ${runId}`);
        if (run !== undefined && run.endedAt !== null) return run;
        if (run !== undefined && late)
          throw new Error(`run ${runId} is still ${run.status} (${JSON.stringify(run.hits)})`);
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    },
    async run(files, request) {
      return mill.ended(await mill.start(files, request));
    },
    async spawnWorker(more = {}) {
      const settings = {
        databaseUrl: database.url,
        backend,
        prefix,
        modelUrl,
        sessions: join(home, "sessions"),
        environment: { DEFAULT_MODEL: "scripted", ...options.environment },
        ...more,
      };
      const child = spawn(process.execPath, [(await askService("programs"))["mill-worker"], JSON.stringify(settings)], {
        stdio: ["ignore", "pipe", "inherit", "ipc"],
        env: { ...process.env, ...compileCache },
      });
      const exited = once(child, "exit").then(() => undefined);
      const worker: SpawnedWorker = {
        process: child,
        exited,
        async kill() {
          child.kill("SIGKILL");
          await exited;
        },
      };
      spawned.push(worker);
      await Promise.race([
        once(child, "message"),
        exited.then(() => Promise.reject(new Error("the worker did not start"))),
      ]);
      return worker;
    },
    async work(elsewhere) {
      const worker = await work(elsewhere);
      return async () => void (await worker.drain());
    },
    async restart() {
      await rest();
      rest = await serve();
    },
    async close() {
      await rest();
      for (const worker of spawned)
        if (worker.process.exitCode === null && worker.process.signalCode === null) await worker.kill();
      await queues.close();
      await store.close();
      for (const { id, labels } of await sandbox.list()) if (labels.app === app) await sandbox.remove(id);
      await sandbox.close();
      await gate?.close();
      await model.close();
      await rm(home, { recursive: true, force: true });
      await database.drop();
    },
  };
  return mill;
}

function configOf(environment: Readonly<Record<string, string>>): Config {
  const reading = readConfig(environment);
  if (!reading.ok) throw new Error(JSON.stringify(reading.findings));
  return reading.config;
}

/** The first file is the workflow, the others are what it calls, includes and reads. */
export function definitionOf(files: Readonly<Record<string, string>>): Definition {
  const [root = ""] = Object.keys(files);
  const read = (path: string) => (files[path] === undefined ? undefined : new TextEncoder().encode(files[path]));
  const { definition, findings } = loadDefinition({ read, list: () => Object.keys(files) }, root);
  if (definition === null) throw new Error(findings.map((finding) => `${finding.code}: ${finding.message}`).join("\n"));
  return { ...definition, name: definition.programs[root]?.name ?? root, files };
}

/** A workflow from its chart and prompts. */
export function workflow(chart: string, prompts: Readonly<Record<string, string>> = {}, head = ""): string {
  const sections = Object.entries(prompts).map(([id, text]) => `## ${id}\n\n${text}\n`);
  return `${head}# Test\n\n# Workflow\n\n\`\`\`mermaid\nflowchart TD\n${chart}\n\`\`\`\n\n# Prompts\n\n${sections.join("\n")}`;
}
