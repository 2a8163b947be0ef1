// Runs one command in a started launcher, under three clocks. Invariants:
// 1. The outcome's exit code is the engine's, read after the engine reports the end of the exec. It counts only where the guard reported
//    the same code; otherwise the command counts as killed.
// 2. The wait can end by a clock, an abort, or a killed guard. In every case the command's processes, or the whole container, are gone
//    before the outcome is returned: closing a stream does not prove that they ended. If the engine does not answer, the next use of the
//    session ends them first.
// 3. If the container or engine is lost after the command was sent, the error is SANDBOX_OUTCOME_UNKNOWN, never an exit code. One
//    exception: the engine reports that the container ended because the command used up its memory. That is an ordinary end of the command:
//    killed, out of memory.
// 4. The guard writes the marker after the output, before it reports the end. Output and reports come through separate pipes, so the report
//    may arrive first: then we wait for the marker. Incomplete output is SANDBOX_OUTCOME_UNKNOWN too.
// 5. A clock ends a command only when the engine answers and the command itself has used the time. The time before the guard's first
//    report, and the time in which the engine did not answer, are not charged to the command. After the guard's report of the end, no clock
//    applies.

import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
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
import { type ContainerAt, isLiving } from "./prove-life.ts";
import { launchFailed, outcomeUnknown } from "./translate-engine-error.ts";

/**
 * How long to wait for remaining output after the command ended. WHOLE_MS: if the guard has reported the end of the output. DRAIN_MS:
 * otherwise.
 */
const WHOLE_MS = 30_000;
const DRAIN_MS = 200;
/** The guard kills at once. If it has not succeeded by then, another exec kills all processes. */
const GUARD_MS = 1_500;
/** If the command still runs after this time, the whole container is killed. */
const KILL_MS = 4_000;
const SILENCE_CHECK_MS = 200;

export interface CommandRun extends ContainerAt {
  readonly session: string;
  readonly command: CommandSpec;
  /** The state before the command, and whether all processes of the session are killed first. */
  readonly state: SessionState;
  readonly fresh: boolean;
  readonly limits: Limits;
  /** Ends every process of the session, but not the container's own process. */
  readonly killAll: () => Promise<void>;
  /** Ends the container because of its processes, and returns the error that reports this. */
  readonly endSession: () => Promise<SandboxError>;
  /** The wait is over, but the command may still run. The next use of the session ends it first. */
  readonly leaveRunning: () => void;
  /** Called only when the container is gone: did its own processes use up its memory? */
  readonly endedByMemory: () => Promise<boolean>;
}

/** The command did not start: another process of the session has killed or stopped the launcher that should start it. */
export class NotBegun extends Error {
  override readonly name = "NotBegun";
}

/** What is known of a command whose outcome is not. */
interface Seen {
  collector?: OutputCollector;
  exited?: () => boolean;
}

type Ending = { kind: "exit"; code: number } | { kind: "clock"; clock: "wall" | "cpu" | "silence" } | { kind: "abort" };

export async function runCommand(launcher: Launcher, run: CommandRun, options: RunOptions): Promise<CommandOutcome> {
  const startedAt = performance.now();
  const seen: Seen = {};
  try {
    return await follow(launcher, run, options, seen);
  } catch (error) {
    const gone = error instanceof SandboxError && error.code === "SANDBOX_OUTCOME_UNKNOWN";
    if (!gone || seen.collector === undefined || !(await run.endedByMemory())) {
      if (gone && seen.exited?.() !== true) run.leaveRunning();
      throw error;
    }
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

async function follow(launcher: Launcher, run: CommandRun, options: RunOptions, seen: Seen): Promise<CommandOutcome> {
  const nonce = randomBytes(16).toString("hex");
  const collector = new OutputCollector({
    marker: endMarker(nonce),
    capBytes: run.limits.outputBytes,
    onText: options.onOutput,
  });
  seen.collector = collector;
  const startedAt = performance.now();
  const times = watchTimes(launcher, nonce, run, options);
  seen.exited = times.exited;
  launcher.onOutput = (chunk) => {
    times.heard();
    collector.push(chunk);
  };
  const request = renderScript({
    kind: run.command.kind,
    text: run.command.text,
    state: run.state,
    // The processor clock covers all processes together. This limit stops a process that outlives its worker.
    ulimits: { cpuSeconds: Math.ceil(run.limits.cpuMs / 1000) + 1, fileBytes: largestFile(run.limits) },
  });
  launcher.write(Buffer.concat([Buffer.from(runLine(request.length, nonce, run.limits.pids, run.fresh)), request]));

  const over = new AbortController();
  let ending: Ending;
  try {
    ending = await Promise.race([
      exit(launcher, nonce, run, over.signal),
      startClock(times, run, over.signal),
      wallClock(times, run, over.signal),
      silenceClock(times, run, over.signal),
      cpuClock(run, () => parseLauncherReport(nonce, launcher.report).cpuMsBefore, over.signal),
      abortion(options.signal, over.signal),
    ]);
    if (ending.kind !== "exit") await kill(launcher, nonce, run, over.signal, ending.kind);
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
  // The guard reports the start before it lets the shell continue. Without that report no part of the command ran.
  if (parsed.pid === undefined) throw new NotBegun();
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

/** The guard is gone, so all processes of the session are ended. */
async function endAll(run: CommandRun): Promise<void> {
  const swept = run.killAll().then(
    () => true,
    () => false,
  );
  if (!(await Promise.race([swept, pause(KILL_MS, false)]))) await endContainer(run);
}

/** This ends the session too. The next command finds it lost. */
async function endContainer(run: CommandRun): Promise<void> {
  await run.endSession().catch((error: unknown) => {
    throw outcomeUnknown(run.session, "it could not be ended: its engine does not answer", error);
  });
}

/** Resolves when the engine reports the end of the exec. A report or the end of the stream only triggers the question. */
async function exit(launcher: Launcher, nonce: string, run: CommandRun, over: AbortSignal): Promise<Ending> {
  await launcher.until((report) => report.includes(`${nonce} exit `));
  let wait = 1;
  let lateAt: number | undefined;
  for (;;) {
    const exec = await launcher.inspect().catch((error: unknown) => {
      throw outcomeUnknown(run.session, "its container or engine is gone", error);
    });
    const { exited } = parseLauncherReport(nonce, launcher.report);
    if (!exec.Running && exec.ExitCode !== null) {
      // When a container ends, its execs end with 137 too. The code belongs to the command only if the container is still alive.
      if (!exited) await requireLiving(run);
      return { kind: "exit", code: exec.ExitCode };
    }
    if (launcher.ended) await requireLiving(run);
    lateAt ??= exited ? performance.now() + run.host.bounds.callMs : undefined;
    if (lateAt !== undefined && performance.now() > lateAt)
      throw outcomeUnknown(run.session, "it ended, and its engine does not say how", run.host.late("end it"));
    await pause(wait, undefined, { signal: over }).catch(() => {});
    if (over.aborted) return { kind: "abort" };
    wait = Math.min(wait * 2, 250);
  }
}

async function requireLiving(run: CommandRun): Promise<void> {
  const living = await isLiving(run).catch((error: unknown) => {
    throw outcomeUnknown(run.session, "its container or engine is gone", error);
  });
  if (!living) throw outcomeUnknown(run.session, "its container ended");
}

async function kill(
  launcher: Launcher,
  nonce: string,
  run: CommandRun,
  over: AbortSignal,
  why: "clock" | "abort",
): Promise<void> {
  launcher.write("\n");
  let answered = true;
  const gone = async (ms: number): Promise<boolean> => {
    const giveUp = AbortSignal.any([AbortSignal.timeout(ms), over]);
    while (!giveUp.aborted) {
      const asked = launcher.inspect().catch(() => undefined);
      const exec = await Promise.race([asked, aborted(giveUp)]);
      answered = exec !== undefined;
      if (exec === undefined) return false;
      const report = parseLauncherReport(nonce, launcher.report);
      if (!exec.Running && (report.exited || launcher.ended)) return true;
      await pause(10);
    }
    return false;
  };
  if (await gone(GUARD_MS)) return;
  // The engine does not answer, so nothing can be killed now. The command's input is closed, so its guard ends the command as soon as the
  // engine continues, unless the command has stopped the guard. An abort waits for no engine. A clock fires only after the engine has
  // answered.
  if (run.host.pulse.isSilent() || (why === "abort" && !answered)) {
    run.leaveRunning();
    return launcher.close();
  }
  // The command has stopped its guard, so all processes of the session are ended.
  const swept = run.killAll().catch(() => {});
  if (await gone(KILL_MS)) return await swept;
  // Or the command has made the guard disappear.
  await endContainer(run);
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}

interface Times {
  begun(): boolean;
  exited(): boolean;
  heard(): void;
  /** The remaining time. 0 or less: used up. */
  wallLeftMs(): number;
  silenceLeftMs(): number;
}

/** The command's time starts with the guard's first report. Time spent waiting for the engine is credited. */
function watchTimes(launcher: Launcher, nonce: string, run: CommandRun, { othersMs }: RunOptions): Times {
  const { pulse } = run.host;
  const { wallMs, silenceMs } = run.limits;
  let clock: OwnClock | undefined;
  let stalledBefore = 0;
  let stalledAtOutput = 0;
  launcher.onReport = () => {
    if (clock !== undefined || !launcher.report.includes(nonce)) return;
    stalledBefore = pulse.stalledMs();
    stalledAtOutput = stalledBefore;
    clock = startOwnClock(othersMs);
  };
  return {
    begun: () => clock !== undefined,
    exited: () => parseLauncherReport(nonce, launcher.report).exited,
    heard() {
      clock?.heard();
      stalledAtOutput = pulse.stalledMs();
    },
    wallLeftMs: () =>
      clock === undefined ? wallMs : wallMs + pulse.stalledSince(stalledBefore, wallMs) - clock.ownMs(),
    silenceLeftMs: () =>
      clock === undefined ? silenceMs : silenceMs + pulse.stalledMs() - stalledAtOutput - clock.silentMs(),
  };
}

/**
 * If a command does not start although the engine can start another program, the session's own processes block it. Otherwise the engine is
 * at fault.
 */
async function startClock(times: Times, run: CommandRun, over: AbortSignal): Promise<Ending> {
  await passed(Math.max(run.host.bounds.startMs, run.limits.wallMs), over);
  if (!times.begun()) {
    await requireLiving(run);
    if (!times.begun()) return { kind: "clock", clock: "wall" };
  }
  return await new Promise<never>(() => {});
}

async function wallClock(times: Times, run: CommandRun, over: AbortSignal): Promise<Ending> {
  await usedUp(times.wallLeftMs, times, run, over, Number.POSITIVE_INFINITY);
  return { kind: "clock", clock: "wall" };
}

async function silenceClock(times: Times, run: CommandRun, over: AbortSignal): Promise<Ending> {
  const step = Math.max(SILENCE_CHECK_MS, run.limits.silenceMs / 4);
  await usedUp(times.silenceLeftMs, times, run, over, step);
  return { kind: "clock", clock: "silence" };
}

/** Checks again after the engine has answered, because the length of a stall is known only then. */
async function usedUp(
  leftMs: () => number,
  times: Times,
  run: CommandRun,
  over: AbortSignal,
  stepMs: number,
): Promise<void> {
  for (;;) {
    for (let left = leftOf(leftMs, run); left > 0; left = leftOf(leftMs, run))
      await passed(Math.max(10, Math.min(Math.ceil(left), stepMs)), over);
    await run.host.pulse.confirm().catch((error: unknown) => {
      throw outcomeUnknown(run.session, "its engine does not answer", error);
    });
    if (times.exited()) return await new Promise<never>(() => {});
    if (leftOf(leftMs, run) <= 0) return;
  }
}

function leftOf(leftMs: () => number, run: CommandRun): number {
  try {
    return leftMs();
  } catch (error) {
    throw outcomeUnknown(run.session, "its engine stalls again and again", error);
  }
}

/** Asks the engine no sooner than the command could have used up its time on all its cores. */
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

/** Resolves after the time. It never resolves once the command is over, so that no clock fires late. */
function passed(ms: number, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (over.aborted) return;
    const timer = setTimeout(resolve, ms);
    over.addEventListener("abort", () => clearTimeout(timer), { once: true });
  });
}
