import type { Command } from "../command.ts";
import { serveProcess } from "../serve-process.ts";

export const worker: Command = {
  help: `Usage: markmill worker

A worker: takes activities from the queue, performs them, commits what came of
them. Start any number, on any number of machines, with the same DATABASE_URL
and REDIS_URL; .env.example lists all settings. Logs are JSON lines (LOG_LEVEL);
HEALTH_PORT opens /healthz. SIGTERM lets it finish what it holds, a second one
ends it at once: others take over.

Example:
  DATABASE_URL=postgresql://… REDIS_URL=redis://… markmill worker`,

  run: (args, terminal) => serveProcess("worker", args, terminal),
};
