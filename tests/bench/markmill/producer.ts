/** Markmill under test: this process creates runs and enqueues, a worker of its own process does the rest. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createRun, type Store } from "../../support/store.ts";
import { abandon, type Start, serveSystem } from "../line-protocol.ts";
import type { FromMember, ToMember } from "./attend-producer.ts";
import { openParts } from "./open-parts.ts";
import { compileWorkload } from "./workflow.ts";

await serveSystem(async (start) => {
  const { store, queues, close } = await openParts(start, "producer");
  const definition = compileWorkload(start.workload);
  const waiting = new Map<string, () => void>();
  const onEnded = (runId: string) => {
    waiting.get(runId)?.();
    waiting.delete(runId);
  };
  const worker = await startMember("worker.ts", start, onEnded);
  const supervisor = start.workload.kind === "ask" ? await startMember("supervisor.ts", start, onEnded) : null;
  return {
    pids: {
      producer: process.pid,
      worker: worker.pid,
      ...(supervisor === null ? {} : { supervisor: supervisor.pid }),
    },
    async run(created) {
      const { runId, jobs } = await createRun(store, { definition });
      if (start.workload.kind === "ask") return;
      const ended = new Promise<void>((resolve) => waiting.set(runId, resolve));
      created();
      await queues.enqueue(jobs);
      await ended;
    },
    durableSteps: () => countSteps(store, start),
    async activeSlots() {
      const counts = await queues.counts();
      return Object.values(counts).reduce((sum, { active = 0 }) => sum + active, 0);
    },
    async close() {
      await worker.stop();
      await supervisor?.stop();
      await close();
    },
  };
});

/** A chain's steps that are done, or questions that wait. A run that ended otherwise than well spoils the measurement. */
async function countSteps(store: Store, { workload }: Start): Promise<number> {
  const [counted, status] =
    workload.kind === "ask"
      ? ["activities where state = 'waiting'", "doing"]
      : ["events where type = 'activity.succeeded'", "success"];
  const { rows } = await store.database.calm.query<{ steps: number; astray: number }>(
    `select (select count(*) from ${counted}) as steps, (select count(*) from runs where status <> $1) as astray`,
    [status],
  );
  const { steps = 0, astray = 0 } = rows[0] ?? {};
  if (astray > 0) throw new Error(`${astray} runs are not in status ${status}`);
  return steps;
}

interface Member {
  readonly pid: number;
  stop(): Promise<void>;
}

async function startMember(file: string, start: Start, onEnded: (runId: string) => void): Promise<Member> {
  const profiling = start.profiles === null ? [] : ["--cpu-prof", `--cpu-prof-dir=${start.profiles}`];
  const child: ChildProcess = fork(fileURLToPath(new URL(file, import.meta.url)), [], {
    execArgv: profiling,
    // Its stdout must not get into the protocol.
    stdio: ["ignore", 2, 2, "ipc"],
  });
  const say = (message: ToMember) => child.send(message);
  let stopping = false;
  await new Promise<void>((resolve) => {
    child.on("message", (message: FromMember) => {
      if ("ended" in message) for (const runId of message.ended) onEnded(runId);
      else if ("ready" in message) resolve();
      else abandon(message.failed);
    });
    child.once("exit", (code, signal) => {
      if (!stopping) abandon(`markmill/${file} ended: ${signal ?? code}`);
    });
    say(start);
  });
  return {
    pid: child.pid ?? 0,
    async stop() {
      stopping = true;
      const exit = once(child, "exit");
      say({ do: "stop" });
      await exit;
    },
  };
}
