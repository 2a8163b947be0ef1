/** The stack a command is about: the server at MARKMILL_URL, else the one of this directory. */
import type { Config } from "@markmill/config";
import type { Queues } from "@markmill/queue";
import type { Store } from "@markmill/store";
import { openStack, type Stack, type StackOptions } from "./open-stack.ts";
import { type StackLog, silent } from "./stack-log.ts";
import { WrongInput } from "./wrong-input.ts";

export async function openStackOrServer(options: StackOptions): Promise<Stack> {
  const { server } = options.config;
  return server === null ? await openStack(options) : await serverStack(server, options.log ?? silent);
}

/** Whoever asks a server works for nothing and rings nothing: the server's own do. */
async function serverStack({ url, token }: NonNullable<Config["server"]>, log: StackLog): Promise<Stack> {
  const { createClient } = await import("@markmill/contract");
  const { remoteStore } = await import("./remote-store.ts");
  if (token === null) throw new WrongInput("MARKMILL_URL is set, and MARKMILL_TOKEN, the key for it, is not.");
  const now = () => Date.now();
  const someone = () => ({
    id: "server",
    host: url,
    info: {},
    startedAt: new Date(now()),
    heartbeatAt: new Date(now()),
  });
  // Of a store and its queues commands use these; the rest is for those who work.
  const store = { clock: { now }, workers: async () => [someone()] } as unknown as Store;
  const queues = { ring: async () => [], close: async () => undefined } as unknown as Queues;
  return {
    store,
    queues,
    tenant: remoteStore(createClient({ url, token }), log),
    // Nothing to listen at: a follower looks again after a while.
    databaseUrl: "",
    embedded: null,
    work: () => Promise.reject(new WrongInput("MARKMILL_URL is set: its server works, not this process.")),
    health: () => ({ ok: true }),
    close: async () => undefined,
  };
}
