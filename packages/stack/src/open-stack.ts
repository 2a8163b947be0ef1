/**
 * Opens all parts that a command needs, in one process: the store (embedded Postgres unless DATABASE_URL is set), the queue, and, if the
 * command needs them, a worker and a supervisor. Closing happens in the reverse order.
 */
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { mayPass, type Patience, patiently } from "@markmill/base";
import type { Config } from "@markmill/config";
import type { EmbeddedPostgres } from "@markmill/embedded-postgres";
import type { Queues } from "@markmill/queue";
import type { WarmPoolWish } from "@markmill/sandbox";
import type { Store, TenantStore } from "@markmill/store";
import type { Telemetry } from "@markmill/telemetry";
import type { ToolFunction } from "@markmill/tools";
import { closeAll } from "./close-all.ts";
import type { HealthComponent } from "./health.ts";
import {
  databaseHealth,
  queueHealth,
  supervisorHealth,
  workerHealth,
  workerSandboxHealth,
} from "./health-components.ts";
import { openModels } from "./open-models.ts";
import { openLastingSandbox, openProvenSandbox, openSandboxIfAny } from "./open-sandbox.ts";
import { openTelemetryIfAny } from "./open-telemetry.ts";
import { claimProjectHome, requireDatabase } from "./project-home.ts";
import { routeSandbox } from "./route-sandbox.ts";
import { readRunOptions } from "./run-options.ts";
import { webhookSender } from "./send-webhook.ts";
import { serveOnly } from "./serve-only.ts";
import { type StackLog, silent } from "./stack-log.ts";
import { createTroubleLog } from "./trouble-log.ts";
import { watchCommits } from "./watch-commits.ts";

export interface StackOptions {
  readonly config: Config;
  readonly cwd: string;
  readonly log?: StackLog;
  /** existing: if the embedded database is missing, fail with PROJECT_NOT_FOUND. Absent: create it. */
  readonly database?: "existing";
  /** false: the schema is not migrated. */
  readonly migrate?: boolean;
  /** `when there`: the process starts and runs even without the queue. */
  readonly queue?: "needed" | "when there";
  /** The role of this process in monitoring. Default: a command. */
  readonly role?: string;
}

interface WorkOptions {
  readonly worker: boolean;
  readonly supervisor: boolean;
  /** A root run with all the runs it calls, or all runs of a batch. null: every run. */
  readonly only: string | { readonly batch: string } | null;
  /** Runs use the sandbox and the script that they were started with (run-options.ts), not those of this process. */
  readonly obeys: boolean;
  readonly onStalled?: () => void;
  /** The functions behind tools of the kind `function`, by the names that workflows use. Absent: none. */
  readonly functions?: Readonly<Record<string, ToolFunction>>;
}

export interface Stack {
  readonly store: Store;
  /** The data of the default tenant, which owns everything in an embedded stack. */
  readonly tenant: TenantStore;
  readonly queues: Queues;
  readonly databaseUrl: string;
  readonly embedded: EmbeddedPostgres | null;
  /** null: not configured. */
  readonly telemetry: Telemetry | null;
  /** Starts a worker and a supervisor in this process. `close` ends them. */
  work(options: WorkOptions): Promise<void>;
  /** The components for /health/ready. Starting the worker adds more. */
  readonly components: readonly HealthComponent[];
  /** Limits how often the same trouble is logged (trouble-log.ts). */
  readonly log: StackLog;
  close(): Promise<void>;
}

/** Pauses between attempts to reach a server that may still be starting. */
const pausesMs = [250, 1_000, 2_000];
/** If a server accepts a connection and sends nothing, the first attempt already uses up this time. */
const mostPatienceMs = 6_000;
const startingServer: Patience = (error, { tries, ms }) =>
  mayPass(error) && ms <= mostPatienceMs ? (pausesMs[tries - 1] ?? null) : null;

export async function openStack(options: StackOptions): Promise<Stack> {
  const { config, cwd } = options;
  const { defaultTenant, nameProcess, openStore } = await import("@markmill/store");
  const { openQueues } = await import("@markmill/queue");
  const { queuesWhenThere } = await import("./queues-when-there.ts");
  const closing: (() => Promise<unknown>)[] = [];
  let closed = false;
  const troubles = createTroubleLog(untilClosed(options.log ?? silent, () => closed));
  const log: StackLog = troubles;
  const close = async () => {
    closed = true;
    troubles.close();
    await closeAll(closing.splice(0).reverse());
  };
  try {
    const telemetry = await openTelemetryIfAny(config, options.role ?? "command", log);
    if (telemetry !== null) closing.push(() => telemetry.close());
    if (config.database.kind === "embedded") {
      if (options.database === "existing") requireDatabase(config, cwd);
      claimProjectHome(config, cwd, log);
    }
    const embedded =
      config.database.kind === "embedded"
        ? await (await import("@markmill/embedded-postgres")).startEmbeddedPostgres({
            directory: join(resolve(cwd, config.home), "postgres"),
            log: (message) => log.info({}, message),
          })
        : null;
    if (embedded !== null) closing.push(() => embedded.stop());
    const databaseUrl = config.database.kind === "external" ? config.database.url : (embedded?.url ?? "");
    const store = await patiently(
      () =>
        openStore({
          url: databaseUrl,
          connections: config.pgPoolSize,
          worker: nameProcess(hostname()),
          leaseMs: config.worker.lockDurationMs,
          ceilings: config.ceilings,
          runsPerTenant: config.runsPerTenant,
          blobs: config.blobs,
          onError: (error) => log.warn({ err: error }, "the database"),
          ...(telemetry === null ? {} : { onCommitted: watchCommits(telemetry) }),
          ...(options.migrate === undefined ? {} : { migrate: options.migrate }),
        }),
      startingServer,
    );
    closing.push(() => store.close());
    const openThem = () =>
      openQueues({
        backend:
          config.queue.backend === "redis"
            ? { kind: "redis", url: config.queue.url }
            : { kind: "postgres", url: databaseUrl },
        onError: (error) => log.warn({ err: error }, "the queue"),
        ...(telemetry === null ? {} : { telemetry: telemetry.queue }),
      });
    const queues =
      options.queue === "when there"
        ? await queuesWhenThere(config.queue.backend, openThem, (error) =>
            log.warn({ err: error }, "the queue is unreachable"),
          )
        : await patiently(openThem, startingServer);
    closing.push(() => queues.close());
    const components = [databaseHealth(store), queueHealth(queues, options.queue !== "when there")];
    return {
      store,
      tenant: store.as(defaultTenant),
      queues,
      databaseUrl,
      embedded,
      telemetry,
      async work(wanted) {
        if (wanted.worker) {
          // Sandbox sessions and the proof of the sandbox are stored in the home.
          claimProjectHome(config, cwd, log);
          const started = await startWorking({ config, cwd, log, store, queues, databaseUrl, telemetry }, wanted);
          closing.push(started.close);
          components.push(workerHealth(started.worker), workerSandboxHealth(started.worker));
        }
        if (wanted.supervisor) {
          const { startSupervisor } = await import("@markmill/worker/supervisor");
          const { retentionDays, batchRuns, runsPerTenant } = config;
          const webhooks = webhookSender(config.tools.allow);
          closing.push(webhooks.close);
          const started = startSupervisor({
            store: store.machine,
            queues,
            log,
            retentionDays,
            sendWebhook: webhooks.send,
            batchRuns: batchRuns.most,
            batchRunsPerTenant: batchRuns.mostOfTenant,
            runsPerTenant,
          });
          closing.push(() => started.stop());
          components.push(supervisorHealth(started));
        }
      },
      components,
      log,
      close,
    };
  } catch (error) {
    // Report the reason why opening failed, not a failure of closing.
    await close().catch(() => undefined);
    throw error;
  }
}

interface Ground extends Required<Pick<StackOptions, "config" | "cwd" | "log">> {
  readonly store: Store;
  readonly queues: Queues;
  readonly databaseUrl: string;
  readonly telemetry: Telemetry | null;
}

async function startWorking(ground: Ground, { only, obeys, onStalled, functions }: WorkOptions) {
  const { config, cwd, log, store, queues } = ground;
  const { openWorker } = await import("@markmill/worker");
  const { getRun } = await import("@markmill/store/machine");
  const { machine } = store;
  const models = await openModels(config, cwd, machine);
  const own =
    only === null
      ? await openLastingSandbox(config, cwd, log, await warmPool(ground))
      : await openSandboxIfAny(config, cwd, log);
  const sandbox =
    own === null || !obeys
      ? own
      : routeSandbox({
          own: { choice: config.sandbox.kind, sandbox: own },
          choiceOf: async (rootId) => {
            const run = await getRun(machine.database, rootId);
            return run === null ? null : (readRunOptions(run.options)?.sandbox ?? null);
          },
          open: (choice) => openProvenSandbox(choice, config, cwd, log),
          watched: only === null,
        });
  const worker = await openWorker({
    ...ground,
    store: machine,
    queues:
      only === null
        ? queues
        : serveOnly(queues, async (runId) => {
            const run = await getRun(machine.database, runId);
            if (run === null || typeof only === "string") return run?.rootId === only;
            const root = run.rootId === run.id ? run : await getRun(machine.database, run.rootId);
            return root?.labels.batch === only.batch;
          }),
    client: models.client,
    catalogue: models.catalogue,
    modelsFor: (run) => (obeys ? models.modelsFor(run) : null),
    sandbox,
    // A run may have been started with another sandbox than the worker's own, so its commands do not wait for the worker's.
    unsafe: obeys ? "refuse" : "abstain",
    ...(functions === undefined ? {} : { functions }),
    onStalled: onStalled ?? leave,
  });
  function leave(): void {
    log.error({}, "activities are due, but the queue delivers no jobs, even after a new connection: the worker exits");
    process.exit(1);
  }
  const close = () => closeAll([() => worker.drain(), () => models.close(), () => sandbox?.close()]);
  return { worker, close };
}

/** The sessions that a long-running worker prepares in advance. They have the default size of a workflow without its own limits. */
async function warmPool({ config, store }: Ground): Promise<WarmPoolWish | undefined> {
  if (config.sandbox.poolSize === 0) return undefined;
  const { appLabel, ceilingOf } = await import("@markmill/worker");
  const labels = { app: await appLabel(store.machine.database), worker: store.machine.worker };
  return { size: config.sandbox.poolSize, limits: ceilingOf(config), image: config.sandbox.image, labels };
}

/** Connections that break because they are being closed are not logged. */
function untilClosed(log: StackLog, closed: () => boolean): StackLog {
  return {
    info: (fields, message) => closed() || log.info(fields, message),
    warn: (fields, message) => closed() || log.warn(fields, message),
    error: (fields, message) => log.error(fields, message),
  };
}
