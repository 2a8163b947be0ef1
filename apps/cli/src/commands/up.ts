import { randomBytes } from "node:crypto";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { identifyProcess } from "@markmill/process-identity";
import { aborted, catchInterrupts, openStack, readCatalogue, requireConfig, serveHealth } from "@markmill/stack";
import { spawnBackground } from "../background.ts";
import { type Command, CommandError, exitCodes, type Terminal } from "../command.ts";
import { parseFlags } from "../parse-words.ts";
import { terminalLog } from "../terminal-log.ts";
import { readUpFile, removeUpFile, writeUpFile } from "../up-file.ts";

export const up: Command = {
  help: `Usage: markmill up [--detach]

Starts the stack of this directory: Postgres (below MARKMILL_HOME, unless
DATABASE_URL is set), a worker, a supervisor and the API, until Ctrl-C. Runs
started with --detach, and runs that wait for an answer, go on while it is up.
It says where the API is (API_HOST, API_PORT; /docs describes it) and, the first
time, its first key, which is shown once and kept nowhere.

  --detach   in the background; 'markmill down' stops it

Examples:
  markmill up
  markmill up --detach && markmill run grade.wf.md --detach`,

  async run(args, terminal) {
    const { detach, tell } = parseFlags(args, { detach: { type: "boolean" }, tell: { type: "string" } });
    const config = requireConfig(terminal);
    const home = resolve(terminal.cwd, config.home);
    const running = readUpFile(home);
    if (running !== null) {
      terminal.err(`it is up already (process ${running.pid})`);
      return exitCodes.success;
    }
    return detach === true ? await startDetached(home, terminal) : await serve(home, terminal, tell ?? null);
  },
};

/** `tell`: a file for whoever started this in the background, who says what is in it and takes it away. */
async function serve(home: string, terminal: Terminal, tell: string | null): Promise<number> {
  const config = requireConfig(terminal);
  const interrupts = catchInterrupts();
  const stack = await openStack({ config, cwd: terminal.cwd, log: terminalLog(terminal) });
  try {
    await stack.work({
      worker: true,
      supervisor: true,
      only: null,
      // On a database of one's own everybody is the same person.
      obeys: config.database.kind === "embedded",
    });
    const health = config.healthPort === null ? null : await serveHealth(config.healthPort, () => stack.health());
    const { serveApi } = await import("@markmill/api");
    const { store, queues } = stack;
    const catalogue = await readCatalogue(config, terminal.cwd);
    const api = await serveApi({ config, store, queues, catalogue, logLevel: "error" });
    if (tell !== null) {
      writeFileSync(tell, JSON.stringify({ url: api.url, firstKey: api.firstKey }), { mode: 0o600, flag: "wx" });
    }
    writeUpFile(home);
    const database =
      stack.embedded === null ? "the database at DATABASE_URL" : `Postgres (process ${stack.embedded.pid})`;
    terminal.err(`up: ${database}, a worker, a supervisor and the API (process ${process.pid}). Ctrl-C stops it.`);
    if (tell === null) tellApi(api, terminal);
    await aborted(interrupts.signal);
    terminal.err("stopping: finishing what is under way (Ctrl-C again stops at once)");
    await health?.close();
    await api.close();
    return exitCodes.success;
  } finally {
    await stack.close();
    removeUpFile(home);
    interrupts.release();
  }
}

function tellApi(
  { url, firstKey }: { readonly url: string; readonly firstKey: string | null },
  terminal: Terminal,
): void {
  terminal.err(`api: ${url}   its description: ${url}/docs`);
  if (firstKey !== null) terminal.err(`first key, shown this once and kept nowhere: ${firstKey}`);
}

const startLimitMs = 120_000;

async function startDetached(home: string, terminal: Terminal): Promise<number> {
  const log = join(home, "logs", "up.log");
  const begin = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
  const told = join(home, `up-${randomBytes(6).toString("hex")}.json`);
  const pid = spawnBackground(["up", "--tell", told], { cwd: terminal.cwd, log });
  const deadline = performance.now() + startLimitMs;
  while (identifyProcess(pid) !== null && performance.now() < deadline) {
    if (readUpFile(home)?.pid === pid) {
      terminal.err(`up: process ${pid}, its words in ${log}. 'markmill down' stops it.`);
      tellApi(JSON.parse(readFileSync(told, "utf8")), terminal);
      rmSync(told, { force: true });
      return exitCodes.success;
    }
    await sleep(50);
  }
  const said = readFileSync(log, "utf8").slice(begin).trim();
  throw new CommandError(
    "UP_FAILED",
    `The stack did not start:\n${said}`,
    `Run 'markmill up' to see it happen; the log is ${log}.`,
  );
}
