/** The benchmark's end of the line protocol: one system in a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Counted, Load, Loaded, Order, Reply, Start } from "./line-protocol.ts";

export interface SystemProcess {
  readonly pids: Readonly<Record<string, number>>;
  load(load: Omit<Load, "do">): Promise<Loaded>;
  count(): Promise<Counted>;
  stop(): Promise<void>;
}

/** A system that says nothing for so long is given up. */
const patienceMs = 600_000;

export async function startSystem(file: string, start: Omit<Start, "do">): Promise<SystemProcess> {
  const profiling = start.profiles === null ? [] : ["--cpu-prof", `--cpu-prof-dir=${start.profiles}`];
  const child = spawn(process.execPath, [...profiling, fileURLToPath(new URL(file, import.meta.url))], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ask = talk(child, file);
  const reply = await ask({ do: "start", ...start });
  if (!("ready" in reply)) throw await surprise(child, file, reply);
  return {
    pids: reply.ready,
    async load(load) {
      const answer = await ask({ do: "load", ...load });
      if (!("loaded" in answer)) throw await surprise(child, file, answer);
      return answer.loaded;
    },
    async count() {
      const answer = await ask({ do: "count" });
      if (!("counted" in answer)) throw await surprise(child, file, answer);
      return answer.counted;
    },
    async stop() {
      const answer = await ask({ do: "stop" });
      if (!("stopped" in answer)) throw await surprise(child, file, answer);
      await ended(child);
    },
  };
}

function talk(child: ChildProcess, file: string): (order: Order) => Promise<Reply> {
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error(`${file} has no pipes`);
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  stdin.on("error", () => undefined);
  return async (order) => {
    stdin.write(`${JSON.stringify(order)}\n`);
    const timer = setTimeout(() => child.kill("SIGKILL"), patienceMs);
    try {
      const { value, done } = await lines.next();
      return done === true ? { failed: "it ended without an answer" } : JSON.parse(value);
    } finally {
      clearTimeout(timer);
    }
  };
}

async function surprise(child: ChildProcess, file: string, reply: Reply): Promise<Error> {
  child.stdin?.end();
  await ended(child);
  return new Error(`${file}: ${"failed" in reply ? reply.failed : `unexpected answer ${JSON.stringify(reply)}`}`);
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const timer = setTimeout(() => child.kill("SIGKILL"), 20_000);
  await new Promise((resolve) => child.once("exit", resolve));
  clearTimeout(timer);
}
