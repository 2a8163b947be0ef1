// A session in its jail: each command enters the namespaces anew. Invariants:
// 1. This object holds nothing that the session needs: another worker builds the same object from the session's record.
// 2. Commands run one after the other, by a lock in the session's directory. When the lock of a crashed worker is broken, the processes of
//    its command are ended too.

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { isAlive } from "@markmill/base";
import { BaseSession, type FileRequest } from "../base-session.ts";
import { startOf } from "../carry-state.ts";
import { checkCommand, limitsOfCommand } from "../check-spec.ts";
import { PLACES } from "../checkpoint/manifest.ts";
import { listPlaces, readPlaces } from "../checkpoint/read-places.ts";
import type { Snapshot, WorkspaceAccess } from "../checkpoint/workspace.ts";
import { removals, WRITE_PLACES } from "../checkpoint/write-places-script.ts";
import { guardLine } from "../exit-guard-script.ts";
import { ANSWER_BYTES, FILE_MS, fileProgramFailed } from "../file-program.ts";
import type { Limits } from "../limits.ts";
import {
  type CommandOutcome,
  type CommandSpec,
  type ProgramSpec,
  type RunOptions,
  type Session,
  type SessionSpec,
  type StartedProgram,
  WORKSPACE,
} from "../port.ts";
import { runWrapper, type WrapperResult } from "../run-wrapper.ts";
import { baseEnvironment, type CommandUlimits, initialState } from "../session-script.ts";
import { afterNonce, programLaunch, provenEnd } from "../start-program.ts";
import { countOutOfMemory } from "./cgroup.ts";
import { createCpuMeter } from "./cpu-meter.ts";
import { GRACE_MS, type Jail, type LiveRecord, pause, START_MS } from "./jail.ts";
import { PROGRAMS } from "./jail-root-script.ts";
import { guardLaunch, processesOf, toolLaunch } from "./launch.ts";
import { removeSession } from "./make-session.ts";
import { openPipes } from "./open-pipes.ts";
import { runTool, startLaunch, toolFailure } from "./run-tool.ts";
import { isHolding, killAllBut, listInside, signal } from "./session-processes.ts";
import { killFailed, sessionBusy, sessionLost, translateLaunchFailure } from "./translate-host-error.ts";

const OPEN_FILES = 1024;
/** One process may exceed the limit by this much between two checks of the watch, so that the watch, which reports, kills first. */
const WATCH_SLACK_BYTES = 64 * 1024 * 1024;

export class JailSession extends BaseSession implements Session {
  protected readonly workspace = WORKSPACE;
  readonly #jail: Jail;
  readonly #record: LiveRecord;

  constructor(jail: Jail, record: LiveRecord, spec: SessionSpec, attached: boolean) {
    const path = Object.keys(jail.programs).length === 0 ? {} : { PATH: `${baseEnvironment.PATH}:${PROGRAMS}` };
    const first = initialState({ ...path, ...spec.environment });
    super(record.id, attached, first, spec.state ?? first);
    this.#jail = jail;
    this.#record = record;
  }

  async run(command: CommandSpec, options: RunOptions = {}): Promise<CommandOutcome> {
    checkCommand(command);
    return await this.#exclusively(options.signal, async (before) => {
      const first = await this.#runOnce(command, options, before);
      // A command that ended with its session has no result of its own.
      if (!isHolding(this.#record.holder)) throw sessionLost(this.id);
      if (first.started || first.outcome.timedOut !== false) return this.#accept(first);
      // Background processes may have filled the process table, so that not even the launcher could fork. End them once and try again.
      if (!(await killAllBut(this.#record.holder, []))) throw killFailed(this.id);
      const second = await this.#runOnce(command, options, []);
      if (!second.started && second.outcome.timedOut === false) throw translateLaunchFailure(second.diagnostics);
      return this.#accept(second);
    });
  }

  async start(program: ProgramSpec): Promise<StartedProgram> {
    const { host } = this.#jail;
    const { holder, uid } = this.#record;
    if (!isHolding(holder)) throw sessionLost(this.id);
    await this.endForeign();
    const { argv, nonce } = programLaunch(host.tools.bash, program, this.first, {
      ...this.#ulimits(this.#record.limits),
      fileBytes: this.#record.limits.diskBytes + 1024 * 1024,
    });
    const { theirs, stdin, stdout, stderr, release } = await openPipes(host.tools.bash, uid);
    const child = startLaunch(toolLaunch(host, this.#record, holder.pid, argv), theirs);
    release();
    for (const stream of [stdin, stdout, stderr]) stream.on("error", () => {});
    const said = afterNonce(stderr, nonce);
    const ended = provenEnd(child, said, {
      refusal: () => (isHolding(holder) ? null : sessionLost(this.id)),
      notStarted: translateLaunchFailure,
    });
    return { stdin, stdout, stderr: said.stream, ended };
  }

  #ulimits(limits: Limits): CommandUlimits {
    return {
      // The processor clock covers all processes together and is read from outside. This limit stops a process that outlives that clock.
      cpuSeconds: Math.ceil(limits.cpuMs / 1000) + 1,
      openFiles: OPEN_FILES,
      ...(this.#record.cgroup === undefined ? { dataBytes: limits.memoryBytes * 1.25 + WATCH_SLACK_BYTES } : {}),
    };
  }

  protected async endLeftovers(): Promise<void> {
    await this.#exclusively(undefined, () => this.#killAllBut([]));
  }

  protected async askFile<T>({ command, input, maxBytes, parse }: FileRequest<T>): Promise<T> {
    return await this.#exclusively(undefined, async () => {
      const ask = () => runTool(this.#jail, this.#record, command, input, maxBytes + ANSWER_BYTES, FILE_MS);
      let result = await ask();
      if (parse(result.stdout) === undefined && isHolding(this.#record.holder)) {
        // Background processes may have filled the process table, or stopped or killed the program. End them once and try again.
        if (!(await killAllBut(this.#record.holder, []))) throw killFailed(this.id);
        result = await ask();
      }
      const answer = parse(result.stdout);
      if (answer !== undefined) return answer;
      if (!isHolding(this.#record.holder)) throw sessionLost(this.id);
      throw fileProgramFailed(this.id, result.stderr);
    });
  }

  protected async look<T>(_: string, act: (access: WorkspaceAccess) => Promise<T>): Promise<T> {
    return await this.#exclusively(undefined, () => act(this.#access()));
  }

  protected async takeOver<T>(to: Snapshot, act: (access: WorkspaceAccess) => Promise<T>): Promise<T> {
    // The command of a worker that lost the lease may still run and hold the lock. Both end here.
    await this.endAllBut(to.instance === this.instance ? to.processes : []);
    return await this.look("nothing follows", act);
  }

  async endAllBut(processes: readonly string[]): Promise<void> {
    await this.#killAllBut(processes);
    await this.#jail.directory.breakLock(this.id);
  }

  get instance(): string {
    const { number, holder } = this.#record;
    return `jail-${number}-${holder.startTime}`;
  }

  #access(): WorkspaceAccess {
    const { holder } = this.#record;
    const places = Object.fromEntries(PLACES.map((place) => [place, `/proc/${holder.pid}/root/${place}`]));
    const living = async <T>(act: Promise<T>) => {
      const result = await act;
      // A scan through the root of an ended process finds no files. This must not count as an empty workspace.
      if (!isHolding(holder)) throw sessionLost(this.id);
      return result;
    };
    return {
      instance: this.instance,
      list: (look) => living(listPlaces(places, look)),
      readsCheaply: true,
      read: (paths, maxBytes, look) => living(readPlaces(places, paths, maxBytes, look)),
      write: async (remove, tar) => {
        const { word, list } = removals(remove);
        const { bash } = this.#jail.host.tools;
        const sizes = [word, String(tar.length)];
        const command = [bash, "--noprofile", "--norc", "-c", WRITE_PLACES, "bash", "/", ...sizes, ...PLACES];
        const result = await runTool(this.#jail, this.#record, command, Buffer.concat([list, tar]), 64 * 1024);
        if (result.code !== 0) throw toolFailure(this.#record, "The workspace could not be put back", result);
      },
      processes: async () =>
        listInside(holder)
          .filter(({ pid, parent, state }) => pid !== 1 && parent <= 1 && state !== "Z" && state !== "X")
          .map(({ pid, startTime }) => `${pid}@${startTime}`),
      killAllBut: (processes) => this.#killAllBut([...processes]),
    };
  }

  async #killAllBut(processes: readonly string[]): Promise<void> {
    const keep = processes.map((text) => {
      const [pid, startTime = ""] = text.split("@");
      return { pid: Number(pid), startTime };
    });
    if (await killAllBut(this.#record.holder, keep, { theirs: true })) return;
    await this.end();
    throw killFailed(this.id);
  }

  async end(): Promise<void> {
    await removeSession(this.#jail, this.id);
  }

  #accept(result: WrapperResult): CommandOutcome {
    this.current = result.outcome.state;
    return result.outcome;
  }

  async #runOnce(
    command: CommandSpec,
    options: RunOptions,
    before: readonly { pid: number; startTime: string }[],
  ): Promise<WrapperResult> {
    const { host, directory } = this.#jail;
    const { holder, cgroup, limits: sessionLimits } = this.#record;
    const limits = limitsOfCommand(sessionLimits, command);
    const strikes = async () =>
      (readFileSync(directory.eventsPath(this.id), "utf8").match(/^oom$/gm)?.length ?? 0) +
      (cgroup === undefined ? 0 : await countOutOfMemory(cgroup));
    const strikesBefore = await strikes();
    const { state, fresh } = startOf(command, this.current, this.first);
    return await runWrapper(
      {
        command,
        limits,
        state,
        guarded: true,
        ulimits: this.#ulimits(limits),
        spawn: () => startLaunch(guardLaunch(host, this.#record, holder.pid), ["pipe", "pipe", "pipe"]),
        feed: (child, script, nonce) => {
          const line = guardLine(script.length, nonce, processesOf(host, this.#record), fresh);
          child.stdin?.write(Buffer.concat([Buffer.from(line), script]));
        },
        cpuMs: createCpuMeter(holder, cgroup, Math.max(1, Math.ceil(limits.cpus))),
        kill: async (child, why) => {
          // The guard asks its command to end, then kills it. The guard itself may be gone, stopped or blocked.
          const gone = new Promise((resolve) => child.once("exit", resolve));
          if (why === "ended" && child.exitCode === null && child.signalCode === null) {
            child.stdin?.end("\n");
            await Promise.race([gone, pause(GRACE_MS)]);
          }
          if (!(await killAllBut(holder, why === "lost" || fresh ? [] : before))) {
            await this.end();
            throw killFailed(this.id);
          }
          if (child.pid !== undefined) signal(-child.pid, "SIGKILL");
        },
        outOfMemory: async () => (await strikes()) > strikesBefore,
      },
      options,
    );
  }

  /** Runs one command at a time, across all workers of the host. */
  async #exclusively<T>(
    abort: AbortSignal | undefined,
    act: (before: readonly { pid: number; startTime: string }[]) => Promise<T>,
  ): Promise<T> {
    const { directory } = this.#jail;
    const { holder, limits } = this.#record;
    const giveUp = Date.now() + limits.wallMs + START_MS;
    for (;;) {
      abort?.throwIfAborted();
      if (!isHolding(holder)) throw sessionLost(this.id);
      const before = listInside(holder).map(({ pid, startTime }) => ({ pid, startTime }));
      const token = randomBytes(8).toString("hex");
      const held = await directory.tryLock(this.id, before, token).catch(() => {
        throw sessionLost(this.id);
      });
      if (held === undefined) {
        try {
          return await act(before);
        } finally {
          await directory.unlock(this.id, token);
        }
      }
      if (!isAlive(held.owner)) {
        // Its worker crashed in the middle of a command, so end the processes of that command too.
        await killAllBut(holder, held.before);
        await directory.unlock(this.id, held.token);
      } else if (Date.now() > giveUp) {
        throw sessionBusy(this.id);
      } else {
        await pause(5);
      }
    }
  }
}
