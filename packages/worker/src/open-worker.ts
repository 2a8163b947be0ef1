/** Builds a whole worker from its configuration: ports, performer, sessions, heartbeat, session clean-up. */
import { hostname } from "node:os";
import type { Config } from "@markmill/config";
import type { WorkFacts } from "@markmill/grading";
import type { ModelCatalogue, ModelClient } from "@markmill/llm";
import type { Queues } from "@markmill/queue";
import { defaultLimits, type Limits, type ProvenSandbox, type Sandbox, type SessionFiles } from "@markmill/sandbox";
import {
  beat,
  type CommandStanding,
  callExcess,
  createReadConversation,
  type Database,
  insertPassages,
  installationId,
  type LoadedRun,
  leave,
  loadSubmission,
  type Machine,
  nearestPassages,
  startCall,
  workerBeatMs,
} from "@markmill/store/machine";
import type { Telemetry } from "@markmill/telemetry";
import { createToolBox, type ToolFunction } from "@markmill/tools";
import { awaitStore } from "./await-store.ts";
import type { Health } from "./decide/hearing.ts";
import { finishRequests } from "./finish-requests.ts";
import { createJudgeKeeper } from "./judge-session.ts";
import type { Log } from "./log.ts";
import { budgetOf, ledgerOf } from "./model-ports.ts";
import { createModelSlots, inHand } from "./model-slots.ts";
import { rateOf } from "./pause-endpoint.ts";
import { createPerformer } from "./perform.ts";
import { reapSessions } from "./reap-sessions.ts";
import { leaveAsItIs, scrubberOf, scrubRequests } from "./scrub-requests.ts";
import { createSessionKeeper, type SessionKeeperParts } from "./sessions.ts";
import { toolPortsOf } from "./tool-ports.ts";
import { watchCommands } from "./watch-commands.ts";
import { startWorker, type WorkerParts } from "./worker.ts";

export interface OpenWorkerParts {
  readonly config: Config;
  readonly store: Machine;
  readonly databaseUrl: string;
  readonly queues: Queues;
  readonly client: ModelClient;
  readonly catalogue: ModelCatalogue;
  /** A run's own endpoint and default model. Absent or null: `client` and the configured default. */
  readonly modelsFor?: (run: LoadedRun) => { readonly client: ModelClient; readonly defaultModel: string } | null;
  /** null: EXECUTE is refused with a clear failure. */
  readonly sandbox: Sandbox | ProvenSandbox | null;
  /** If the sandbox failed its self-test: leave EXECUTE to other workers (abstain), or fail it (refuse). */
  readonly unsafe?: "abstain" | "refuse";
  /** The implementations of tools of the kind function, by name. Absent: there are none. */
  readonly functions?: Readonly<Record<string, ToolFunction>>;
  readonly log: Log;
  /** Absent: no telemetry. */
  readonly telemetry?: Telemetry | null;
  readonly onStalled: () => void;
  readonly failPoint?: WorkerParts["failPoint"];
  readonly sessionFailPoint?: SessionKeeperParts["failPoint"];
}

export interface OpenWorker {
  /** `beat`: why the last heartbeat could not be written. null: it was written. */
  health(): Health & { readonly beat: unknown };
  /** Whether the worker can run commands now, and why not. */
  commands(): CommandStanding;
  /** Accepts no new jobs, waits for its activities, and releases the rest. */
  drain(): Promise<void>;
}

/** Larger than the window of any model. A worker holds many conversations, so the limit is needed. */
const mostConversationBytes = 32 * 1024 * 1024;
const reapMs = 30_000;

export async function openWorker(parts: OpenWorkerParts): Promise<OpenWorker> {
  const { config, store, queues, sandbox, log } = parts;
  const { database } = store;
  const host = hostname();
  const app = await appLabel(database);
  const images = sandbox?.kind === "docker" ? config.sandbox.images : [];
  const sessions =
    sandbox === null
      ? null
      : createSessionKeeper({
          database,
          sandbox,
          app,
          host,
          worker: store.worker,
          log,
          ceiling: ceilingOf(config),
          checkpointBytes: config.sandbox.ceilings.checkpointMb * 1024 * 1024,
          look: {
            maxEntries: config.sandbox.ceilings.checkpointFiles,
            maxMs: config.sandbox.ceilings.checkpointSeconds * 1000,
          },
          images,
          ...(parts.sessionFailPoint === undefined ? {} : { failPoint: parts.sessionFailPoint }),
        });
  const { pauseMaxMs } = config.models;
  const { resultBytes: maxBytes, ...toolSettings } = config.tools;
  const box = createToolBox({ ...toolSettings, maxBytes }, parts.functions);
  const readConversation = createReadConversation(database, mostConversationBytes);
  const slots = createModelSlots(config.worker.concurrency.prompt, (prompts) => worker.holdPrompts(prompts));
  const scrubOf = async (run: LoadedRun) => {
    const facts = await awaitStore(() => workFactsOf(store, run));
    return facts === null ? leaveAsItIs : scrubberOf(facts, run.program);
  };
  const performer = createPerformer({
    modelPorts: async (run, activity) => {
      const facts = await awaitStore(() => workFactsOf(store, run));
      const scrub = facts === null ? leaveAsItIs : scrubberOf(facts, run.program);
      const asked = parts.modelsFor?.(run) ?? { client: parts.client, defaultModel: config.models.defaultModel };
      const client = finishRequests(asked.client);
      return {
        ...asked,
        client: facts === null ? client : scrubRequests(client, scrub),
        unscrubbed: client,
        consent: facts?.consent ?? "any",
        language: facts?.language ?? null,
        regrade: facts?.regrade ?? null,
        scrub,
        catalogue: parts.catalogue,
        ledger: ledgerOf(store, run, activity),
        budget: budgetOf(store, run, activity),
        rate: rateOf(database, { tenant: run.tenant, endpoint: asked.client.endpoint }, pauseMaxMs),
        pauseMaxMs,
        slot: slots.take,
        onUnrecorded: (error) => log.warn({ err: error, run: run.id }, "a reply waits to be stored"),
      };
    },
    passages: (activity) => ({
      insert: (scope, passages) => awaitStore(() => insertPassages(database, scope, activity, passages)),
      nearest: (scope, vector, top) => awaitStore(() => nearestPassages(database, scope, vector, top)),
    }),
    async toolPorts(run, activity, known) {
      const scrub = known ?? (await scrubOf(run));
      return toolPortsOf(database, box, run, activity, scrub, parts.failPoint);
    },
    conversation: async (thread) => {
      const messages = await awaitStore(() => readConversation(thread));
      return messages.map(({ role, text }) => ({ role, content: text }));
    },
    sessions,
    judges:
      sandbox === null
        ? null
        : createJudgeKeeper({ sandbox, app, worker: store.worker, ceiling: ceilingOf(config), images }),
    submission: (rootId) => submissionFiles(store, rootId),
    fileCeilingBytes: config.sandbox.ceilings.fileKb * 1024,
    async startCall(run, activity, job) {
      const excess = await callExcess(store, run, activity);
      if (excess !== null) return excess;
      const started = await startCall(store, run, activity, job);
      if (started.kind === "refused") return started.failure;
      await queues.enqueue(started.jobs);
      return null;
    },
  });
  const { control, execute } = config.worker.concurrency;
  const facts = { pid: process.pid, sandbox: sandbox?.kind ?? null, queue: queues.kind };
  const slotsOfAll = control + slots.count + execute;
  let unbeaten: unknown = null;
  const heart = () => {
    const info = { ...facts, slots: slotsOfAll, commands: { ...commands.standing() } };
    return beat(database, { id: store.worker, host, info, keepsMs: config.models.timeoutMs }).then(
      () => {
        unbeaten = null;
      },
      (error: unknown) => {
        unbeaten = error;
        log.warn({ err: error }, "no heartbeat");
      },
    );
  };
  const commands = watchCommands({ sandbox, unsafe: parts.unsafe ?? "abstain", log, onChange: () => void heart() });
  const worker = startWorker({
    store,
    databaseUrl: parts.databaseUrl,
    queues,
    performer,
    concurrency: { ...config.worker.concurrency, prompt: inHand(slots.count, Number.POSITIVE_INFINITY) },
    executes: commands.takes,
    lockDurationMs: config.worker.lockDurationMs,
    stalledIntervalMs: config.worker.stalledIntervalMs,
    drainTimeoutMs: config.worker.drainTimeoutMs,
    log,
    telemetry: parts.telemetry ?? null,
    onRootEnded: async (rootId) => sessions?.end(rootId),
    onStalled: parts.onStalled,
    ...(parts.failPoint === undefined ? {} : { failPoint: parts.failPoint }),
  });

  // A worker that waits for its queue gets no error from it, so it must ask.
  const askQueue = () =>
    queues.probe().catch((error: unknown) => log.warn({ err: error }, "the queue takes no jobs at the moment"));
  await heart();
  const beating = setInterval(() => {
    void heart();
    void askQueue();
  }, workerBeatMs);
  const reap = async () => {
    if (sandbox === null) return;
    const { removed } = await reapSessions(database, sandbox, { app, host }, log);
    if (removed.length > 0) log.info({ removed }, "removed sessions of ended runs");
  };
  const reapQuietly = () => reap().catch((error: unknown) => log.warn({ err: error }, "clean-up of sessions failed"));
  void reapQuietly();
  const reaping = setInterval(() => void reapQuietly(), reapMs);

  return {
    health: () => ({ ...worker.health(), beat: unbeaten }),
    commands: commands.standing,
    async drain() {
      clearInterval(reaping);
      commands.stop();
      await worker.drain(config.worker.drainTimeoutMs);
      clearInterval(beating);
      await box.close();
      await leave(database, store.worker).catch(() => undefined);
    },
  };
}

/** Labels the sessions of this installation on an engine that others may share. */
export async function appLabel(database: Database): Promise<string> {
  return `markmill-${await installationId(database)}`;
}

/** The limits of a session: the maximum, and the value if a workflow sets none. */
export function ceilingOf({ sandbox }: Config): Limits {
  const { memoryMb, cpus, pids, diskMb, wallMs } = sandbox.ceilings;
  const mebibyte = 1024 * 1024;
  return { ...defaultLimits, memoryBytes: memoryMb * mebibyte, cpus, pids, diskBytes: diskMb * mebibyte, wallMs };
}

/** null: the run belongs to no class. The options show this, so that other runs need no query. */
async function workFactsOf({ workFacts }: Machine, { rootId, options }: LoadedRun): Promise<WorkFacts | null> {
  const named = typeof options === "object" && options !== null && "grading" in options;
  return named ? await workFacts(rootId) : null;
}

/** The submission of a run tree: a tar in the blobs, or no files. */
async function submissionFiles(store: Machine, rootId: string): Promise<SessionFiles> {
  const bytes = await awaitStore(() => loadSubmission(store, rootId));
  return bytes === null ? { kind: "list", files: [] } : { kind: "tar", bytes };
}
