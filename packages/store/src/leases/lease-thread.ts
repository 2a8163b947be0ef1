/** The thread of lease-keeper.ts. */
import { parentPort, workerData } from "node:worker_threads";
import { Client } from "pg";
import { keyedAccess } from "../database/database.ts";
import { applySettings } from "../database/session-settings.ts";
import { readLeaseTable } from "../throughput/lease-table.ts";
import type { LeaseNews, LeaseOrder, LeaseThreadData } from "./lease-keeper.ts";
import { type RenewedRow, renewText } from "./lease-statement.ts";
import { createLoopSilence } from "./loop-silence.ts";
import { presenceSettings, presenceText } from "./presence.ts";

const { table, url, leaseMs, worker, giveUpMs }: LeaseThreadData = workerData;
const everyMs = Math.floor(leaseMs / 3);
/** The interval after an error is shorter, because leases expire. */
const againMs = Math.min(250, everyMs);
const queryMs = Math.max(1_000, Math.floor(leaseMs / 2));
/** A main loop that is silent for this time does not send its heartbeat. */
const silentMs = 2_000;

let client: Client | null = null;
/**
 * A connection that did not answer in time. It is kept until a new one has replaced it, because it may still show that the process is alive
 * (M4).
 */
let silentClient: Client | null = null;
let timer: NodeJS.Timeout | null = null;
let renewing = false;
/** A round was requested while another one was running. */
let wanted = false;
/** The worker holds no leases, so an unreachable Postgres need not be reported. */
let holdsNothing = true;
const loopSilence = createLoopSilence(2 * everyMs);

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
    application_name: "markmill leases",
  });
  // Without a listener, an idle connection that breaks would end the thread.
  next.on("error", () => abandon(next));
  next.on("end", () => abandon(next));
  try {
    await next.connect();
    await applySettings(next, { ...keyedAccess, ...presenceSettings, statement_timeout: String(queryMs) });
    await next.query(presenceText, [worker]);
  } catch (error) {
    abandon(next);
    throw error;
  }
  client = next;
  if (silentClient !== null) abandon(silentClient);
  return next;
}

function abandon(broken: Client): void {
  if (client === broken) client = null;
  if (silentClient === broken) silentClient = null;
  broken.removeAllListeners("end");
  broken.end().catch(() => undefined);
}

/** See M4. */
function setAside(): void {
  if (client === null) return;
  if (silentClient !== null) abandon(silentClient);
  silentClient = client;
  client = null;
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
    setAside();
    if (holdsNothing) return later(next);
    next = againMs;
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    tell({ news: "failed", message: error instanceof Error ? error.message : String(error), code });
  }
  later(next);
}

function later(ms: number): void {
  renewing = false;
  if (timer !== null) clearTimeout(timer);
  timer = setTimeout(() => void round(), wanted ? 0 : ms);
  wanted = false;
}

async function renew(): Promise<void> {
  const { held: mine, tick } = readLeaseTable(table);
  holdsNothing = mine.length === 0;
  const silent = loopSilence.look(tick, performance.now());
  if (silent > giveUpMs) {
    // M2: a process that has given up keeps no connection.
    for (const one of [client, silentClient]) if (one !== null) abandon(one);
    return;
  }
  const on = await connected();
  const { rows } = await on.query<RenewedRow>({
    name: "renew-leases",
    text: renewText,
    values: [JSON.stringify(mine), leaseMs, worker],
  });
  const kept = new Set(rows.map(({ id }) => Number(id)));
  tell({ news: "renewed", lost: mine.filter(({ id }) => !kept.has(id)) });
  if (silent > silentMs) {
    await on.query("update workers set heartbeat_at = clock_timestamp() where id = $1", [worker]);
  }
}

void round();
