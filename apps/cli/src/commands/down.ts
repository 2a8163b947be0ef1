import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isAlive } from "@markmill/base";
import { requireConfig } from "@markmill/stack";
import { type Command, CommandError, exitCodes } from "../command.ts";
import { parseFlags } from "../parse-words.ts";
import { readUpFile, removeUpFile } from "../up-file.ts";

export const down: Command = {
  help: `Usage: markmill down

Stop the local stack that 'markmill up' started in this directory. Running steps
are finished first. The embedded Postgres is stopped too, unless another
markmill uses it. Data and unfinished runs are kept; 'markmill up' continues
them.`,

  async run(args, terminal) {
    parseFlags(args, {});
    const config = requireConfig(terminal);
    const home = resolve(terminal.cwd, config.home);
    const running = readUpFile(home);
    if (running === null) terminal.err("the stack was not running");
    else {
      process.kill(running.pid, "SIGTERM");
      const deadline = performance.now() + config.worker.drainTimeoutMs + 30_000;
      while (isAlive(running)) {
        if (performance.now() > deadline) {
          throw new CommandError(
            "DOWN_TIMEOUT",
            `Process ${running.pid} did not stop.`,
            `End it by hand: kill -9 ${running.pid}. No data is lost.`,
          );
        }
        await sleep(50);
      }
      removeUpFile(home);
      terminal.err(`stopped: process ${running.pid}`);
    }
    const directory = join(home, "postgres");
    if (config.database.kind === "embedded" && existsSync(join(directory, "data", "postmaster.pid"))) {
      const { startEmbeddedPostgres } = await import("@markmill/embedded-postgres");
      // Opening the server and closing it again makes this command its last user. The last user stops the server, so an unused one ends.
      const server = await startEmbeddedPostgres({ directory });
      const left = await server.stop();
      terminal.err(
        left === "stopped" ? "stopped: Postgres" : "still running: Postgres, because another markmill uses it",
      );
    }
    return exitCodes.success;
  },
};
