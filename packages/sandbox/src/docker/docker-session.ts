// A session in its container. Invariants:
// 1. This object holds nothing that the session needs: another worker builds the same object from the container alone.
// 2. Commands run one after the other: within this process through a queue, between processes through the engine's list of running execs.

import { randomBytes } from "node:crypto";
import { PassThrough } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import type Docker from "dockerode";
import { BaseSession, type FileRequest } from "../base-session.ts";
import { KILLED } from "../believe-exit-code.ts";
import { startOf } from "../carry-state.ts";
import { checkCommand, limitsOfCommand } from "../check-spec.ts";
import type { Snapshot, WorkspaceAccess } from "../checkpoint/workspace.ts";
import { ANSWER_BYTES, fileProgramFailed } from "../file-program.ts";
import type { Limits } from "../limits.ts";
import { refusedUnpacked } from "../pack-files.ts";
import { createPassOn } from "../pass-on.ts";
import {
  type CommandOutcome,
  type CommandSpec,
  type ProgramSpec,
  type RunOptions,
  type Session,
  type SessionState,
  type StartedProgram,
  WORKSPACE,
} from "../port.ts";
import { SandboxError } from "../sandbox-error.ts";
import { afterNonce, programLaunch } from "../start-program.ts";
import { KEEPER_UID, largestFile } from "./container-template.ts";
import { workspaceOf } from "./container-workspace.ts";
import { Demultiplexer } from "./demultiplex.ts";
import { endedByMemory } from "./ended-by-memory.ts";
import type { EngineHost } from "./engine-host.ts";
import { Launcher } from "./launcher.ts";
import { parseLauncherReport, sweepLine, unpackLine } from "./launcher-script.ts";
import { withHighestScore } from "./memory-scores.ts";
import { type ContainerAt, isLiving, within } from "./prove-life.ts";
import { NotBegun, runCommand } from "./run-command.ts";
import { runTool } from "./run-tool.ts";
import {
  filesFailed,
  isConflict,
  isNotFound,
  launchFailed,
  sessionBusy,
  sessionLost,
  translateEngineError,
} from "./translate-engine-error.ts";

const POLL_MS = 10;
/** If another worker created an exec but did not start it within this time, the exec is abandoned. */
const UNSTARTED_MS = 200;
/** How much longer a command waits than the longest command that may run before it. */
const BUSY_GRACE_MS = 20_000;
/** Other workers see a prepared launcher as a running command, so an unused launcher is closed soon. */
const STANDBY_MS = 500;
/** How often the engine is asked whether a program has ended. Usually the end of its stream arrives first. */
const PROGRAM_POLL_MS = 200;
const DRAIN_MS = 200;

export interface SessionPlace {
  readonly id: string;
  readonly host: EngineHost;
  readonly container: Docker.Container;
  readonly uid: number;
  readonly limits: Limits;
}

export class DockerSession extends BaseSession implements Session {
  protected readonly workspace = WORKSPACE;
  endedByCommand = false;
  leftRunning = false;
  readonly #place: SessionPlace;
  readonly #remove: () => Promise<void>;
  #standby: { launcher: Launcher; timer: NodeJS.Timeout } | undefined;
  #last: Promise<unknown> = Promise.resolve();
  /** Execs created by `start`. They run beside the commands, and commands do not wait for them. */
  readonly #beside = new Set<string>();

  constructor(
    place: SessionPlace,
    options: {
      attached: boolean;
      first: SessionState;
      state: SessionState;
      standby?: Launcher;
      remove: () => Promise<void>;
    },
  ) {
    super(place.id, options.attached, options.first, options.state);
    this.#place = place;
    this.#remove = options.remove;
    if (options.standby !== undefined) this.#keepStandby(options.standby);
  }

  async run(command: CommandSpec, options: RunOptions = {}): Promise<CommandOutcome> {
    checkCommand(command);
    try {
      return await this.#runOnce(command, options);
    } catch (error) {
      if (!(error instanceof NotBegun)) throw error;
      await this.endLeftovers();
      return await this.#runOnce(command, options).catch(async (again: unknown) => {
        throw again instanceof NotBegun ? await this.#endSession() : again;
      });
    }
  }

  #runOnce(command: CommandSpec, options: RunOptions): Promise<CommandOutcome> {
    return this.#withLauncher(options.signal, async (launcher) => {
      const { container, host, limits } = this.#place;
      const outcome = await runCommand(
        launcher,
        {
          session: this.id,
          container,
          host,
          command,
          ...startOf(command, this.current, this.first),
          limits: limitsOfCommand(limits, command),
          killAll: () => this.#killAll(),
          endSession: () => this.#endSession(),
          leaveRunning: () => {
            this.leftRunning = true;
          },
          endedByMemory: () => this.#endedByMemory(),
        },
        options,
      );
      this.current = outcome.state;
      return outcome;
    });
  }

  async start(program: ProgramSpec): Promise<StartedProgram> {
    const { container, uid, host, limits } = this.#place;
    await this.endForeign();
    const { argv, nonce } = programLaunch("bash", program, this.first, {
      cpuSeconds: Math.ceil(limits.cpuMs / 1000) + 1,
      fileBytes: largestFile(limits),
    });
    try {
      const exec = await container.exec({
        Cmd: withHighestScore(argv),
        User: `${uid}:${uid}`,
        WorkingDir: "/",
        AttachStdin: true,
        AttachStdout: true,
        AttachStderr: true,
      });
      this.#beside.add(exec.id);
      const sentAt = performance.now();
      const stalledBefore = host.pulse.stalledMs();
      const stream = await exec.start({ hijack: true, stdin: true });
      const stdout = new PassThrough();
      const raw = new PassThrough();
      const said = afterNonce(raw, nonce);
      const passOn = createPassOn(stream);
      const demultiplexer = new Demultiplexer((name, chunk) => {
        // The engine client reuses the stream's buffer, so copy the chunk.
        passOn(name === "stdout" ? stdout : raw, Buffer.from(chunk));
      });
      const closed = new Promise<void>((resolve) => {
        stream.on("data", (chunk: Buffer) => demultiplexer.push(chunk));
        stream.on("end", resolve).on("close", resolve).on("error", resolve);
      });
      void closed.then(() => {
        stdout.end();
        raw.end();
      });
      let over = false;
      let begunAt: number | undefined;
      void closed.then(() => {
        over = true;
      });
      raw.on("data", () => {
        if (said.started()) begunAt ??= performance.now();
      });
      const ended = this.#exitOf(exec, closed, said);
      ended.catch(() => {});
      const lostMs = async () => {
        await host.pulse.confirm();
        // The program has ended; only the engine's report is missing.
        if (over) return performance.now() - sentAt;
        if (begunAt === undefined && performance.now() - sentAt > host.bounds.startMs)
          throw launchFailed(this.id, "it did not begin");
        return (begunAt ?? performance.now()) - sentAt + host.pulse.stalledSince(stalledBefore, limits.wallMs);
      };
      return { stdin: stream, stdout, stderr: said.stream, ended, lostMs };
    } catch (error) {
      throw translateEngineError(error, { host: host.address, act: "start a program", session: this.id });
    }
  }

  /**
   * Returns the exit code from the engine. A background process may hold the stream long after the program ended, so this does not wait for
   * the end of the stream.
   */
  async #exitOf(
    exec: Docker.Exec,
    closed: Promise<void>,
    said: { started: () => boolean; diagnostics: () => string },
  ): Promise<number> {
    const { host } = this.#place;
    try {
      let overAt: number | undefined;
      void closed.then(() => {
        overAt = performance.now();
      });
      for (let wait = POLL_MS; ; wait = Math.min(wait * 2, PROGRAM_POLL_MS)) {
        const { Running, ExitCode } = await exec.inspect();
        if (!Running && ExitCode !== null) {
          await Promise.race([closed, pause(DRAIN_MS)]);
          // The engine also reports 137 for a program whose container ended meanwhile, and it may still report that container as running.
          if (ExitCode === 137 && !(await isLiving(this.#place))) throw sessionLost(this.id);
          if (!said.started()) throw launchFailed(this.id, said.diagnostics());
          return ExitCode;
        }
        if (overAt !== undefined) {
          await this.#requireRunning();
          if (performance.now() - overAt > host.bounds.callMs) throw host.late("end a program");
        }
        await Promise.race([overAt === undefined ? closed : pause(POLL_MS), pause(wait)]);
      }
    } catch (error) {
      const translated = translateEngineError(error, {
        host: host.address,
        act: "wait for a program",
        session: this.id,
      });
      if (translated.code === "SANDBOX_SESSION_LOST" && said.started() && (await this.#endedByMemory())) return KILLED;
      throw translated;
    } finally {
      this.#beside.delete(exec.id);
    }
  }

  /** Called only when the container is gone. */
  async #endedByMemory(): Promise<boolean> {
    const { container, host } = this.#place;
    this.endedByCommand = await endedByMemory(host.docker, container.id);
    return this.endedByCommand;
  }

  async #requireRunning(): Promise<void> {
    const { State } = await this.#place.container.inspect();
    if (!State.Running) throw sessionLost(this.id);
  }

  protected endLeftovers(): Promise<void> {
    return this.#inTurn(async () => {
      this.#takeStandby()?.close();
      await this.#requireTurn(undefined);
      await this.#endAll();
    });
  }

  async #endAll(): Promise<void> {
    await this.#killAll().catch((error: unknown) => {
      throw translateEngineError(error, { host: this.#place.host.address, act: "end a command", session: this.id });
    });
  }

  protected askFile<T>({ command, input, maxBytes, parse }: FileRequest<T>): Promise<T> {
    return this.#inTurn(async () => {
      this.#takeStandby()?.close();
      await this.#requireTurn(undefined);
      const { container, uid, host } = this.#place;
      const ask = async () => {
        const stalledBefore = host.pulse.stalledMs();
        const { stdout, stderr } = await runTool(container, uid, command, input, maxBytes + ANSWER_BYTES);
        const answer = parse(stdout);
        if (answer !== undefined) return { answer, stderr };
        // No answer: did the program fail, or did its container or engine fail?
        if (!(await isLiving(this.#place))) throw sessionLost(this.id);
        if (host.pulse.stalledMs() > stalledBefore) throw host.pulse.unreachable();
        return { stderr };
      };
      try {
        const first = await ask();
        if (first.answer !== undefined) return first.answer;
        // Background processes may have filled the process table, or stopped or killed the program. End them and run the program again.
        await this.#killAll();
        const { answer, stderr } = await ask();
        if (answer !== undefined) return answer;
        throw fileProgramFailed(this.id, stderr);
      } catch (error) {
        throw translateEngineError(error, { host: host.address, act: "reach a file", session: this.id });
      }
    });
  }

  protected takeOver<T>(_: Snapshot, act: (access: WorkspaceAccess) => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      this.#takeStandby()?.close();
      let launcher: Launcher | undefined;
      const access = this.#workspace(async () => {
        if (launcher === undefined || launcher.ended) launcher = await this.#startLauncher(undefined);
        return launcher;
      });
      try {
        // The command of a worker that lost the lease may still run. The first action ends it, and its exec with it.
        return await act(access);
      } catch (error) {
        if (launcher !== undefined && (await this.#wasKilled(error, launcher))) throw await this.#endSession();
        throw error;
      } finally {
        launcher?.close();
      }
    });
  }

  endAllBut(processes: readonly string[]): Promise<void> {
    return this.#inTurn(async () => {
      this.#takeStandby()?.close();
      const access = this.#workspace(() => this.#startLauncher(undefined));
      this.leftRunning = true;
      await access.killAllBut(new Set(processes));
      await this.#requireTurn(undefined);
      this.leftRunning = false;
    });
  }

  get instance(): string {
    return this.#place.container.id;
  }

  end(): Promise<void> {
    this.#takeStandby()?.close();
    return this.#remove();
  }

  #takeStandby(): Launcher | undefined {
    const standby = this.#standby;
    clearTimeout(standby?.timer);
    this.#standby = undefined;
    return standby === undefined || standby.launcher.ended ? undefined : standby.launcher;
  }

  /** Kills every process of the session's uid: one exec kills all processes that it finds, and reports the result. */
  async #killAll(): Promise<void> {
    const { container, uid, host } = this.#place;
    const launcher = await Launcher.start(await Launcher.create(container, uid));
    const nonce = randomBytes(16).toString("hex");
    launcher.write(sweepLine(nonce));
    const late = setTimeout(() => launcher.close(), host.bounds.killMs);
    await launcher.until((report) => parseLauncherReport(nonce, report).unpacked !== undefined);
    clearTimeout(late);
    const { unpacked } = parseLauncherReport(nonce, launcher.report);
    launcher.close();
    if (unpacked === 0) return;
    throw await this.#endSession();
  }

  /**
   * Ends the session, because its processes kill or stop our own programs in it, including the program that should end them: all have the
   * same user. The session is created again from its checkpoint, without those processes.
   */
  async #endSession(): Promise<SandboxError> {
    const { container, host } = this.#place;
    await host.pulse.confirm();
    const ended = await container.kill().then(
      () => true,
      (error: unknown) => {
        if (isNotFound(error) || isConflict(error)) return false;
        throw error;
      },
    );
    // If the container had ended already, it may have ended for another reason.
    if (ended) this.endedByCommand = true;
    return sessionLost(this.id);
  }

  /** The launcher that made the scan can run the next command. */
  protected look<T>(
    then: "a command follows" | "nothing follows",
    act: (access: WorkspaceAccess) => Promise<T>,
  ): Promise<T> {
    return this.#inTurn(async () => {
      const lookOnce = async (launcher: Launcher) => {
        try {
          const result = await act(this.#workspace(async () => launcher));
          if (then === "a command follows" && !launcher.ended) this.#keepStandby(launcher);
          else launcher.close();
          return result;
        } catch (error) {
          if (await this.#wasKilled(error, launcher)) throw new NotBegun();
          launcher.close();
          throw error;
        }
      };
      try {
        return await lookOnce(this.#takeStandby() ?? (await this.#startLauncher(undefined)));
      } catch (error) {
        if (!(error instanceof NotBegun)) throw error;
        await this.#killAll();
        return await lookOnce(await this.#startLauncher(undefined)).catch(async (again: unknown) => {
          throw again instanceof NotBegun ? await this.#endSession() : again;
        });
      }
    });
  }

  /** Whether another process of the session killed the launcher, while the container is still alive. */
  async #wasKilled(error: unknown, launcher: Launcher): Promise<boolean> {
    if (!(error instanceof SandboxError && error.code === "SANDBOX_SESSION_LOST")) return false;
    const exec = await launcher.inspect().catch(() => undefined);
    if (exec === undefined || exec.Running || (exec.ExitCode ?? 0) <= 128) return false;
    return await isLiving(this.#place).catch(() => false);
  }

  #workspace(launcher: () => Promise<Launcher>): WorkspaceAccess {
    return workspaceOf({ ...this.#place, endSession: () => this.#endSession() }, launcher);
  }

  #keepStandby(launcher: Launcher): void {
    const timer = setTimeout(() => this.#takeStandby()?.close(), STANDBY_MS);
    this.#standby = { launcher, timer };
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(async () => {
      if (this.leftRunning) await this.#endAll();
      this.leftRunning = false;
      return await act();
    });
    this.#last = turn.catch(() => {});
    return turn;
  }

  #withLauncher<T>(signal: AbortSignal | undefined, act: (launcher: Launcher) => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      signal?.throwIfAborted();
      const launcher = this.#takeStandby() ?? (await this.#startLauncher(signal));
      try {
        return await act(launcher);
      } finally {
        launcher.close();
      }
    });
  }

  async #startLauncher(signal: AbortSignal | undefined): Promise<Launcher> {
    const { container, uid, host } = this.#place;
    try {
      const exec = await Launcher.create(container, uid);
      await this.#requireTurn(exec.id, signal);
      return await Launcher.start(exec);
    } catch (error) {
      if (signal?.aborted) throw error;
      throw translateEngineError(error, { host: host.address, act: "start a command", session: this.id });
    }
  }

  /**
   * Waits until no other worker's exec runs in the container. Each worker lists the execs after it has registered its own, so at least the
   * later worker sees the other. If both have not started yet, the lower id goes first.
   */
  async #requireTurn(own: string | undefined, signal?: AbortSignal): Promise<void> {
    const { container, host, limits } = this.#place;
    const began = Date.now();
    for (;;) {
      signal?.throwIfAborted();
      const info = await container.inspect();
      if (!info.State.Running) throw sessionLost(this.id);
      const others = (info.ExecIDs ?? []).filter((id) => id !== own && !this.#beside.has(id));
      const ahead = await Promise.all(
        others.map(async (id) => {
          const exec = await host.docker
            .getExec(id)
            .inspect()
            .catch(() => undefined);
          if (exec === undefined || exec.ExitCode !== null) return false;
          return exec.Running || (own !== undefined && id < own && Date.now() - began < UNSTARTED_MS);
        }),
      );
      if (!ahead.includes(true)) return;
      if (Date.now() - began > limits.wallMs + BUSY_GRACE_MS) throw sessionBusy(this.id);
      await pause(POLL_MS);
    }
  }
}

/** Unpacks a tar in the workspace, inside the container and as the session's user. */
export async function feedFiles(host: EngineHost, launcher: Launcher, tar: Uint8Array, session: string): Promise<void> {
  if (tar.length === 0) return;
  const nonce = randomBytes(16).toString("hex");
  launcher.write(unpackLine(tar.length, nonce));
  launcher.write(tar);
  const unpackedBy = (report: string) => parseLauncherReport(nonce, report).unpacked;
  await within(
    host,
    "unpack files",
    launcher.until((report) => unpackedBy(report) !== undefined),
  );
  const unpacked = unpackedBy(launcher.report);
  if (unpacked === undefined) throw sessionLost(session, new Error(launcher.diagnostics));
  if (unpacked !== 0) throw unpackFailed(session, launcher.diagnostics.replaceAll(nonce, ""), "files");
}

/** Unpacks read-only trees as the container's keeper. Commands cannot change the keeper's files. */
export async function feedTrees({ host, container }: ContainerAt, tar: Uint8Array, session: string): Promise<void> {
  if (tar.length > 0) await within(host, "unpack files", unpackTrees(container, tar, session));
}

async function unpackTrees(container: Docker.Container, tar: Uint8Array, session: string): Promise<void> {
  const exec = await container.exec({
    Cmd: ["tar", "-x", "-C", "/", "--no-same-owner", "-f", "-"],
    User: `${KEEPER_UID}:${KEEPER_UID}`,
    WorkingDir: "/",
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
  });
  const stream = await exec.start({ hijack: true, stdin: true });
  let said = "";
  const demultiplexer = new Demultiplexer((_, chunk) => {
    if (said.length < 4000) said += chunk.toString("latin1");
  });
  await new Promise<void>((resolve) => {
    stream.on("data", (chunk: Buffer) => demultiplexer.push(chunk));
    stream.on("end", resolve).on("close", resolve).on("error", resolve);
    stream.end(tar);
  });
  let result = await exec.inspect();
  while (result.Running) {
    await pause(POLL_MS);
    result = await exec.inspect();
  }
  // When a container ends, its execs end with 137. 126 means that the exec found the container already ended.
  if (result.ExitCode === 137 || (result.ExitCode === 126 && !(await container.inspect()).State.Running))
    throw sessionLost(session);
  if (result.ExitCode !== 0) throw unpackFailed(session, said, "trees");
}

function unpackFailed(session: string, said: string, unpacked: "files" | "trees"): SandboxError {
  return refusedUnpacked(said, unpacked) ?? filesFailed(session, said);
}
