// A supervisor in a process of its own, for tests that kill it. Its settings are the one argument, as JSON.
import { type BackendOptions, openQueues } from "@markmill/queue";
import { startSupervisor } from "@markmill/worker/supervisor";
import { openStore } from "./store.ts";

interface Settings {
  readonly databaseUrl: string;
  readonly backend: BackendOptions;
  readonly prefix: string;
  readonly killAt?: string;
  readonly runsPerTenant?: number;
}

const settings: Settings = JSON.parse(process.argv[2] ?? "{}");
const store = await openStore({ url: settings.databaseUrl, worker: `supervisor-${process.pid}` });
const queues = await openQueues({ backend: settings.backend, prefix: settings.prefix });
const [point, times = "1"] = (settings.killAt ?? "").split(":");
let seen = 0;
const log = {
  info: () => undefined,
  warn: () => undefined,
  error: (fields: object, text: string) => console.error(text, fields),
};
startSupervisor({
  store,
  queues,
  log,
  retentionDays: 0,
  runsPerTenant: settings.runsPerTenant ?? null,
  failPoint: (at) => {
    if (at !== point) return;
    seen += 1;
    if (seen === Number(times)) process.kill(process.pid, "SIGKILL");
  },
});
process.send?.("ready");
