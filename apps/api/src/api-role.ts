import { type ProcessRole, readCatalogue } from "@markmill/stack";
import { serveApi } from "./serve-api.ts";

export const apiRole: ProcessRole = {
  name: "api",
  queue: "when there",
  help: (command) => `Usage: ${command}

The HTTP API: takes definitions and files, starts runs, shows them, takes
answers. Start any number with the same DATABASE_URL and REDIS_URL, behind any
proxy (API_TRUST_PROXY, API_URL). It listens at API_HOST and API_PORT; /docs
describes it, /openapi.json for programs, /health/ready for load balancers.
The first process of an installation writes the first key to stderr, once.
SIGTERM ends it when what is under way is answered.

Example:
  DATABASE_URL=postgresql://… REDIS_URL=redis://… API_HOST=0.0.0.0 ${command}`,

  async begin({ store, queues, telemetry, log: tell }, { config, cwd }) {
    const catalogue = await readCatalogue(config, cwd);
    const served = await serveApi({ config, store, queues, catalogue, telemetry, tell });
    // Written to stderr and not to the log, because logs are kept.
    if (served.firstKey !== null) process.stderr.write(`first key, shown this once: ${served.firstKey}\n`);
    return { facts: { url: served.url }, close: served.close };
  },
};
