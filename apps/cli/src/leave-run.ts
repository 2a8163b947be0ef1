/** Decides what happens to a run when the command that started or followed it ends. */
import { join, resolve } from "node:path";
import type { Config } from "@markmill/config";
import { claimProjectHome } from "@markmill/stack";
import { spawnBackground } from "./background.ts";
import type { Terminal } from "./command.ts";
import { shortId } from "./short-id.ts";
import { terminalLog } from "./terminal-log.ts";

export function tellHowToContinue(terminal: Terminal, runId: string): void {
  terminal.err(`run: ${runId}`);
  terminal.err(`next: markmill watch ${shortId(runId)}   continue it; paid replies are kept`);
}

/** Starts a worker in the background that ends when the run or the class has ended. Its log contains no names and no grades of a class. */
export function leaveToBackground(runId: string, config: Config, terminal: Terminal): void {
  const { cwd } = terminal;
  claimProjectHome(config, cwd, terminalLog(terminal));
  const manner = config.envFile === "left out" ? ["--no-env-file"] : [];
  spawnBackground(["watch", runId, "--no-names", ...manner], {
    cwd,
    log: join(resolve(cwd, config.home), "logs", `${runId}.log`),
  });
}
