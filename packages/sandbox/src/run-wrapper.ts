// Runs the session script once in a child process of this one, under three clocks. Serves every adapter whose commands are
// children of the worker (jail, none). Invariants:
// 1. Whatever ends the wait (a clock, an abort, a lost session), `kill` is awaited before the outcome is given.
// 2. The wait never depends on end of stream: a background process may hold the pipes for ever.

import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { constants } from "node:os";
import { OutputCollector } from "./collect-output.ts";
import type { Limits } from "./limits.ts";
import type { CommandOutcome, CommandSpec, RunOptions, SessionState } from "./port.ts";
import { type CommandUlimits, endMarker, parseReport, renderRequest } from "./session-script.ts";

/** How often the processor clock is read. */
const CPU_POLL_MS = 200;
/** After the process ended without a marker (exec, a kill), output still in the pipe has this many quiet turns to arrive. */
const DRAIN_TURNS = 50;
const DRAIN_TURN_MS = 2;
/** State is at most 256 KiB; base64 and launcher messages fit. Beyond it the stream is drained and dropped. */
const MAX_REPORT_CHARS = 1024 * 1024;

export interface WrapperRun {
  readonly command: CommandSpec;
  readonly state: SessionState;
  readonly limits: Limits;
  readonly ulimits: CommandUlimits;
  /** Starts the wrapper with three pipes, leading its own process group. */
  readonly spawn: () => ChildProcess;
  /** Processor milliseconds used by the session so far; undefined when it cannot be read just now. */
  readonly cpuMs: () => number | undefined;
  /** Ends every process of the command and returns when they are gone. */
  readonly kill: (child: ChildProcess) => Promise<void>;
  readonly outOfMemory: () => boolean | Promise<boolean>;
}

export interface WrapperResult {
  readonly outcome: CommandOutcome;
  /** False when the wrapper never began: the launcher failed, `diagnostics` says how. */
  readonly started: boolean;
  readonly diagnostics: string;
}

type Ending =
  | { kind: "exit"; code: number | null; signal: NodeJS.Signals | null }
  | { kind: "clock"; clock: Clock }
  | { kind: "abort" };
type Clock = "wall" | "cpu" | "silence";

export async function runWrapper(run: WrapperRun, options: RunOptions): Promise<WrapperResult> {
  options.signal?.throwIfAborted();
  const nonce = randomBytes(16).toString("hex");
  const collector = new OutputCollector({
    marker: endMarker(nonce),
    capBytes: run.limits.outputBytes,
    onText: options.onOutput,
  });
  let report = "";
  let received = 0;
  const startedAt = performance.now();
  const cpuAtStart = run.cpuMs() ?? 0;
  const child = run.spawn();

  const ending = await new Promise<Ending>((resolve, reject) => {
    let lastOutput = performance.now();
    const timers = [
      setTimeout(() => finish({ kind: "clock", clock: "wall" }), run.limits.wallMs),
      setInterval(() => {
        const used = (run.cpuMs() ?? 0) - cpuAtStart;
        if (used > run.limits.cpuMs) finish({ kind: "clock", clock: "cpu" });
      }, CPU_POLL_MS),
      setInterval(
        () => {
          if (performance.now() - lastOutput > run.limits.silenceMs) finish({ kind: "clock", clock: "silence" });
        },
        Math.max(10, Math.min(CPU_POLL_MS, run.limits.silenceMs / 4)),
      ),
    ];
    const onAbort = () => finish({ kind: "abort" });
    const finish = (how: Ending) => {
      for (const timer of timers) clearTimeout(timer);
      options.signal?.removeEventListener("abort", onAbort);
      resolve(how);
    };
    options.signal?.addEventListener("abort", onAbort, { once: true });
    if (options.signal?.aborted) onAbort();
    child.once("error", (error) => {
      for (const timer of timers) clearTimeout(timer);
      options.signal?.removeEventListener("abort", onAbort);
      reject(error);
    });
    child.once("exit", (code, signal) => finish({ kind: "exit", code, signal }));
    child.stdout?.on("data", (chunk: Buffer) => {
      lastOutput = performance.now();
      received += chunk.length;
      collector.push(chunk);
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      received += text.length;
      if (report.length < MAX_REPORT_CHARS) report += text;
    });
    // The wrapper may die before it has read its request; what matters is then in the exit code.
    child.stdin?.on("error", () => {});
    child.stdin?.end(
      renderRequest({
        nonce,
        kind: run.command.kind,
        text: run.command.text,
        state: run.state,
        ulimits: run.ulimits,
      }),
    );
  });

  if (ending.kind === "exit")
    await drained(
      child,
      () => collector.ended && parseReport(nonce, report).exitCode !== undefined,
      () => received,
    );
  else await run.kill(child);
  const durationMs = performance.now() - startedAt;
  child.stdout?.destroy();
  child.stderr?.destroy();
  if (ending.kind === "abort") options.signal?.throwIfAborted();

  const parsed = parseReport(nonce, report);
  const killed = ending.kind === "clock";
  const processExit = ending.kind === "exit" ? exitCodeOf(ending) : null;
  return {
    started: parsed.pid !== undefined,
    diagnostics: report.slice(0, 4000),
    outcome: {
      ...collector.finish(),
      exitCode: killed ? null : (parsed.exitCode ?? processExit),
      durationMs,
      timedOut: ending.kind === "clock" ? ending.clock : false,
      outOfMemory: await run.outOfMemory(),
      state: killed ? run.state : stateAfter(run, parsed.state),
    },
  };
}

function stateAfter(run: WrapperRun, reported: SessionState | undefined): SessionState {
  return run.command.kind === "shell" && reported !== undefined ? reported : run.state;
}

function exitCodeOf(ending: { code: number | null; signal: NodeJS.Signals | null }): number {
  return ending.code ?? 128 + (ending.signal === null ? 0 : constants.signals[ending.signal]);
}

/** Waits until all is in, or both pipes closed, or nothing has come for the drain time, however slowly we are scheduled. */
async function drained(child: ChildProcess, complete: () => boolean, received: () => number): Promise<void> {
  const closed = () => child.stdout?.closed !== false && child.stderr?.closed !== false;
  let seen = received();
  for (let quietTurns = 0; quietTurns < DRAIN_TURNS && !complete() && !closed(); quietTurns += 1) {
    await new Promise((resolve) => setTimeout(resolve, DRAIN_TURN_MS));
    if (received() !== seen) quietTurns = 0;
    seen = received();
  }
}
