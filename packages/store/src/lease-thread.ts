/** The thread of lease-keeper.ts. */
import { parentPort, workerData } from "node:worker_threads";
import { Client } from "pg";
import { keyedAccess } from "./database.ts";
import type { LeaseNews, LeaseOrder, LeaseThreadData } from "./lease-keeper.ts";
import { type RenewedRow, renewText } from "./lease-statement.ts";
import { readLeaseTable } from "./lease-table.ts";

const { table, url, leaseMs, worker, giveUpMs }: LeaseThreadData = workerData;
const everyMs = Math.floor(leaseMs / 3);
/** After an error: sooner, because leases run out. */
const againMs = Math.min(250, everyMs);
const queryMs = Math.max(1_000, Math.floor(leaseMs / 2));
/** A main loop that has been silent for so long does not beat itself. */
const silentMs = 2_000;

let client: Client | null = null;
let timer: NodeJS.Timeout | null = null;
let renewing = false;
/** A round was asked for while one was under way. */
let wanted = false;

parentPort?.on("message", (order: LeaseOrder) => {
  if (order === "renew") void round();
});

function tell(news: LeaseNews): void {
  parentPort?.postMessage(news);
}

async function connected(): Promise<Client> {
  if (client !== null) return client;
  const next = new Client({
    connectionString: url,
    keepAlive: true,
    connectionTimeoutMillis: queryMs,
    query_timeout: queryMs,
    statement_timeout: queryMs,
    application_name: "markmill leases",
    options: keyedAccess,
  });
  // Without a listener a connection that breaks while it is idle would end the thread.
  next.on("error", () => abandon(next));
  next.on("end", () => abandon(next));
  await next.connect();
  client = next;
  return next;
}

function abandon(broken: Client): void {
  if (client === broken) client = null;
  broken.removeAllListeners("end");
  broken.end().catch(() => undefined);
}

async function round(): Promise<void> {
  if (renewing) {
    wanted = true;
    return;
  }
  renewing = true;
  let next = everyMs;
  try {
    await renew();
  } catch (error) {
    if (client !== null) abandon(client);
    next = againMs;
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    tell({ news: "failed", message: error instanceof Error ? error.message : String(error), code });
  }
  renewing = false;
  if (timer !== null) clearTimeout(timer);
  timer = setTimeout(() => void round(), wanted ? 0 : next);
  wanted = false;
}

async function renew(): Promise<void> {
  const { held: mine, silentMs: silence } = readLeaseTable(table);
  if (mine.length === 0 || silence > giveUpMs) return;
  const on = await connected();
  const { rows } = await on.query<RenewedRow>({
    name: "renew-leases",
    text: renewText,
    values: [JSON.stringify(mine), leaseMs],
  });
  const kept = new Set(rows.map(({ id }) => Number(id)));
  tell({ news: "renewed", lost: mine.filter(({ id }) => !kept.has(id)) });
  if (silence > silentMs) {
    await on.query("update workers set heartbeat_at = clock_timestamp() where id = $1", [worker]);
  }
}

void round();
