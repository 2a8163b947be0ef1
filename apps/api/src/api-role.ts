import { type ProcessRole, readCatalogue } from "@markmill/stack";
import { serveApi } from "./serve-api.ts";

export const apiRole: ProcessRole = {
  name: "api",
  queue: "when there",
  help: (command) => `Usage: ${command}

Run the HTTP API. Clients upload definitions and files, start runs, read their
state and answer questions. Start any number of API processes with the same
DATABASE_URL and REDIS_URL, behind any proxy (API_TRUST_PROXY, API_URL). The API
listens on API_HOST and API_PORT. /docs describes it, /openapi.json is for
programs, and /health/ready is for load balancers. The first process of an
installation prints the first key to stderr, once. After SIGTERM, the API
answers its open requests and exits.

Example:
  DATABASE_URL=postgresql://… REDIS_URL=redis://… API_HOST=0.0.0.0 ${command}`,

  async begin({ store, queues, telemetry, log: tell }, { config, cwd }) {
    const catalogue = await readCatalogue(config, cwd);
    const served = await serveApi({ config, store, queues, catalogue, telemetry, tell });
    // Written to stderr and not to the log, because logs are kept.
    if (served.firstKey !== null) process.stderr.write(`first key (shown only this once): ${served.firstKey}\n`);
    return { facts: { url: served.url }, close: served.close };
  },
};
