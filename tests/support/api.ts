// The API over a mill of a test, on a loopback port, with a key for every role and a second tenant.
import { type Api, type ApiParts, type ApiSettings, type Board, createApi, defaultSettings } from "@markmill/api";
import { type Client, createClient, type Role } from "@markmill/contract";
import { builtInCatalogue } from "@markmill/llm";
import { createTroubleLog } from "@markmill/stack";
import { pino } from "pino";
import { type Mill, workflow } from "./mill.ts";
import type { Access } from "./store.ts";

export interface TestApi {
  readonly url: string;
  readonly api: Api;
  readonly access: Access;
  /** The secret of a key; made on first use. */
  key(roles: readonly Role[], tenant?: string): Promise<string>;
  client(role: Role, tenant?: string): Promise<Client>;
  /** What the server's log said, from warnings on. */
  readonly log: string[];
  close(): Promise<void>;
}

export async function startApi(
  mill: Pick<Mill, "store"> & { readonly queues: Mill["queues"] | null },
  settings: Partial<ApiSettings> = {},
  board: Board | null = null,
): Promise<TestApi> {
  const access = mill.store.access;
  const log: string[] = [];
  const written = pino({ level: "warn" }, { write: (line: string) => void log.push(line) });
  const parts: ApiParts = {
    store: mill.store,
    access,
    enqueuer: {
      enqueue: (jobs) => void mill.queues?.enqueue(jobs),
      counts: async () => (await mill.queues?.counts().catch(() => null)) ?? null,
      probe: async () => await mill.queues?.probe(),
    },
    catalogue: builtInCatalogue,
    settings: { ...defaultSettings, requestsPerMinute: 1_000_000, loginsPerMinute: 1_000, ...settings },
    version: "0.0.0-test",
    log: written,
    tell: createTroubleLog(written),
    checkAnswers: true,
  };
  const api = await createApi(parts, board);
  const url = await api.app.listen({ host: "127.0.0.1", port: 0 });
  const keys = new Map<string, string>();
  async function key(roles: readonly Role[], tenant = "default"): Promise<string> {
    const name = `${tenant} ${roles.join(" ")}`;
    const known = keys.get(name);
    if (known !== undefined) return known;
    await access.createTenant(tenant, tenant);
    const wanted = { name, roles, scopes: null, createdBy: "test", expiresAt: null };
    const { secret } = await access.of(tenant).createKey(wanted);
    keys.set(name, secret);
    return secret;
  }
  return {
    url,
    api,
    access,
    log,
    key,
    client: async (role, tenant) => createClient({ url, token: await key([role], tenant) }),
    close: () => api.close(),
  };
}

/** Sets, asks a person, ends with what they said. */
export const askingWorkflow = workflow('  START --> SET_A["SET: A = 1"] --> ASK_B["ASK: What now?"] --> SUCCESS');
/** A few inline steps and a call. */
export const callingFiles = {
  "main.wf.md": workflow(
    '  START --> SET_A["SET: A = 1"] --> CALL_B["CALL: child.wf.md"] --> SET_C["SET: C = 3"] --> SUCCESS',
  ),
  "child.wf.md": workflow('  START --> SET_B["SET: B = 2"] --> ASSIGN_R["ASSIGN: \'done\'"] --> SUCCESS'),
};
