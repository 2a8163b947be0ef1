// The port that every sandbox adapter implements (docker, jail, none). Invariants:
// 1. Files enter a session before any foreign code runs in it. Afterwards only `rewind` and `writeFile` write, inside the session and as
//    its own user, never with the host's rights.
// 2. A session belongs to one id. Any worker process on the host can open it: `open` creates it or attaches to it.
// 3. Commands of one session run one after the other, across all processes.
// 4. For every behaviour of a command there is an outcome that describes it. Only a failure of the sandbox itself throws (SandboxError).

import type { Readable, Writable } from "node:stream";
import type { LookBounds } from "./checkpoint/look.ts";
import type { Changes, ChangesOptions, CheckpointPart, Snapshot } from "./checkpoint/workspace.ts";
import type { Limits } from "./limits.ts";
import type { ThinWall } from "./thin-walls.ts";

export type SandboxKind = "docker" | "jail" | "none";

/** The folder with a session's files, in which its first command starts. */
export const WORKSPACE = "/workspace";

export interface Sandbox {
  readonly kind: SandboxKind;
  /** Creates the session, or attaches if a session with this id lives on this host (then `files` is ignored). */
  open(spec: SessionSpec, options?: { readonly signal?: AbortSignal }): Promise<Session>;
  /** Lists all sessions of this sandbox on this host, including dead leftovers, for the cleanup. */
  list(): Promise<readonly ListedSession[]>;
  /** Ends the session, even if another process created it, and removes everything it left. Removing an unknown id does nothing. */
  remove(sessionId: string): Promise<void>;
  /** Whether the session with this instance ended because its processes used up its memory. false: no, or unknown. */
  endedByMemory?(instance: string): Promise<boolean>;
  /** The isolation on this machine that is weaker than it should be. If the method is missing: none. */
  thinWalls?(): Promise<readonly ThinWall[]>;
  /** The parts of the sandbox that a self-test depends on. */
  identity?(image?: string): Promise<string>;
  /**
   * Rejects with a SandboxError while no session can be opened: no engine answers, or none has the image. If the method is missing,
   * sessions can always be opened.
   */
  answers?(): Promise<void>;
  /** Releases the resources of this process (connections, warm pool). Sessions continue to live. */
  close(): Promise<void>;
}

export interface Session {
  readonly id: string;
  /** True when the session already existed: its workspace contains the files of earlier commands. */
  readonly attached: boolean;
  /** The container or jail behind the session. It changes when the session was lost and created again. */
  readonly instance: string;
  /** The state from which the next command starts. Each command replaces it. */
  readonly state: SessionState;
  /**
   * True after the session was ended because of its own processes: a command used up its memory until the session itself was killed, or its
   * processes kill or stop our own programs. It must be opened again.
   */
  readonly endedByCommand?: boolean;
  /** True while a command, or a program of `start`, may still run although nobody waits for it. The next user of the session ends it first. */
  readonly leftRunning?: boolean;
  run(command: CommandSpec, options?: RunOptions): Promise<CommandOutcome>;
  /**
   * Starts one program beside the commands, without a shell around it, connected only by pipes. The program belongs to the author:
   * processes that foreign commands left are ended first.
   */
  start(program: ProgramSpec): Promise<StartedProgram>;
  /**
   * Reads one file of the workspace, by a path from its root, regardless of the shell's directory. Our own program reads it, never the
   * session's shell. A link is followed only inside the workspace.
   */
  readFile(path: string, options: ReadFileOptions): Promise<FileRead>;
  /** Writes one file, completely or not at all, and creates the folders it needs. */
  writeFile(path: string, bytes: Uint8Array): Promise<FileWritten>;
  /** Takes a snapshot of all writable folders. Rejects like `changes`. */
  snapshot(bounds?: LookBounds): Promise<Snapshot>;
  /**
   * Returns the differences from a snapshot; everything, when the snapshot is null or of another instance of the session. Rejects with
   * SANDBOX_CHECKPOINT_TOO_LARGE above `maxBytes` or a bound (look.ts), with SANDBOX_CHECKPOINT_TOO_SLOW when the time is over, and with
   * SANDBOX_FILES_FAILED when an entry cannot be read.
   */
  changes(since: Snapshot | null, options: ChangesOptions): Promise<Changes>;
  /**
   * Restores a snapshot: ends all processes except those in the snapshot, even processes of other workers, then restores the files, then
   * the state. Only the holder of the session's lease may call it. Rejects with SANDBOX_PROCESSES_LOST when a process of the snapshot is
   * gone.
   */
  rewind(to: Rewind): Promise<Snapshot>;
  /** The current processes of the session, in the form of a snapshot. `endAllBut` can spare them. */
  processes(): Promise<readonly string[]>;
  /**
   * Ends all processes of the session except these processes of a snapshot, even processes of other workers. Only the holder of the lease
   * may call it.
   */
  endAllBut(processes: readonly string[]): Promise<void>;
  /** Same as `sandbox.remove(id)`. */
  end(): Promise<void>;
}

export interface ReadFileOptions {
  readonly maxBytes: number;
  /** refused: a path that is a link, or contains one, is not read. Default: inside. */
  readonly links?: "inside" | "refused";
}

export type FileRead =
  | { readonly kind: "read"; readonly bytes: Uint8Array }
  | { readonly kind: "missing" }
  /** Longer than the caller's maximum; nothing was read. */
  | { readonly kind: "too long"; readonly size: number }
  /** `why` continues a sentence that starts with "it": a link that leads out, a pipe, no permission. */
  | { readonly kind: "refused"; readonly why: string };

export type FileWritten = { readonly kind: "written" } | { readonly kind: "refused"; readonly why: string };

export interface Rewind {
  readonly snapshot: Snapshot;
  readonly parts: readonly CheckpointPart[];
  /** Default: the state of a new session. */
  readonly state?: SessionState;
}

export interface SessionSpec {
  /** 1 to 64 of [A-Za-z0-9_-], starting with a letter or digit. */
  readonly id: string;
  readonly files: SessionFiles;
  readonly limits: Limits;
  /** The complete extra environment of the first command: no variable of the worker's own environment enters. */
  readonly environment: Readonly<Record<string, string>>;
  /** From an earlier outcome: continues a session that another worker started, or that was lost. */
  readonly state?: SessionState;
  readonly labels: SessionLabels;
  /** Docker only; the jail shows the host's own /usr. */
  readonly image?: string;
  readonly network: "none";
  /** Folders beside the workspace that no command of the session can change. */
  readonly readOnly?: readonly ReadOnlyTree[];
  /** An empty writable folder beside the workspace, as large as the workspace. */
  readonly scratch?: ScratchPlace;
}

export interface ReadOnlyTree {
  readonly at: ReadOnlyPlace;
  readonly files: readonly SessionFile[];
}

export const readOnlyPlaces = ["/submission", "/judge", "/run/judge"] as const;
export type ReadOnlyPlace = (typeof readOnlyPlaces)[number];

/** Autograders made for Gradescope use this path. */
export type ScratchPlace = "/autograder";

export type SessionFiles =
  | { readonly kind: "list"; readonly files: readonly SessionFile[] }
  /** An uncompressed tar, unpacked in the workspace inside the session. */
  | { readonly kind: "tar"; readonly bytes: Uint8Array };

export interface SessionFile {
  /** Relative to the workspace, `/` between parts, no `..`, no empty part. */
  readonly path: string;
  /** Permission bits, for example 0o644. */
  readonly mode: number;
  readonly bytes: Uint8Array;
}

/** Stored with the session (container labels, or a file in its directory). Times are ISO 8601. */
export interface SessionLabels {
  readonly app: string;
  readonly run: string;
  readonly worker: string;
  readonly created: string;
  /** After this time any process may end the session; the jail ends itself. */
  readonly deadline: string;
}

export interface ListedSession {
  readonly id: string;
  readonly labels: SessionLabels;
  /** dead: its processes are gone, but parts of it are left; `remove` deletes them. */
  readonly status: "starting" | "live" | "dead";
}

/** The shell state that a command passes to the next one. Plain JSON; safe to store; meaningful only inside a session. */
export interface SessionState {
  readonly cwd: string;
  /** All exported variables. */
  readonly environment: Readonly<Record<string, string>>;
  /** Functions and unexported variables, as bash itself prints them. Only ever evaluated inside a session. */
  readonly shell: string;
  /** The value of `$?` for the next command. Default: 0. */
  readonly status?: number;
  /** The trust of the command that left this state. Default: the author. */
  readonly leftBy?: CommandTrust;
  /** While foreign commands run: the state that the author's last command left, to restore later (carry-state.ts). */
  readonly author?: { readonly environment: Readonly<Record<string, string>>; readonly shell: string };
}

/** The source of a command: the author of the workflow (author), or a model or student (foreign). */
type CommandTrust = "author" | "foreign";

export interface ProgramSpec {
  /** The program and its arguments. The program is searched in PATH unless its name contains a slash. */
  readonly argv: readonly [string, ...string[]];
  /** Overrides variables of the session's own environment. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The folder in which it starts. Default: the workspace. */
  readonly cwd?: string;
}

export interface StartedProgram {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /**
   * The wait status from the kernel, seen from outside the session: the exit code, or 128 + n if signal n killed it. 126 and 127: the
   * program could not be started. Rejects with a SandboxError when the sandbox failed. Processes that it started may still live.
   */
  readonly ended: Promise<number>;
  /**
   * Milliseconds since `start` that are not charged to the program: the sandbox had not started it, or did not answer. If the method is
   * missing: none. Rejects with a SandboxError when the sandbox is in trouble, so that no clock blames the program for the sandbox.
   */
  readonly lostMs?: () => Promise<number>;
}

export interface CommandSpec {
  /** `shell` runs in bash and may change the state. The other kinds run an interpreter on the text and leave the state unchanged. */
  readonly kind: CommandKind;
  readonly text: string;
  /**
   * Default: the author. When a command follows one of the other trust, all processes still running in the session are killed first. Of the
   * shell's state only the directory, `$?` and plain exported variables pass (carry-state.ts).
   */
  readonly trust?: CommandTrust;
  /** True: the command leaves the state unchanged, including `$?`. */
  readonly aside?: boolean;
  /** True: all processes are killed first, and the command starts from the session's first state. Files stay. */
  readonly clean?: boolean;
  /** Tighter clocks for this command; never looser than the session's. */
  readonly limits?: Partial<Pick<Limits, "wallMs" | "cpuMs" | "silenceMs" | "outputBytes">>;
}

export type CommandKind = "shell" | "python" | "javascript";

export interface RunOptions {
  /** An abort kills the command like a timeout, then `run` rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Receives neutralised output as it arrives, for live progress; bounded like the outcome's output. */
  readonly onOutput?: (text: string) => void;
  /**
   * How long, in milliseconds, the command has waited for other programs, such as a judge's guests. The wall clock and the silence clock
   * exclude this time.
   */
  readonly othersMs?: () => number;
}

export interface CommandOutcome {
  /**
   * The wait status of the command's process. null when one of our clocks killed it. 128 + n when signal n killed it, as in bash. 137 when
   * the guard was killed, or the guard and the kernel report different codes: never 0 then.
   */
  readonly exitCode: number | null;
  readonly durationMs: number;
  /**
   * stdout and stderr together, in the order they were written. Both use one pipe, so the model reads an error beside the line that caused
   * it, and no order has to be guessed. Capped (head and tail kept) and neutralised.
   */
  readonly output: string;
  readonly truncated: boolean;
  /** The position, in characters, of our own line in `output` that replaces the cut text. */
  readonly gap?: { readonly from: number; readonly to: number };
  /** Bytes the command wrote, shown or not. */
  readonly outputBytes: number;
  readonly timedOut: false | "wall" | "cpu" | "silence";
  readonly outOfMemory: boolean;
  /** The new state, or the old one when the command ended before it could report it. */
  readonly state: SessionState;
}
