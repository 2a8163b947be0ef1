// The sandbox for machines without Docker: one set of Linux namespaces per session, held by its own pid 1 (jail-root-script),
// entered anew for each command (launch). Invariants:
// 1. A session does not need the process that made it: all it takes to serve or end it is in its directory.
// 2. Every limit is enforced or the session is refused. Memory: pid 1 watches the sum of all processes; behind it stands a
//    cgroup (which counts tmpfs files too and is that much wider) or, without one, RLIMIT_DATA per process. Processes: RLIMIT_NPROC of the jail's own namespace. Cores: a cgroup, else affinity. Disk: tmpfs sizes.
// 3. As root every session has its own high uid on the host.

import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { closeSync, constants as fsConstants, openSync, readFileSync, readlinkSync } from "node:fs";
import { open as openFile } from "node:fs/promises";
import { constants as osConstants } from "node:os";
import { isAbsolute } from "node:path";
import { isAlive, ownIdentity, readProcessStat } from "@markmill/process-identity";
import { startOf } from "../carry-state.ts";
import { checkCommand, checkSessionId, checkSessionSpec, limitsOfCommand } from "../check-spec.ts";
import type { LookBounds } from "../checkpoint/look.ts";
import { PLACES } from "../checkpoint/manifest.ts";
import { listPlaces, readPlaces } from "../checkpoint/read-places.ts";
import { rewind } from "../checkpoint/rewind.ts";
import {
  type Changes,
  type ChangesOptions,
  type Snapshot,
  takeChanges,
  takeSnapshot,
  type WorkspaceAccess,
} from "../checkpoint/workspace.ts";
import { removals, WRITE_PLACES } from "../checkpoint/write-places-script.ts";
import {
  ANSWER_BYTES,
  FILE_MS,
  fileProgramFailed,
  parseFileRead,
  parseFileWritten,
  readFileCommand,
  writeFileCommand,
} from "../file-program.ts";
import { guardLine } from "../guard-script.ts";
import { LeaseKeeper } from "../lease.ts";
import type { Limits } from "../limits.ts";
import { packFiles, packTrees } from "../pack-files.ts";
import {
  type CommandOutcome,
  type CommandSpec,
  type FileRead,
  type FileWritten,
  type ListedSession,
  type ProgramSpec,
  type Rewind,
  type RunOptions,
  type Sandbox,
  type Session,
  type SessionSpec,
  type SessionState,
  type StartedProgram,
  WORKSPACE,
} from "../port.ts";
import { runWrapper, type WrapperResult } from "../run-wrapper.ts";
import type { SandboxError } from "../sandbox-error.ts";
import { baseEnvironment, type CommandUlimits, initialState } from "../session-script.ts";
import { afterNonce, programLaunch } from "../start-program.ts";
import { noCgroup } from "../thin-walls.ts";
import { cgroupFor, countOutOfMemory, createCgroup, removeCgroup } from "./cgroup.ts";
import { createCpuMeter } from "./cpu-meter.ts";
import { detectHost, type HostPreferences, type JailHost } from "./detect-host.ts";
import { packEtc } from "./etc-files.ts";
import { JAIL_ROOT_SCRIPT, PROGRAMS } from "./jail-root-script.ts";
import {
  guardLaunch,
  holderLaunch,
  type Launch,
  type Programs,
  processesOf,
  toolLaunch,
  trialLaunch,
} from "./launch.ts";
import { openPipes } from "./open-pipes.ts";
import { type Holder, SessionDirectory, type SessionRecord } from "./session-directory.ts";
import { endLaunchers, isHolding, killAllBut, listInside, signal } from "./session-processes.ts";
import {
  filesFailed,
  killFailed,
  programInvalid,
  sessionBusy,
  sessionLost,
  translateLaunchFailure,
} from "./translate-host-error.ts";

/** Uids of this range belong to nobody: above what distributions and container ranges hand out, below 2^31. */
const FIRST_UID = 0x7000_0000;
const UIDS = 0x0f00_0000;

const START_MS = 20_000;
const TOOL_MS = 120_000;
const GRACE_MS = 300;
const REMOVE_MS = 10_000;
const OPEN_FILES = 1024;
/** One process may grow this much past the limit between two looks of the watch, so that the watch, which reports, strikes first. */
const WATCH_SLACK_BYTES = 64 * 1024 * 1024;

export interface JailOptions {
  /** Directory for the sessions' records, private to the worker's user. */
  readonly root: string;
  readonly host?: HostPreferences;
  /**
   * Programs to show besides the host's /usr, last in PATH: by name, the whole path of an executable file. For a runtime that
   * lives in a home or in node_modules, such as `{ node: process.execPath }`.
   */
  readonly programs?: Programs;
}

export interface JailDescription {
  readonly memory: "watch and cgroup v1" | "watch and cgroup v2" | "watch and rlimit";
  readonly cpus: "cgroup v1" | "cgroup v2" | "affinity, whole cores";
  readonly filter: "perl";
  readonly uid: "one per session" | "the worker's";
}

export interface JailSandbox extends Sandbox {
  readonly kind: "jail";
  /** How the limits are enforced on this machine, for doctor. */
  describe(): JailDescription;
}

/** Refuses with a SandboxError when this machine cannot hold a jail. */
export async function createJailSandbox(options: JailOptions): Promise<JailSandbox> {
  const host = await detectHost(options.host);
  await proveNamespaces(host);
  const directory = new SessionDirectory(options.root);
  let etc: Promise<Buffer> | undefined;
  const leases = new LeaseKeeper((id) => renewLease(directory, id));
  const jail: Jail = {
    host,
    directory,
    programs: checkPrograms(options.programs ?? {}),
    leases,
    etc: () => (etc ??= packEtc()),
  };
  return {
    kind: "jail",
    open: async (spec, { signal: abort } = {}) => {
      const session = await openSession(jail, spec, abort);
      leases.keep(spec.id);
      return session;
    },
    list: () => listSessions(jail),
    remove: async (id) => removeSession(jail, checkSessionId(id)),
    thinWalls: async () => (host.cgroups === undefined ? [noCgroup] : []),
    identity: async () =>
      JSON.stringify([
        host.isRoot,
        process.getuid?.(),
        host.tools,
        host.cgroups ?? null,
        host.architecture,
        options.root,
      ]),
    close: async () => leases.close(),
    describe: () => {
      const cgroup = host.cgroups === undefined ? undefined : (`cgroup v${host.cgroups.version}` as const);
      return {
        memory: cgroup === undefined ? "watch and rlimit" : `watch and ${cgroup}`,
        cpus: cgroup ?? "affinity, whole cores",
        filter: "perl",
        uid: host.isRoot ? "one per session" : "the worker's",
      };
    },
  };
}

function checkPrograms(programs: Programs): Programs {
  for (const [name, path] of Object.entries(programs)) {
    if (!/^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/.test(name) || !isAbsolute(path)) throw programInvalid(name, path);
  }
  return programs;
}

async function proveNamespaces(host: JailHost): Promise<void> {
  const child = start(trialLaunch(host, host.isRoot ? FIRST_UID + randomInt(UIDS) : undefined), [
    "pipe",
    "pipe",
    "pipe",
  ]);
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  child.stdin?.on("error", () => {}).end();
  const code = await new Promise((resolve) => child.once("close", resolve).once("error", resolve));
  if (code !== 0) throw translateLaunchFailure(said);
}

interface Jail {
  readonly host: JailHost;
  readonly directory: SessionDirectory;
  readonly programs: Programs;
  readonly leases: LeaseKeeper;
  /** What the jails of this process show of /etc. */
  readonly etc: () => Promise<Buffer>;
}

/** A line the holder reads; no file is made where the session is gone. */
async function renewLease(directory: SessionDirectory, id: string): Promise<void> {
  const events = await openFile(directory.eventsPath(id), fsConstants.O_WRONLY | fsConstants.O_APPEND);
  try {
    await events.write("lease\n");
  } finally {
    await events.close();
  }
}

type LiveRecord = SessionRecord & { readonly holder: Holder };

async function openSession(jail: Jail, spec: SessionSpec, abort?: AbortSignal): Promise<Session> {
  checkSessionSpec(spec);
  const files = await packFiles(spec.files, spec.limits.diskBytes);
  const trees = await packTrees(spec.readOnly ?? [], spec.limits.diskBytes);
  const giveUp = Date.now() + START_MS;
  for (;;) {
    abort?.throwIfAborted();
    const found = await jail.directory.read(spec.id);
    if (isLive(found)) {
      await jail.leases.once(spec.id);
      return new JailSession(jail, found, spec, true);
    }
    if (found === undefined) {
      const made = await makeSession(jail, spec, files, trees);
      if (made !== undefined) return new JailSession(jail, made, spec, false);
    } else if (found.holder !== undefined || !isAlive(found.maker)) {
      await removeSession(jail, spec.id);
    } else if (Date.now() > giveUp) {
      throw sessionBusy(spec.id);
    } else {
      await pause(5);
    }
  }
}

/** Undefined when another process claimed the id first. */
async function makeSession(
  jail: Jail,
  spec: SessionSpec,
  files: Uint8Array,
  trees: Uint8Array,
): Promise<LiveRecord | undefined> {
  const { host, directory } = jail;
  const number = randomInt(UIDS);
  const record: SessionRecord = {
    id: spec.id,
    labels: spec.labels,
    limits: spec.limits,
    number,
    maker: ownIdentity(),
    ...(host.isRoot ? { uid: FIRST_UID + number } : {}),
    ...(host.cgroups === undefined ? {} : { cgroup: cgroupFor(host.cgroups, `markmill-${number}-${spec.id}`) }),
  };
  if (!(await directory.claim(record))) return undefined;
  try {
    if (record.cgroup !== undefined) await createCgroup(record.cgroup, record.limits);
    const places = (spec.readOnly ?? []).map(({ at }) => at);
    return await startHolder(jail, record, places, async (live) => {
      await unpack(jail, live, files, "/workspace");
      await unpack(jail, live, trees, "/");
    });
  } catch (error) {
    await removeSession(jail, spec.id);
    throw error;
  }
}

/** The session is recorded, and so can be attached to, only after `prepare`: files are in before anything else can run. */
async function startHolder(
  { host, directory, programs, etc: packed }: Jail,
  record: SessionRecord,
  trees: readonly string[],
  prepare: (live: LiveRecord) => Promise<void>,
): Promise<LiveRecord> {
  const seconds = Math.max(1, Math.ceil((Date.parse(record.labels.deadline) - Date.now()) / 1000));
  const events = openSync(directory.eventsPath(record.id), "a+", 0o600);
  const etc = await packed();
  const child = start(holderLaunch(host, record, { seconds, programs, trees, etcBytes: etc.length }), [
    "pipe",
    events,
    events,
  ]);
  closeSync(events);
  child.stdin?.on("error", () => {});
  child.stdin?.write(Buffer.concat([Buffer.from(JAIL_ROOT_SCRIPT), etc]));
  const ended = new Promise<"ended">((resolve) =>
    child.once("exit", () => resolve("ended")).once("error", () => resolve("ended")),
  );
  const giveUp = Date.now() + START_MS;
  for (;;) {
    const state = await Promise.race([ended, pause(2)]);
    const said = readFileSync(directory.eventsPath(record.id), "utf8");
    const pid = Number(/^pid (\d+)$/m.exec(said)?.[1]);
    const stat = readProcessStat(pid);
    if (/^ready$/m.test(said) && stat !== undefined) {
      const holder: Holder = { pid, startTime: stat.startTime, pidNamespace: readlinkSync(`/proc/${pid}/ns/pid`) };
      const live = { ...record, holder };
      try {
        await prepare(live);
        await directory.write(live);
      } catch (error) {
        signal(pid, "SIGKILL");
        await ended;
        throw error;
      }
      child.stdin?.end("go\n");
      child.unref();
      if (trees.length > 0) await sealed(directory.eventsPath(record.id), ended, giveUp);
      return live;
    }
    if (state === "ended" || Date.now() > giveUp) {
      if (child.pid !== undefined && state !== "ended") signal(child.pid, "SIGKILL");
      if (stat !== undefined) signal(pid, "SIGKILL");
      throw translateLaunchFailure(said.replace(/^(pid \d+|ready)$/gm, ""));
    }
  }
}

/** The holder makes its read-only trees read-only when it is let go; no command before that. */
async function sealed(events: string, ended: Promise<"ended">, giveUp: number): Promise<void> {
  while (!/^sealed$/m.test(readFileSync(events, "utf8"))) {
    const state = await Promise.race([ended, pause(1)]);
    if (state === "ended" || Date.now() > giveUp) throw translateLaunchFailure(readFileSync(events, "utf8"));
  }
}

async function unpack(jail: Jail, record: LiveRecord, tar: Uint8Array, at: string): Promise<void> {
  if (tar.length === 0) return;
  const result = await runTool(
    jail,
    record,
    [jail.host.tools.tar, "-xf", "-", "-C", at, "--no-same-owner"],
    tar,
    64 * 1024,
  );
  if (result.code !== 0) throw toolFailure(record, "The files could not be unpacked", result);
}

/** Who lists looks after the sessions of this host: a reaper removes what nobody wants, and the rest must live on. */
async function listSessions({ directory, leases }: Jail): Promise<ListedSession[]> {
  const records = await directory.list();
  await Promise.all(records.filter(isLive).map(({ id }) => leases.once(id)));
  return records.map((record) => ({
    id: record.id,
    labels: record.labels,
    status: isLive(record) ? "live" : record.holder === undefined && isAlive(record.maker) ? "starting" : "dead",
  }));
}

async function removeSession({ directory, leases }: Jail, id: string): Promise<void> {
  leases.forget(id);
  const record = await directory.read(id);
  if (record === undefined) return await directory.remove(id);
  const { holder } = record;
  if (holder !== undefined) {
    const held = isHolding(holder);
    if (held) signal(holder.pid, "SIGKILL");
    // The kernel lets pid 1 of a namespace go only after every other process in it.
    const killedAt = Date.now();
    while (held && isAlive(holder)) {
      await pause(2);
      if (Date.now() > killedAt + REMOVE_MS) throw killFailed(id);
      // A live launcher reaps its child by itself; one that hangs is killed.
      if (Date.now() > killedAt + GRACE_MS) await endLaunchers(holder);
    }
  }
  if (record.cgroup !== undefined) await removeCgroup(record.cgroup);
  await directory.remove(id);
}

class JailSession implements Session {
  readonly id: string;
  readonly attached: boolean;
  readonly #jail: Jail;
  readonly #record: LiveRecord;
  readonly #first: SessionState;
  #state: SessionState;

  constructor(jail: Jail, record: LiveRecord, spec: SessionSpec, attached: boolean) {
    this.id = record.id;
    this.attached = attached;
    this.#jail = jail;
    this.#record = record;
    const path = Object.keys(jail.programs).length === 0 ? {} : { PATH: `${baseEnvironment.PATH}:${PROGRAMS}` };
    this.#first = initialState({ ...path, ...spec.environment });
    this.#state = spec.state ?? this.#first;
  }

  get state(): SessionState {
    return this.#state;
  }

  async run(command: CommandSpec, options: RunOptions = {}): Promise<CommandOutcome> {
    checkCommand(command);
    return await this.#exclusively(options.signal, async (before) => {
      const first = await this.#runOnce(command, options, before);
      // A command that died with its session says nothing about the command.
      if (!isHolding(this.#record.holder)) throw sessionLost(this.id);
      if (first.started || first.outcome.timedOut !== false) return this.#accept(first);
      // Background processes may have filled the process table so that not even the launcher could fork: clear it once.
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
    const { argv, nonce } = programLaunch(host.tools.bash, program, this.#first, {
      ...this.#ulimits(this.#record.limits),
      fileBytes: this.#record.limits.diskBytes + 1024 * 1024,
    });
    const { theirs, stdin, stdout, stderr, release } = await openPipes(host.tools.bash, uid);
    const child = start(toolLaunch(host, this.#record, holder.pid, argv), theirs);
    release();
    for (const stream of [stdin, stdout, stderr]) stream.on("error", () => {});
    const said = afterNonce(stderr, nonce);
    const ended = new Promise<number>((resolve, reject) => {
      child.once("error", (error) => reject(translateLaunchFailure(String(error))));
      child.once("exit", (code, name) => {
        void (async () => {
          // The nonce was written before the end; the pipe may bring it after.
          for (let turn = 0; turn < 500 && !said.started() && !stderr.closed; turn += 1) await pause(2);
          if (!isHolding(holder)) reject(sessionLost(this.id));
          else if (!said.started()) reject(translateLaunchFailure(said.diagnostics()));
          else resolve(code ?? 128 + (name === null ? 0 : osConstants.signals[name]));
        })();
      });
    });
    ended.catch(() => {});
    return { stdin, stdout, stderr: said.stream, ended };
  }

  #ulimits(limits: Limits): CommandUlimits {
    return {
      // The processor clock is for all processes together and is read from outside; this stops one that outlives it.
      cpuSeconds: Math.ceil(limits.cpuMs / 1000) + 1,
      openFiles: OPEN_FILES,
      ...(this.#record.cgroup === undefined ? { dataBytes: limits.memoryBytes * 1.25 + WATCH_SLACK_BYTES } : {}),
    };
  }

  async readFile(path: string, { maxBytes }: { readonly maxBytes: number }): Promise<FileRead> {
    return await this.#withFile(readFileCommand(WORKSPACE, path, maxBytes), undefined, maxBytes, parseFileRead);
  }

  async writeFile(path: string, bytes: Uint8Array): Promise<FileWritten> {
    // What foreign commands left running must neither see nor replace what the author writes.
    if (this.#state.leftBy === "foreign") await this.#exclusively(undefined, () => this.#killAllBut([]));
    return await this.#withFile(writeFileCommand(WORKSPACE, path, bytes.length), bytes, 0, parseFileWritten);
  }

  async #withFile<T>(
    command: readonly string[],
    input: Uint8Array | undefined,
    maxBytes: number,
    parse: (answer: Buffer) => T | undefined,
  ): Promise<T> {
    return await this.#exclusively(undefined, async () => {
      const ask = () => runTool(this.#jail, this.#record, command, input, maxBytes + ANSWER_BYTES, FILE_MS);
      let result = await ask();
      if (parse(result.stdout) === undefined && isHolding(this.#record.holder)) {
        // Background processes may have filled the process table, stopped or killed the program: clear them once.
        if (!(await killAllBut(this.#record.holder, []))) throw killFailed(this.id);
        result = await ask();
      }
      const answer = parse(result.stdout);
      if (answer !== undefined) return answer;
      if (!isHolding(this.#record.holder)) throw sessionLost(this.id);
      throw fileProgramFailed(this.id, result.stderr);
    });
  }

  async snapshot(bounds?: LookBounds): Promise<Snapshot> {
    return await this.#exclusively(undefined, () => takeSnapshot(this.#access(), bounds));
  }

  async changes(since: Snapshot | null, options: ChangesOptions): Promise<Changes> {
    return await this.#exclusively(undefined, () => takeChanges(this.#access(), since, options));
  }

  async rewind({ snapshot, parts, state }: Rewind): Promise<Snapshot> {
    // The command of a worker that lost the lease may still run and hold the lock: both end here.
    await this.endAllBut(snapshot.instance === this.instance ? snapshot.processes : []);
    return await this.#exclusively(undefined, async () => {
      const now = await rewind(this.#access(), snapshot, parts);
      this.#state = state ?? this.#first;
      return now;
    });
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
      // A walk through the root of a dead process finds nothing, which must not be taken for an empty workspace.
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
    this.#state = result.outcome.state;
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
    const { state, fresh } = startOf(command, this.#state, this.#first);
    return await runWrapper(
      {
        command,
        limits,
        state,
        guarded: true,
        ulimits: this.#ulimits(limits),
        spawn: () => start(guardLaunch(host, this.#record, holder.pid), ["pipe", "pipe", "pipe"]),
        feed: (child, script, nonce) => {
          const line = guardLine(script.length, nonce, processesOf(host, this.#record), fresh);
          child.stdin?.write(Buffer.concat([Buffer.from(line), script]));
        },
        cpuMs: createCpuMeter(holder, cgroup, Math.max(1, Math.ceil(limits.cpus))),
        kill: async (child, why) => {
          // The guard asks its command to end, and kills it; it may be gone, stopped or kept from it.
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

  /** One command at a time over all workers of the host. */
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
        // Its worker died mid-command: what that command started goes with it.
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

interface ToolResult {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
  readonly tooLong: boolean;
}

/** A program of the host's /usr, run in the jail as confined as foreign code is. */
async function runTool(
  { host }: Jail,
  record: LiveRecord,
  command: readonly string[],
  input: Uint8Array | undefined,
  maxBytes: number,
  timeoutMs = TOOL_MS,
): Promise<ToolResult> {
  const child = start(toolLaunch(host, record, record.holder.pid, command), ["pipe", "pipe", "pipe"]);
  const kill = () => child.pid !== undefined && signal(-child.pid, "SIGKILL");
  const timer = setTimeout(kill, timeoutMs);
  const chunks: Buffer[] = [];
  let size = 0;
  let stderr = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxBytes) kill();
    else chunks.push(chunk);
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    if (stderr.length < 4000) stderr += text;
  });
  child.stdin?.on("error", () => {});
  child.stdin?.end(input);
  const code = await new Promise<number | null>((resolve, reject) =>
    child.once("close", resolve).once("error", reject),
  );
  clearTimeout(timer);
  return { code, stdout: Buffer.concat(chunks), stderr, tooLong: size > maxBytes };
}

function toolFailure(record: LiveRecord, what: string, result: ToolResult): SandboxError {
  if (!isHolding(record.holder)) return sessionLost(record.id);
  if (/^(nsenter|prlimit|unshare|seccomp|cgroup|affinity|uid|capset|bounding set)\b/m.test(result.stderr))
    return translateLaunchFailure(result.stderr);
  return filesFailed(
    `${what} (${result.stderr
      .replace(/[^\x20-\x7e]/g, " ")
      .trim()
      .slice(0, 300)}).`,
  );
}

/** Leads its own process group, with an empty environment: nothing of the worker's enters. */
function start(launch: Launch, stdio: readonly ("pipe" | number)[]): ChildProcess {
  const [program, ...args] = launch.argv;
  const child = spawn(program, args, {
    cwd: "/",
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C", ...launch.environment },
    detached: true,
    stdio: [...stdio],
  });
  return child;
}

function isLive(record: SessionRecord | undefined): record is LiveRecord {
  return record?.holder !== undefined && isHolding(record.holder);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
