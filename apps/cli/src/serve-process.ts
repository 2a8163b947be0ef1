/** A process of a production deployment: JSON logs, `/healthz`, an orderly end on the first signal, at once on the second. */
import { visibleJson } from "@markmill/engine";
import { exitCodes, type Terminal } from "./command.ts";
import { aborted, catchInterrupts } from "./interrupts.ts";
import { parseFlags } from "./parse-words.ts";
import { openStack } from "./stack/open-stack.ts";
import { requireConfig } from "./stack/require-config.ts";

export async function serveProcess(
  role: "worker" | "supervisor",
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  parseFlags(args, {});
  const config = requireConfig(terminal);
  const { pino } = await import("pino");
  const log = pino({
    level: config.logLevel,
    base: { role, pid: process.pid },
    hooks: { streamWrite: (line) => visibleJson(line) },
  });
  const interrupts = catchInterrupts();
  const stack = await openStack({ config, cwd: terminal.cwd, log });
  try {
    await stack.work({
      worker: role === "worker",
      supervisor: role === "supervisor",
      only: null,
      obeys: false,
      onDeaf() {
        log.fatal("work is due and nothing is heard, also after reconnecting: leaving");
        process.exit(exitCodes.failed);
      },
    });
    const { serveHealth } = await import("@markmill/worker");
    const health = config.healthPort === null ? null : await serveHealth(config.healthPort, () => stack.health());
    log.info({ queue: stack.queues.kind, ...(health === null ? {} : { healthPort: health.port }) }, `${role} started`);
    await aborted(interrupts.signal);
    log.info("stopping: finishing what is under way");
    await health?.close();
    return exitCodes.success;
  } finally {
    await stack.close();
    log.info("stopped");
    interrupts.release();
  }
}
