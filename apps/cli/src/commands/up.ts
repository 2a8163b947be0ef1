import { randomBytes } from "node:crypto";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { identifyProcess } from "@markmill/base";
import {
  aborted,
  catchInterrupts,
  claimProjectHome,
  closeAll,
  openHealth,
  openStack,
  requireConfig,
  type Stack,
} from "@markmill/stack";
import { defaultTenant } from "@markmill/store";
import { spawnBackground } from "../background.ts";
import { type Command, CommandError, exitCodes, type Terminal } from "../command.ts";
import { parseFlags } from "../parse-words.ts";
import { startApiThread } from "../start-api-thread.ts";
import { terminalLog } from "../terminal-log.ts";
import { readUpFile, removeUpFile, writeUpFile } from "../up-file.ts";

/** The time limit for starting. After the same time, the file with the new key is removed. */
const startLimitMs = 120_000;

export const up: Command = {
  help: `Usage: markmill up [--detach | --new-key]

Start the local stack until Ctrl-C: Postgres (below MARKMILL_HOME, unless
DATABASE_URL is set), a worker, a supervisor and the API. Runs that were started
with --detach, and runs that wait for an answer, continue while the stack is up.
The command prints the address of the API (API_HOST, API_PORT; /docs describes
it). The first time, it also prints the first key. The key is shown only once.

  --detach    run in the background; 'markmill down' stops the stack
  --new-key   start nothing; create another key for an owner and operator, in
              case the first key is lost, and show it once

Examples:
  markmill up
  markmill up --detach && markmill run grade.wf.md --detach`,

  async run(args, terminal) {
    const {
      detach,
      tell,
      "new-key": newKey,
    } = parseFlags(args, { detach: { type: "boolean" }, "new-key": { type: "boolean" }, tell: { type: "string" } });
    if (newKey === true) return await makeKey(terminal);
    const config = requireConfig(terminal);
    const home = resolve(terminal.cwd, config.home);
    const running = readUpFile(home);
    if (running !== null) {
      terminal.err(`the stack is already up (process ${running.pid})`);
      return exitCodes.success;
    }
    claimProjectHome(config, terminal.cwd, terminalLog(terminal));
    return detach === true ? await startDetached(home, terminal) : await serve(home, terminal, tell ?? null);
  },
};

/** A person with access to the database may create a key. The tenant's audit log records it. */
async function makeKey(terminal: Terminal): Promise<number> {
  const config = requireConfig(terminal);
  const stack = await openStack({ config, cwd: terminal.cwd, log: terminalLog(terminal), database: "existing" });
  try {
    const { secret } = await stack.store.access.createLocalKey(
      { name: "new key", roles: ["owner", "ops"], scopes: null, createdBy: "local", expiresAt: null },
      defaultTenant,
      { name: "markmill up --new-key", requestId: "", address: "" },
    );
    terminal.err("key of an owner and operator (shown only this once):");
    terminal.out(secret);
    return exitCodes.success;
  } finally {
    await stack.close();
  }
}

/** `tell`: a file through which the parent process in the background reads the new key; the parent deletes it. */
async function serve(home: string, terminal: Terminal, tell: string | null): Promise<number> {
  const config = requireConfig(terminal);
  const interrupts = catchInterrupts();
  const health = await openHealth(config.healthPort);
  let stack: Stack | null = null;
  try {
    stack = await openStack({ config, cwd: terminal.cwd, log: terminalLog(terminal) });
    await stack.work({
      worker: true,
      supervisor: true,
      only: null,
      // An embedded database has only one user, so this worker can use the options of the run.
      obeys: config.database.kind === "embedded",
    });
    const { databaseUrl } = stack;
    const api = await startApiThread({ config, databaseUrl, cwd: terminal.cwd }, (text) => terminal.err(text));
    if (tell !== null) {
      writeFileSync(tell, JSON.stringify({ url: api.url, firstKey: api.firstKey }), { mode: 0o600, flag: "wx" });
      // The reader may have ended, and the file contains a secret.
      setTimeout(() => rmSync(tell, { force: true }), startLimitMs).unref();
    }
    health?.isReady(stack.components);
    writeUpFile(home);
    const database =
      stack.embedded === null ? "the database at DATABASE_URL" : `Postgres (process ${stack.embedded.pid})`;
    terminal.err(`up: ${database}, a worker, a supervisor and the API (process ${process.pid}). Ctrl-C stops it.`);
    if (tell === null) tellApi(api, terminal);
    await Promise.race([aborted(interrupts.signal), api.lost]);
    terminal.err("stopping: finishing the running steps (press Ctrl-C again to stop at once)");
    health?.isStopping();
    await api.close();
    return exitCodes.success;
  } finally {
    const opened = stack;
    await closeAll([
      () => tell !== null && rmSync(tell, { force: true }),
      () => opened?.close(),
      () => health?.close(),
      () => removeUpFile(home),
      interrupts.release,
    ]);
  }
}

function tellApi(
  { url, firstKey }: { readonly url: string; readonly firstKey: string | null },
  terminal: Terminal,
): void {
  terminal.err(`api: ${url}   documentation: ${url}/docs`);
  if (firstKey !== null) terminal.err(`first key (shown only this once): ${firstKey}`);
}

async function startDetached(home: string, terminal: Terminal): Promise<number> {
  const log = join(home, "logs", "up.log");
  const begin = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
  const told = join(home, `up-${randomBytes(6).toString("hex")}.json`);
  const pid = spawnBackground(["up", "--tell", told], { cwd: terminal.cwd, log });
  const deadline = performance.now() + startLimitMs;
  try {
    while (identifyProcess(pid) !== null && performance.now() < deadline) {
      if (readUpFile(home)?.pid === pid) {
        terminal.err(`up: process ${pid}, log ${log}. 'markmill down' stops it.`);
        tellApi(JSON.parse(readFileSync(told, "utf8")), terminal);
        return exitCodes.success;
      }
      await sleep(50);
    }
  } finally {
    rmSync(told, { force: true });
  }
  const said = readFileSync(log).subarray(begin).toString("utf8").trim();
  throw new CommandError(
    "UP_FAILED",
    `The stack did not start:\n${said}`,
    `Run 'markmill up' in the foreground, or read the log ${log}.`,
  );
}
