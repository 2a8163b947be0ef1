// A session in its container. Invariants:
// 1. Nothing here is needed to serve the session: another worker builds the same from the container alone.
// 2. Commands run one after the other: in this process by a queue, between processes by the engine's list of running execs.

import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type Docker from "dockerode";
import { startOf } from "../carry-state.ts";
import { checkCommand, limitsOfCommand } from "../check-spec.ts";
import { type Changes, rewind, type Snapshot, takeChanges, takeSnapshot, type WorkspaceAccess } from "../checkpoint/workspace.ts";
import {
  ANSWER_BYTES,
  fileProgramFailed,
  parseFileRead,
  parseFileWritten,
  readFileCommand,
  writeFileCommand,
} from "../file-program.ts";
import type { Limits } from "../limits.ts";
import {
  type CommandOutcome,
  type CommandSpec,
  type FileRead,
  type FileWritten,
  type Rewind,
  type RunOptions,
  type Session,
  type SessionState,
  WORKSPACE,
} from "../port.ts";
import { workspaceOf } from "./container-workspace.ts";
import type { EngineHost } from "./engine-host.ts";
import { Launcher } from "./launcher.ts";
import { parseLauncherReport, sweepLine, unpackLine } from "./launcher-script.ts";
import { runCommand } from "./run-command.ts";
import { runTool } from "./run-tool.ts";
import { filesFailed, sessionBusy, sessionLost, translateEngineError } from "./translate-engine-error.ts";

const POLL_MS = 10;
/** An exec another worker created but did not start within this is an abandoned one. */
const UNSTARTED_MS = 200;
/** How long a waiting command outlasts the longest command that may be ahead of it. */
const BUSY_GRACE_MS = 20_000;
/** A launcher started ahead counts as running to other workers, so an unused one is let go soon. */
const STANDBY_MS = 500;

export interface SessionPlace {
  readonly id: string;
  readonly host: EngineHost;
  readonly container: Docker.Container;
  readonly uid: number;
  readonly limits: Limits;
}

export class DockerSession implements Session {
  readonly id: string;
  readonly attached: boolean;
  readonly #place: SessionPlace;
  readonly #remove: () => Promise<void>;
  readonly #first: SessionState;
  #state: SessionState;
  #standby: { launcher: Launcher; timer: NodeJS.Timeout } | undefined;
  #last: Promise<unknown> = Promise.resolve();

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
    this.id = place.id;
    this.attached = options.attached;
    this.#place = place;
    this.#first = options.first;
    this.#state = options.state;
    this.#remove = options.remove;
    if (options.standby !== undefined) {
      const timer = setTimeout(() => this.#takeStandby()?.close(), STANDBY_MS);
      this.#standby = { launcher: options.standby, timer };
    }
  }

  get state(): SessionState {
    return this.#state;
  }

  run(command: CommandSpec, options: RunOptions = {}): Promise<CommandOutcome> {
    checkCommand(command);
    return this.#withLauncher(options.signal, async (launcher) => {
      const { container, limits } = this.#place;
      const outcome = await runCommand(
        launcher,
        {
          session: this.id,
          container,
          command,
          ...startOf(command, this.#state, this.#first),
          limits: limitsOfCommand(limits, command),
          killAll: () => this.#killAll(),
        },
        options,
      );
      this.#state = outcome.state;
      return outcome;
    });
  }

  async readFile(path: string, { maxBytes }: { readonly maxBytes: number }): Promise<FileRead> {
    return await this.#withFile(readFileCommand(WORKSPACE, path, maxBytes), undefined, maxBytes, parseFileRead);
  }

  async writeFile(path: string, bytes: Uint8Array): Promise<FileWritten> {
    return await this.#withFile(writeFileCommand(WORKSPACE, path, bytes.length), bytes, 0, parseFileWritten);
  }

  #withFile<T>(
    command: readonly string[],
    input: Uint8Array | undefined,
    maxBytes: number,
    parse: (answer: Buffer) => T | undefined,
  ): Promise<T> {
    return this.#inTurn(async () => {
      this.#takeStandby()?.close();
      await this.#requireTurn(undefined);
      const { container, uid, host } = this.#place;
      try {
        const { stdout, stderr } = await runTool(container, uid, command, input, maxBytes + ANSWER_BYTES);
        const answer = parse(stdout);
        if (answer === undefined) throw fileProgramFailed(this.id, stderr);
        return answer;
      } catch (error) {
        throw translateEngineError(error, { host: host.address, act: "reach a file", session: this.id });
      }
    });
  }

  snapshot(): Promise<Snapshot> {
    return this.#quietly(() => takeSnapshot(workspaceOf(this.#place)));
  }

  changes(since: Snapshot | null, { maxBytes }: { readonly maxBytes: number }): Promise<Changes> {
    return this.#quietly(() => takeChanges(workspaceOf(this.#place), since, maxBytes));
  }

  rewind({ snapshot, parts, state }: Rewind): Promise<Snapshot> {
    const access = workspaceOf(this.#place);
    return this.#inTurn(async () => {
      // The command of a worker that lost the lease may still run: it ends here, and its exec with it.
      await this.#endAllBut(access, snapshot.instance === access.instance ? snapshot.processes : []);
      const now = await rewind(access, snapshot, parts);
      this.#state = state ?? this.#first;
      return now;
    });
  }

  endAllBut(processes: readonly string[]): Promise<void> {
    return this.#inTurn(() => this.#endAllBut(workspaceOf(this.#place), processes));
  }

  async #endAllBut(access: WorkspaceAccess, processes: readonly string[]): Promise<void> {
    this.#takeStandby()?.close();
    await access.killAllBut(new Set(processes));
    await this.#requireTurn(undefined);
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

  /** Kills every process of the session's uid: one exec kills what it finds, and tells. */
  async #killAll(): Promise<void> {
    const launcher = await Launcher.start(await Launcher.create(this.#place.container, this.#place.uid));
    const nonce = randomBytes(16).toString("hex");
    launcher.write(sweepLine(nonce));
    await launcher.until((report) => parseLauncherReport(nonce, report).unpacked !== undefined);
    const { unpacked } = parseLauncherReport(nonce, launcher.report);
    launcher.close();
    if (unpacked !== 0) throw sessionLost(this.id);
  }

  /** While no command runs in the container, ours or another worker's. */
  #quietly<T>(act: () => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      this.#takeStandby()?.close();
      await this.#requireTurn(undefined);
      return await act();
    });
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(act);
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
   * Waits until no other worker's exec runs in the container. Each side lists execs after it has registered its own, so at least
   * the later one sees the other; of two not yet started the lower id goes first.
   */
  async #requireTurn(own: string | undefined, signal?: AbortSignal): Promise<void> {
    const { container, host, limits } = this.#place;
    const began = Date.now();
    for (;;) {
      signal?.throwIfAborted();
      const info = await container.inspect();
      if (!info.State.Running) throw sessionLost(this.id);
      const others = (info.ExecIDs ?? []).filter((id) => id !== own);
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
export async function feedFiles(
  launcher: Launcher,
  tar: Uint8Array,
  session: string,
): Promise<void> {
  if (tar.length === 0) return;
  const nonce = randomBytes(16).toString("hex");
  launcher.write(unpackLine(tar.length, nonce));
  launcher.write(tar);
  await launcher.until((report) => parseLauncherReport(nonce, report).unpacked !== undefined);
  const { unpacked } = parseLauncherReport(nonce, launcher.report);
  if (unpacked !== 0) throw filesFailed(session, launcher.diagnostics.replaceAll(nonce, ""));
}
