// Runs one command in a child process, under three clocks. It serves every adapter whose commands are children of the worker (jail, none).
// Invariants:
// 1. The wait can end by a clock, an abort, a lost session, or a killed guard. In every case `kill` is awaited before the outcome is
//    returned: no process of a command that did not end normally stays alive.
// 2. The wait never depends on the end of a stream: a background process may hold the pipes for ever. Output after the end has at most the
//    rest of the wall clock to arrive, and an abort ends that wait too.
// 3. The exit status is that of the process. If it differs from the guard's report (exit-guard-script.ts), the command counts as killed
//    (believe-exit-code.ts).

import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { constants } from "node:os";
import { isBelieved, KILLED } from "./believe-exit-code.ts";
import { stateAfter } from "./carry-state.ts";
import { OutputCollector } from "./collect-output.ts";
import type { Limits } from "./limits.ts";
import { startOwnClock } from "./own-clock.ts";
import type { CommandOutcome, CommandSpec, RunOptions, SessionState } from "./port.ts";
import { type CommandUlimits, endMarker, parseReport, renderScript } from "./session-script.ts";

/** How often the processor clock is read. */
const CPU_POLL_MS = 200;
/** After the process ended, remaining output is given up after this many turns without new data. */
const DRAIN_TURNS = 50;
const DRAIN_TURN_MS = 2;
/** State is at most 256 KiB, so base64 and launcher messages fit. Further text is read and dropped. */
const MAX_REPORT_CHARS = 1024 * 1024;

export interface WrapperRun {
  readonly command: CommandSpec;
  /** The state before the command. */
  readonly state: SessionState;
  readonly limits: Limits;
  readonly ulimits: CommandUlimits;
  /**
   * Starts the process that runs the script, as leader of its own process group. Reports go to `child.stderr`, or to the source that
   * `listen` reads.
   */
  readonly spawn: () => ChildProcess;
  /** Sends the script. */
  readonly feed: (child: ChildProcess, script: Buffer, nonce: string) => void;
  /** The source of reports, whose lines start with the nonce. Default: the child's stderr. */
  readonly listen?: (child: ChildProcess, nonce: string, hear: (text: string) => void) => void;
  /** Whether a report of the wait status is required besides the process's own status. */
  readonly guarded: boolean;
  /** Processor milliseconds used by the session so far; undefined when they cannot be read now. */
  readonly cpuMs: () => number | undefined;
  /** Ends every process of the command and returns when they are gone. `lost`: the guard of the command is gone. */
  readonly kill: (child: ChildProcess, why: "ended" | "lost") => Promise<void>;
  readonly outOfMemory: () => boolean | Promise<boolean>;
}

export interface WrapperResult {
  readonly outcome: CommandOutcome;
  /** False when the command never started because the launcher failed; `diagnostics` contains the reason. */
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
  const clock = startOwnClock(options.othersMs);
  const cpuAtStart = run.cpuMs() ?? 0;
  const child = run.spawn();

  const ending = await new Promise<Ending>((resolve, reject) => {
    const { wallMs, silenceMs } = run.limits;
    let wall: NodeJS.Timeout | undefined;
    const watchWall = () => {
      const left = wallMs - clock.ownMs();
      if (left <= 0) finish({ kind: "clock", clock: "wall" });
      else wall = setTimeout(watchWall, Math.max(10, Math.ceil(left)));
    };
    const timers = [
      setInterval(() => {
        const used = (run.cpuMs() ?? 0) - cpuAtStart;
        if (used > run.limits.cpuMs) finish({ kind: "clock", clock: "cpu" });
      }, CPU_POLL_MS),
      setInterval(
        () => {
          if (clock.silentMs() > silenceMs) finish({ kind: "clock", clock: "silence" });
        },
        Math.max(10, Math.min(CPU_POLL_MS, silenceMs / 4)),
      ),
    ];
    const stopClocks = () => {
      for (const timer of timers) clearTimeout(timer);
      clearTimeout(wall);
    };
    const onAbort = () => finish({ kind: "abort" });
    const finish = (how: Ending) => {
      stopClocks();
      options.signal?.removeEventListener("abort", onAbort);
      resolve(how);
    };
    watchWall();
    options.signal?.addEventListener("abort", onAbort, { once: true });
    if (options.signal?.aborted) onAbort();
    child.once("error", (error) => {
      stopClocks();
      options.signal?.removeEventListener("abort", onAbort);
      reject(error);
    });
    child.once("exit", (code, signal) => finish({ kind: "exit", code, signal }));
    child.stdout?.on("data", (chunk: Buffer) => {
      clock.heard();
      received += chunk.length;
      collector.push(chunk);
    });
    const hear = (text: string) => {
      received += text.length;
      if (report.length < MAX_REPORT_CHARS) report += text;
    };
    child.stderr?.setEncoding("utf8").on("data", hear);
    run.listen?.(child, nonce, hear);
    // The process may end before it has read its script; the exit code then shows the problem.
    child.stdin?.on("error", () => {});
    const script = renderScript({
      kind: run.command.kind,
      text: run.command.text,
      state: run.state,
      ulimits: run.ulimits,
    });
    run.feed(child, script, nonce);
  });

  if (ending.kind === "exit")
    await drained(child, {
      complete: () => collector.ended && parseReport(nonce, report).waited !== undefined,
      received: () => received,
      late: () => clock.ownMs() > run.limits.wallMs,
      signal: options.signal,
    });
  const parsed = parseReport(nonce, report);
  const processExit = ending.kind === "exit" ? exitCodeOf(ending) : null;
  const trusted = processExit !== null && isBelieved(processExit, parsed, run.guarded);
  const started = parsed.pid !== undefined;
  if (ending.kind !== "exit") await run.kill(child, "ended");
  else if (started && !trusted) await run.kill(child, "lost");
  const durationMs = performance.now() - startedAt;
  child.stdin?.destroy();
  child.stdout?.destroy();
  child.stderr?.destroy();
  options.signal?.throwIfAborted();

  const exitCode = processExit === null || trusted ? processExit : processExit === 0 ? KILLED : processExit;
  const reported = trusted && run.command.kind === "shell" && parsed.claimed === exitCode ? parsed.state : undefined;
  return {
    started,
    diagnostics: report.slice(0, 4000),
    outcome: {
      ...collector.finish(),
      exitCode,
      durationMs,
      timedOut: ending.kind === "clock" ? ending.clock : false,
      outOfMemory: await run.outOfMemory(),
      state: stateAfter(run.command, run.state, reported, { exitCode }),
    },
  };
}

function exitCodeOf(ending: { code: number | null; signal: NodeJS.Signals | null }): number {
  return ending.code ?? 128 + (ending.signal === null ? 0 : constants.signals[ending.signal]);
}

interface Drain {
  readonly complete: () => boolean;
  readonly received: () => number;
  readonly late: () => boolean;
  readonly signal: AbortSignal | undefined;
}

/**
 * Waits until all output has arrived, or the pipes are closed, or no data has come for the drain time, even if this process is scheduled
 * slowly.
 */
async function drained(child: ChildProcess, { complete, received, late, signal }: Drain): Promise<void> {
  const closed = () => child.stdout?.closed !== false && child.stderr?.closed !== false;
  const over = () => complete() || closed() || signal?.aborted === true || late();
  let seen = received();
  for (let quietTurns = 0; quietTurns < DRAIN_TURNS && !over(); quietTurns += 1) {
    await new Promise((resolve) => setTimeout(resolve, DRAIN_TURN_MS));
    if (received() !== seen) quietTurns = 0;
    seen = received();
  }
}
