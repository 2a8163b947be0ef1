/** Opens the stack for a command: the server at MARKMILL_URL, or else the one of this directory. */
import type { Config } from "@markmill/config";
import type { Client } from "@markmill/contract";
import type { Queues } from "@markmill/queue";
import type { CommandStanding, Store, WorkerRow } from "@markmill/store";
import { openStack, type Stack, type StackOptions } from "./open-stack.ts";
import { everyPage } from "./remote-values.ts";
import { type StackLog, silent } from "./stack-log.ts";
import { WrongInput } from "./wrong-input.ts";

export async function openStackOrServer(options: StackOptions): Promise<Stack> {
  const { server } = options.config;
  return server === null ? await openStack(options) : await serverStack(server, options.log ?? silent);
}

/** A client of a server starts no worker and enqueues no jobs: the server does both. */
async function serverStack({ url, token }: NonNullable<Config["server"]>, log: StackLog): Promise<Stack> {
  const { createClient } = await import("@markmill/contract");
  const { remoteStore } = await import("./remote-store.ts");
  if (token === null) throw new WrongInput("MARKMILL_URL is set, but its key MARKMILL_TOKEN is not set.");
  const now = () => Date.now();
  const client = createClient({ url, token });

  async function workers(): Promise<WorkerRow[]> {
    const found = await workersOf(client, now());
    if (found.length === 0) log.warn({}, `the server at ${url} has no running worker; the run waits for one`);
    return found;
  }
  /** A server of an older version does not list components, so no problem is known. */
  async function commandStandings(): Promise<CommandStanding[]> {
    const { components = {} } = await client.getReady();
    const told = components.sandbox;
    if (told === undefined || told.ok) return [{ can: "execute" }];
    const { code = "", means = "", fix = "" } = told;
    if (code === "WORKERS_NONE") return [];
    if (code === "SANDBOX_TESTING") return [{ can: "not yet" }];
    return [{ can: "nothing", code, means, fix, message: means }];
  }
  // Commands use only these parts of a store and its queues. Workers need the rest.
  const store = { clock: { now }, workers, commandStandings } as unknown as Store;
  const queues = { enqueue: async () => [], close: async () => undefined } as unknown as Queues;
  return {
    store,
    queues,
    tenant: remoteStore(client, log),
    // There is no database to listen to, so a follower polls.
    databaseUrl: "",
    embedded: null,
    telemetry: null,
    work: () => Promise.reject(new WrongInput("MARKMILL_URL is set, so the server does the work, not this process.")),
    components: [],
    log,
    close: async () => undefined,
  };
}

/** The workers that are alive by the server's clock. A client without the right to list them only learns whether there is one. */
async function workersOf(client: Client, now: number): Promise<WorkerRow[]> {
  const { ApiProblem } = await import("@markmill/contract");
  const row = { host: "", info: {}, startedAt: new Date(now), heartbeatAt: new Date(now), alive: true };
  try {
    const items = await everyPage((query) => client.listWorkers({ query }));
    return items.filter(({ alive }) => alive).map(({ id, host }) => ({ ...row, id, host }));
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.code !== "FORBIDDEN") throw error;
    const { components = {} } = await client.getReady();
    return components.workers?.ok === false ? [] : [{ ...row, id: "some" }];
  }
}
