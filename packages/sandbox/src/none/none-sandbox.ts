// No sandbox: commands are plain child processes of the worker, with its rights, its files and its network. For a developer who runs
// trusted commands on a machine that can run neither Docker nor a jail. Invariants:
// 1. Only an explicit choice creates it, and it warns each time it is created.
// 2. It enforces the clocks, the output cap and the clean environment like the other adapters, and nothing else.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { type ProcessIdentity, type ProcessStat, readProcessStat } from "@markmill/base";
import { BaseSession, type FileRequest } from "../base-session.ts";
import { startOf } from "../carry-state.ts";
import { checkCommand, checkSessionId, checkSessionSpec, limitsOfCommand } from "../check-spec.ts";
import { listPlaces, readPlaces } from "../checkpoint/read-places.ts";
import type { Snapshot, WorkspaceAccess } from "../checkpoint/workspace.ts";
import { removals, WRITE_PLACES } from "../checkpoint/write-places-script.ts";
import { FILE_MS, fileProgramFailed } from "../file-program.ts";
import { packFiles } from "../pack-files.ts";
import type {
  CommandOutcome,
  CommandSpec,
  ListedSession,
  ProgramSpec,
  RunOptions,
  Sandbox,
  Session,
  SessionLabels,
  SessionSpec,
  SessionState,
  StartedProgram,
} from "../port.ts";
import { runWrapper } from "../run-wrapper.ts";
import { SandboxError } from "../sandbox-error.ts";
import { initialState } from "../session-script.ts";
import { afterNonce, programLaunch, provenEnd } from "../start-program.ts";

export interface NoneOptions {
  readonly root: string;
  readonly warn: (text: string) => void;
}

const NONE_WARNING =
  "WARNING: --sandbox none. Commands written by models and students run with YOUR rights, on YOUR files and network. " +
  "Nothing isolates them. Use --sandbox docker or --sandbox jail for anything you did not write yourself.";

const MARK = "MARKMILL_NONE_SESSION";
const GRACE_MS = 300;
/** Scans and rewinds cover only the workspace. /tmp is the machine's own here, so files that commands leave there stay. */
const NONE_PLACES = ["workspace"];

/** Closes the descriptors that the worker inherited, then becomes the shell, which reads its script from the socket on descriptor 3. */
const START =
  `for fd in /proc/self/fd/*; do fd=\${fd##*/}; case $fd in [0-3]) ;; *[0-9]) eval "exec $fd>&-" ;; esac; done 2>/dev/null; ` +
  "exec bash --noprofile --norc -s <&3 3>&- 2>&1";

export function createNoneSandbox(options: NoneOptions): Sandbox & { readonly kind: "none" } {
  options.warn(NONE_WARNING);
  const directoryOf = (id: string) => join(options.root, checkSessionId(id));
  const remove = async (id: string) => {
    const directory = directoryOf(id);
    await killMarked(directory);
    await removeTree(directory);
  };
  return {
    kind: "none",
    open: async (spec) => {
      checkSessionSpec(spec);
      if (spec.readOnly !== undefined) throw judgeUnprotected();
      const directory = directoryOf(spec.id);
      const attached = existsSync(join(directory, "session.json"));
      if (!attached) await makeDirectory(directory, spec);
      return new NoneSession(spec, directory, attached, () => remove(spec.id));
    },
    list: () => listDirectories(options.root),
    remove,
    close: async () => {},
  };
}

async function makeDirectory(directory: string, spec: SessionSpec): Promise<void> {
  const files = await packFiles(spec.files, spec.limits.diskBytes);
  await removeTree(directory);
  await mkdir(join(directory, "workspace"), { recursive: true, mode: 0o700 });
  if (files.length > 0) await feed("tar", ["-xf", "-"], join(directory, "workspace"), files);
  // The rename publishes the complete session: from here on it can be attached to.
  await writeFile(join(directory, "making.json"), JSON.stringify({ labels: spec.labels }));
  await rename(join(directory, "making.json"), join(directory, "session.json"));
}

/** Does not use full paths: in a tree of thousands of levels they are longer than the kernel allows. */
async function removeTree(directory: string): Promise<void> {
  if (!existsSync(directory)) return;
  const child = spawn("rm", ["-rf", "--", directory], { cwd: "/", env: { PATH: "/usr/bin:/bin" }, stdio: "ignore" });
  await new Promise((resolve, reject) => child.once("close", resolve).once("error", reject));
}

async function listDirectories(root: string): Promise<ListedSession[]> {
  const names = await readdir(root).catch(() => [] as string[]);
  const found = await Promise.all(
    names.map(async (id) => {
      const text = await readFile(join(root, id, "session.json"), "utf8").catch(() => undefined);
      if (text === undefined) return undefined;
      const { labels } = JSON.parse(text) as { labels: SessionLabels };
      return { id, labels, status: "live" as const };
    }),
  );
  return found.filter((session) => session !== undefined);
}

class NoneSession extends BaseSession implements Session {
  protected readonly workspace: string;
  readonly #spec: SessionSpec;
  readonly #directory: string;
  readonly #remove: () => Promise<void>;
  #last: Promise<unknown> = Promise.resolve();

  constructor(spec: SessionSpec, directory: string, attached: boolean, remove: () => Promise<void>) {
    const workspace = join(directory, "workspace");
    const initial = initialState({ HOME: workspace, ...spec.environment, [MARK]: directory });
    const first = { ...initial, cwd: workspace };
    super(spec.id, attached, first, spec.state === undefined ? first : settle(spec.state, directory));
    this.workspace = workspace;
    this.#spec = spec;
    this.#directory = directory;
    this.#remove = remove;
  }

  async run(command: CommandSpec, options: RunOptions = {}): Promise<CommandOutcome> {
    checkCommand(command);
    return await this.#inTurn(() => this.#runNow(command, options));
  }

  async #runNow(command: CommandSpec, options: RunOptions): Promise<CommandOutcome> {
    const limits = limitsOfCommand(this.#spec.limits, command);
    const { state, fresh } = startOf(command, this.current, this.first);
    if (fresh) await killMarked(this.#directory);
    const { outcome } = await runWrapper(
      {
        command,
        limits,
        state,
        guarded: false,
        ulimits: { cpuSeconds: Math.ceil(limits.cpuMs / 1000) + 1, fileBytes: limits.diskBytes },
        spawn: () =>
          spawn("bash", ["--noprofile", "--norc", "-c", START], {
            cwd: join(this.#directory, "workspace"),
            env: { PATH: "/usr/local/bin:/usr/bin:/bin", [MARK]: this.#directory },
            detached: true,
            stdio: ["ignore", "pipe", "pipe", "pipe"],
          }),
        feed: (child, script) =>
          socketOf(child)
            ?.on("error", () => {})
            .write(script),
        listen: (child, nonce, hear) => {
          let rest = "";
          socketOf(child)?.on("data", (chunk: Buffer) => {
            const lines = (rest + chunk.toString()).split("\n");
            rest = lines.pop() ?? "";
            for (const line of lines) hear(`${nonce} ${line === "start" ? `start ${child.pid}` : line}\n`);
            if (lines.includes("start")) socketOf(child)?.end("go\n");
          });
        },
        cpuMs: () => undefined,
        kill: killGroup,
        outOfMemory: () => false,
      },
      options,
    );
    this.current = outcome.state;
    return outcome;
  }

  async start(program: ProgramSpec): Promise<StartedProgram> {
    await this.endForeign();
    const { cpuMs, diskBytes } = this.#spec.limits;
    const { argv, nonce } = programLaunch("bash", { cwd: this.workspace, ...program }, this.first, {
      cpuSeconds: Math.ceil(cpuMs / 1000) + 1,
      fileBytes: diskBytes,
    });
    const [bash, ...args] = argv;
    const child = spawn(bash, args, {
      cwd: "/",
      env: { PATH: this.first.environment.PATH, [MARK]: this.#directory },
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    });
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", () => {});
    const said = afterNonce(child.stderr, nonce);
    const ended = provenEnd(child, said, {
      refusal: () => null,
      notStarted: (why) => new SandboxError("SANDBOX_START_FAILED", `A program did not start (${why}).`, "Try again."),
    });
    return { stdin: child.stdin, stdout: child.stdout, stderr: said.stream, ended };
  }

  protected async endLeftovers(): Promise<void> {
    await killMarked(this.#directory);
  }

  protected askFile<T>({ command, input, parse }: FileRequest<T>): Promise<T> {
    const [program, ...args] = command;
    return this.#inTurn(async () => {
      const child = spawn(program, args, { cwd: "/", env: {}, stdio: ["pipe", "pipe", "ignore"], timeout: FILE_MS });
      const chunks: Buffer[] = [];
      child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
      child.stdin.on("error", () => {});
      child.stdin.end(input);
      await new Promise((resolve, reject) => child.once("close", resolve).once("error", reject));
      const answer = parse(Buffer.concat(chunks));
      if (answer === undefined) throw fileProgramFailed(this.id, "");
      return answer;
    });
  }

  protected look<T>(_: string, act: (access: WorkspaceAccess) => Promise<T>): Promise<T> {
    return this.#inTurn(() => act(this.#access()));
  }

  protected takeOver<T>(_: Snapshot, act: (access: WorkspaceAccess) => Promise<T>): Promise<T> {
    return this.look("nothing follows", act);
  }

  protected override settled(state: SessionState): SessionState {
    return settle(state, this.#directory);
  }

  async endAllBut(processes: readonly string[]): Promise<void> {
    await killMarked(this.#directory, new Set(processes));
  }

  get instance(): string {
    return `none-${statSync(join(this.#directory, "session.json"), { bigint: true }).ctimeNs}`;
  }

  #access(): WorkspaceAccess {
    const directory = this.#directory;
    const places = Object.fromEntries(NONE_PLACES.map((place) => [place, join(directory, place)]));
    const mark = `${MARK}=${directory}\0`;
    return {
      instance: this.instance,
      list: (look) => listPlaces(places, look),
      readsCheaply: true,
      read: (paths, maxBytes, look) => readPlaces(places, paths, maxBytes, look),
      write: async (remove, bytes) => {
        const { word, list } = removals(remove);
        const args = ["bash", directory, word, String(bytes.length), ...NONE_PLACES];
        await feed("bash", ["--noprofile", "--norc", "-c", WRITE_PLACES, ...args], "/", Buffer.concat([list, bytes]));
      },
      processes: async () => markedRoots(mark),
      killAllBut: (processes) => killMarked(directory, processes),
    };
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(act);
    this.#last = turn.catch(() => {});
    return turn;
  }

  async end(): Promise<void> {
    await this.#remove();
  }
}

function socketOf(child: ChildProcess): Duplex | undefined {
  return child.stdio[3] as Duplex | undefined;
}

/** Adapts the state of a session from another directory to this directory: here a path is the machine's own. */
function settle(state: SessionState, directory: string): SessionState {
  const old = state.environment[MARK];
  if (old === undefined || old === directory) return state;
  const move = (path: string) =>
    path === old || path.startsWith(`${old}/`) ? directory + path.slice(old.length) : path;
  const environment = Object.entries(state.environment).map(([name, value]) => [name, move(value)] as const);
  return { ...state, cwd: move(state.cwd), environment: Object.fromEntries(environment) };
}

async function killGroup(child: ChildProcess): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return;
  signalGroup(pid, "SIGTERM");
  await Promise.race([
    new Promise((resolve) => child.once("exit", resolve)),
    new Promise((resolve) => setTimeout(resolve, GRACE_MS)),
  ]);
  signalGroup(pid, "SIGKILL");
}

function signalGroup(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(-pid, name);
  } catch {
    // The process group is empty.
  }
}

/**
 * Background processes carry the session's mark in the environment of their start. A process that is becoming another program at this
 * moment shows no mark. So two scans in a row must find no process.
 */
async function killMarked(directory: string, but: ReadonlySet<string> = new Set()): Promise<void> {
  let foundNobody = 0;
  for (let round = 0; round < 50; round += 1) {
    const marked = markedProcesses(`${MARK}=${directory}\0`);
    const spared = new Set<number>();
    // A child may be listed before its parent, so the loop runs once per generation.
    for (let size = -1; size !== spared.size; ) {
      size = spared.size;
      for (const one of marked) if (but.has(identityOf(one)) || spared.has(one.parent)) spared.add(one.pid);
    }
    const doomed = marked.filter(({ pid }) => !spared.has(pid));
    foundNobody = doomed.length === 0 ? foundNobody + 1 : 0;
    if (foundNobody === 2) return;
    for (const { pid } of doomed) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // The process is gone already.
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** The marked processes whose parent is not marked. */
function markedRoots(mark: string): string[] {
  const marked = markedProcesses(mark);
  const pids = new Set(marked.map(({ pid }) => pid));
  return marked.filter(({ parent }) => !pids.has(parent)).map(identityOf);
}

const identityOf = ({ pid, startTime }: ProcessIdentity) => `${pid}@${startTime}`;

function markedProcesses(mark: string): ProcessStat[] {
  if (!existsSync("/proc/self/environ")) return [];
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return [];
    try {
      if (!readFileSync(`/proc/${name}/environ`, "latin1").includes(mark)) return [];
    } catch {
      return [];
    }
    const stat = readProcessStat(Number(name));
    return stat === undefined || stat.state === "Z" || stat.state === "X" ? [] : [stat];
  });
}

async function feed(program: string, args: readonly string[], cwd: string, input: Uint8Array): Promise<void> {
  const child = spawn(program, args, { cwd, stdio: ["pipe", "ignore", "ignore"] });
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const code = await new Promise<number | null>((resolve, reject) =>
    child.once("close", resolve).once("error", reject),
  );
  if (code !== 0) throw failed(`${program} ended with ${code}.`);
}

function failed(what: string): SandboxError {
  return new SandboxError("SANDBOX_FILES_FAILED", what, "Check the workspace.");
}

function judgeUnprotected(): SandboxError {
  return new SandboxError(
    "SANDBOX_JUDGE_UNPROTECTED",
    "The workflow needs a judge session, but --sandbox none does not separate the judge from the student.",
    "Use --sandbox docker or --sandbox jail.",
  );
}
