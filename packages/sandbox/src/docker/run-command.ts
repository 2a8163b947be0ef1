// One command in a started launcher, under three clocks. Invariants:
// 1. The outcome's exit code is the engine's, read after the engine says that the exec has ended, and only where the guard
//    reported the same; otherwise the command counts as killed.
// 2. Whatever ends the wait (a clock, an abort, a guard that was killed), the command's processes are gone before the outcome is
//    given, or the whole container is: closing a stream is no proof of death.
// 3. A container or engine lost after the command was sent is SANDBOX_OUTCOME_UNKNOWN, never an exit code. One exception: the engine says
//    that the container ended because the command used its memory up. That is an ordinary end of the command, killed and out of memory.
// 4. The guard writes the marker behind the output before it reports the end. Output and reports come through pipes of their own, so the
//    report may be here first: the marker is waited for. Output that does not arrive whole is SANDBOX_OUTCOME_UNKNOWN too.

import { randomBytes } from "node:crypto";
import { finished } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import type Docker from "dockerode";
import { isBelieved, KILLED } from "../believe-exit-code.ts";
import { stateAfter } from "../carry-state.ts";
import { OutputCollector } from "../collect-output.ts";
import type { Limits } from "../limits.ts";
import { type OwnClock, startOwnClock } from "../own-clock.ts";
import type { CommandOutcome, CommandSpec, RunOptions, SessionState } from "../port.ts";
import { SandboxError } from "../sandbox-error.ts";
import { endMarker, parseReport, renderScript } from "../session-script.ts";
import { largestFile } from "./container-template.ts";
import type { Launcher } from "./launcher.ts";
import { parseLauncherReport, runLine } from "./launcher-script.ts";
import { launchFailed, outcomeUnknown } from "./translate-engine-error.ts";

/** After the command ended, output still on its way has this long to arrive: where the guard has said that there is an end to it, and where not. */
const WHOLE_MS = 30_000;
const DRAIN_MS = 200;
/** The guard kills at once; where it has not managed by then, all processes are killed from another exec. */
const GUARD_MS = 1_500;
/** A container that is not rid of a command by then is killed whole. */
const KILL_MS = 4_000;
const SILENCE_CHECK_MS = 200;

export interface CommandRun {
  readonly session: string;
  readonly container: Docker.Container;
  readonly command: CommandSpec;
  /** What the command starts from, and whether all that runs in the session is killed first. */
  readonly state: SessionState;
  readonly fresh: boolean;
  readonly limits: Limits;
  /** Ends every process of the session but the container's own. */
  readonly killAll: () => Promise<void>;
  /** Asked only when the container is gone: did its own processes use its memory up? */
  readonly endedByMemory: () => Promise<boolean>;
}

type Ending = { kind: "exit"; code: number } | { kind: "clock"; clock: "wall" | "cpu" | "silence" } | { kind: "abort" };

export async function runCommand(launcher: Launcher, run: CommandRun, options: RunOptions): Promise<CommandOutcome> {
  const startedAt = performance.now();
  const seen: { collector?: OutputCollector } = {};
  try {
    return await follow(launcher, run, options, seen);
  } catch (error) {
    const gone = error instanceof SandboxError && error.code === "SANDBOX_OUTCOME_UNKNOWN";
    if (!gone || seen.collector === undefined || !(await run.endedByMemory())) throw error;
    return {
      ...seen.collector.finish(),
      exitCode: KILLED,
      durationMs: performance.now() - startedAt,
      timedOut: false,
      outOfMemory: true,
      state: stateAfter(run.command, run.state, undefined, { exitCode: KILLED }),
    };
  }
}

async function follow(
  launcher: Launcher,
  run: CommandRun,
  options: RunOptions,
  seen: { collector?: OutputCollector },
): Promise<CommandOutcome> {
  const nonce = randomBytes(16).toString("hex");
  const collector = new OutputCollector({
    marker: endMarker(nonce),
    capBytes: run.limits.outputBytes,
    onText: options.onOutput,
  });
  seen.collector = collector;
  const startedAt = performance.now();
  const clock = startOwnClock(options.othersMs);
  launcher.onOutput = (chunk) => {
    clock.heard();
    collector.push(chunk);
  };
  const request = renderScript({
    kind: run.command.kind,
    text: run.command.text,
    state: run.state,
    // The processor clock is for all processes together; this stops one that outlives its worker.
    ulimits: { cpuSeconds: Math.ceil(run.limits.cpuMs / 1000) + 1, fileBytes: largestFile(run.limits) },
  });
  launcher.write(Buffer.concat([Buffer.from(runLine(request.length, nonce, run.limits.pids, run.fresh)), request]));

  const over = new AbortController();
  let ending: Ending;
  try {
    ending = await Promise.race([
      exit(launcher, nonce, run, over.signal),
      wallClock(run.limits, clock, over.signal),
      silenceClock(run.limits, clock, over.signal),
      cpuClock(run, () => parseLauncherReport(nonce, launcher.report).cpuMsBefore, over.signal),
      abortion(options.signal, over.signal),
    ]);
    if (ending.kind !== "exit") await kill(launcher, nonce, run, over.signal);
  } finally {
    over.abort();
  }
  const durationMs = performance.now() - startedAt;
  if (ending.kind === "abort") options.signal?.throwIfAborted();

  const { exited } = parseLauncherReport(nonce, launcher.report);
  const drainUntil = performance.now() + (exited ? WHOLE_MS : DRAIN_MS);
  const goesOn = () => !collector.ended && !launcher.ended && options.signal?.aborted !== true;
  while (goesOn() && performance.now() < drainUntil) await pause(2);
  if (ending.kind === "exit" && exited && !collector.ended) {
    options.signal?.throwIfAborted();
    throw outcomeUnknown(run.session, "its output did not arrive whole");
  }
  const parsed = parseReport(nonce, launcher.report);
  if (ending.kind === "exit" && parsed.pid === undefined && ending.code >= 125 && ending.code <= 127) {
    await requireLiving(run);
    throw launchFailed(run.session, launcher.diagnostics);
  }
  const ended = ending.kind === "exit" ? ending.code : null;
  const trusted = ended !== null && isBelieved(ended, parsed, true);
  if (ended !== null && !trusted) await endAll(run);
  const exitCode = ended === 0 && !trusted ? KILLED : ended;
  const reported = trusted && run.command.kind === "shell" && parsed.claimed === exitCode ? parsed.state : undefined;
  return {
    ...collector.finish(),
    exitCode,
    durationMs,
    timedOut: ending.kind === "clock" ? ending.clock : false,
    outOfMemory: parseLauncherReport(nonce, launcher.report).outOfMemory,
    state: stateAfter(run.command, run.state, reported, { exitCode }),
  };
}

/** What watched the command is gone, and all that the session runs goes with it. */
async function endAll(run: CommandRun): Promise<void> {
  const late = pause(KILL_MS).then(() => {
    throw new Error("late");
  });
  await Promise.race([run.killAll(), late]).catch(() => run.container.kill().catch(() => {}));
}

/** Resolves when the engine says the exec has ended. A report or the end of the stream only says when to ask. */
async function exit(launcher: Launcher, nonce: string, run: CommandRun, over: AbortSignal): Promise<Ending> {
  await launcher.until((report) => report.includes(`${nonce} exit `));
  let wait = 1;
  for (;;) {
    const exec = await launcher.inspect().catch((error: unknown) => {
      throw outcomeUnknown(run.session, "its container or engine is gone", error);
    });
    if (!exec.Running && exec.ExitCode !== null) {
      // The end of a container also ends its execs with 137: only a living container makes it the command's own.
      if (!parseLauncherReport(nonce, launcher.report).exited) await requireLiving(run);
      return { kind: "exit", code: exec.ExitCode };
    }
    if (launcher.ended) await requireLiving(run);
    await pause(wait, undefined, { signal: over }).catch(() => {});
    if (over.aborted) return { kind: "abort" };
    wait = Math.min(wait * 2, 250);
  }
}

/**
 * Proof of life by a process of its own: the engine may still call a container running whose first process, and with it every
 * exec, has just been killed; but it can start nothing in it.
 */
async function requireLiving(run: CommandRun): Promise<void> {
  try {
    const exec = await run.container.exec({ Cmd: ["true"], AttachStdout: true, WorkingDir: "/" });
    const stream = await exec.start({ hijack: true, stdin: false });
    stream.resume();
    await finished(stream).catch(() => {});
    for (let wait = 1; ; wait = Math.min(wait * 2, 100)) {
      const { Running, ExitCode } = await exec.inspect();
      if (!Running && ExitCode === 0) return;
      if (!Running && ExitCode !== null) break;
      await pause(wait);
    }
  } catch (error) {
    throw outcomeUnknown(run.session, "its container or engine is gone", error);
  }
  throw outcomeUnknown(run.session, "its container ended");
}

async function kill(launcher: Launcher, nonce: string, run: CommandRun, over: AbortSignal): Promise<void> {
  launcher.write("\n");
  const gone = async (ms: number): Promise<boolean> => {
    const giveUp = AbortSignal.any([AbortSignal.timeout(ms), over]);
    while (!giveUp.aborted) {
      const exec = await launcher.inspect().catch(() => undefined);
      if (exec === undefined) return false;
      const report = parseLauncherReport(nonce, launcher.report);
      if (!exec.Running && (report.exited || launcher.ended)) return true;
      await pause(10);
    }
    return false;
  };
  if (await gone(GUARD_MS)) return;
  // The command has stopped its own killer: all the session runs goes.
  const swept = run.killAll().catch(() => {});
  if (await gone(KILL_MS)) return await swept;
  // Or it has made it disappear: the session ends with it, and the next command finds it lost.
  await run.container.kill().catch(() => {});
}

async function wallClock({ wallMs }: Limits, clock: OwnClock, over: AbortSignal): Promise<Ending> {
  for (let left = wallMs; left > 0; left = wallMs - clock.ownMs()) await passed(Math.max(10, Math.ceil(left)), over);
  return { kind: "clock", clock: "wall" };
}

async function silenceClock({ silenceMs }: Limits, clock: OwnClock, over: AbortSignal): Promise<Ending> {
  for (let left = silenceMs; left > 0; left = silenceMs - clock.silentMs())
    await passed(Math.max(10, Math.min(left, Math.max(SILENCE_CHECK_MS, silenceMs / 4))), over);
  return { kind: "clock", clock: "silence" };
}

/** Asks the engine no sooner than the command could have used its time up on all its cores. */
async function cpuClock(run: CommandRun, cpuMsBefore: () => number, over: AbortSignal): Promise<Ending> {
  let used = 0;
  for (;;) {
    await passed(Math.max(100, (run.limits.cpuMs - used) / Math.max(run.limits.cpus, 0.1)), over);
    const stats = await run.container.stats({ stream: false, "one-shot": true }).catch(() => undefined);
    const total = stats?.cpu_stats?.cpu_usage?.total_usage;
    if (total !== undefined) used = total / 1e6 - cpuMsBefore();
    if (used > run.limits.cpuMs) return { kind: "clock", clock: "cpu" };
  }
}

function abortion(signal: AbortSignal | undefined, over: AbortSignal): Promise<Ending> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve({ kind: "abort" });
    signal?.addEventListener("abort", () => resolve({ kind: "abort" }), { once: true, signal: over });
  });
}

/** Resolves after the time; never once the command is over, so that no clock decides late. */
function passed(ms: number, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (over.aborted) return;
    const timer = setTimeout(resolve, ms);
    over.addEventListener("abort", () => clearTimeout(timer), { once: true });
  });
}
