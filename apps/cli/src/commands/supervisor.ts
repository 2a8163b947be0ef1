import type { Command } from "../command.ts";
import { serveProcess } from "../serve-process.ts";

export const supervisor: Command = {
  help: `Usage: markmill supervisor

The supervisor: enforces time limits, expires questions, rings again for work
that the queue has lost, forgets dead workers, deletes what is older than
RETENTION_DAYS. Start two: one acts, the other takes over. Logs are JSON lines
(LOG_LEVEL); HEALTH_PORT opens /healthz. SIGTERM stops it.

Example:
  DATABASE_URL=postgresql://… REDIS_URL=redis://… markmill supervisor`,

  run: (args, terminal) => serveProcess("supervisor", args, terminal),
};
