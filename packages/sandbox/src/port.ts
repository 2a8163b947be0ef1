// The one port every sandbox adapter implements (docker, jail, none). Invariants:
// 1. Files enter a session before any foreign code runs in it; afterwards only `rewind` and `writeFile` write, inside the
//    session and as its own user, never with the host's rights.
// 2. A session belongs to one id. Any worker process on the host can open it: `open` creates it or attaches to it.
// 3. Commands of one session run one after the other, whichever process asks.
// 4. Whatever a command does, the outcome says what happened; only a failure of the sandbox itself throws (SandboxError).

import type { Readable, Writable } from "node:stream";
import type { LookBounds } from "./checkpoint/look.ts";
import type { Changes, ChangesOptions, CheckpointPart, Snapshot } from "./checkpoint/workspace.ts";
import type { Limits } from "./limits.ts";
import type { ThinWall } from "./thin-walls.ts";

export type SandboxKind = "docker" | "jail" | "none";

/** Where a session's files are, and where its first command starts. */
export const WORKSPACE = "/workspace";

export interface Sandbox {
  readonly kind: SandboxKind;
  /** Creates the session, or attaches when one with this id lives on this host (then `files` is ignored). */
  open(spec: SessionSpec, options?: { readonly signal?: AbortSignal }): Promise<Session>;
  /** All sessions of this sandbox on this host, dead leftovers included, for the reaper. */
  list(): Promise<readonly ListedSession[]>;
  /** Ends the session, whoever made it, and removes all it left. Removing an unknown id does nothing. */
  remove(sessionId: string): Promise<void>;
  /** Whether the session that had this instance was ended because what ran in it used its memory up. false: not so, or nobody knows. */
  endedByMemory?(instance: string): Promise<boolean>;
  /** Where this machine makes a wall thinner than it should be. Absent: nowhere. */
  thinWalls?(): Promise<readonly ThinWall[]>;
  /** What the sandbox is made of, as far as a self-test depends on it. */
  identity?(image?: string): Promise<string>;
  /** Rejects with a SandboxError while no session can be opened: no engine answers, or none has the image. Absent: it always can. */
  answers?(): Promise<void>;
  /** Releases what this process holds (connections, warm pool). Sessions live on. */
  close(): Promise<void>;
}

export interface Session {
  readonly id: string;
  /** True when the session already lived: its workspace holds what earlier commands left. */
  readonly attached: boolean;
  /** The container or jail behind it: another one after it was lost and made again. */
  readonly instance: string;
  /** The state the next command starts from; replaced after each command. */
  readonly state: SessionState;
  /**
   * True after the session was ended because of what ran in it: a command used its memory up until the session itself was killed, or what runs in
   * it kills or stops our own programs. It has to be opened again.
   */
  readonly endedByCommand?: boolean;
  /** True while a command, or a program of `start`, may still run although nobody waits for it. The next user of the session ends it first. */
  readonly leftRunning?: boolean;
  run(command: CommandSpec, options?: RunOptions): Promise<CommandOutcome>;
  /**
   * Starts one program beside the commands, without a shell around it, with pipes to it and nothing else. It is the author's: what foreign
   * commands left running ends first.
   */
  start(program: ProgramSpec): Promise<StartedProgram>;
  /**
   * One file of the workspace, by a path from its root, whatever the shell's directory is. Read by a program of ours, never by
   * the session's shell. A link is followed only inside the workspace.
   */
  readFile(path: string, options: ReadFileOptions): Promise<FileRead>;
  /** Writes one file, whole or not at all, and the folders it needs. */
  writeFile(path: string, bytes: Uint8Array): Promise<FileWritten>;
  /** How all it can write to stands now. Rejects as `changes` does. */
  snapshot(bounds?: LookBounds): Promise<Snapshot>;
  /**
   * What differs from a snapshot; everything, when that is null or of another instance of the session. Rejects with
   * SANDBOX_CHECKPOINT_TOO_LARGE above `maxBytes` or a bound (look.ts), with SANDBOX_CHECKPOINT_TOO_SLOW when the time is over, and
   * with SANDBOX_FILES_FAILED when something cannot be read.
   */
  changes(since: Snapshot | null, options: ChangesOptions): Promise<Changes>;
  /**
   * Puts the session back: ends what runs in it, whoever asked for it, but for the processes the snapshot knew; then the files, then
   * the state. For the holder of the session's lease only. Rejects with SANDBOX_PROCESSES_LOST when such a process is gone.
   */
  rewind(to: Rewind): Promise<Snapshot>;
  /** What runs in it now, as a snapshot names it: what `endAllBut` spares. */
  processes(): Promise<readonly string[]>;
  /** Ends what runs in it, whoever asked for it, but for these processes of a snapshot. For the holder of the lease only. */
  endAllBut(processes: readonly string[]): Promise<void>;
  /** Same as `sandbox.remove(id)`. */
  end(): Promise<void>;
}

export interface ReadFileOptions {
  readonly maxBytes: number;
  /** refused: a path that is a link, or goes through one, is not read. inside when absent. */
  readonly links?: "inside" | "refused";
}

export type FileRead =
  | { readonly kind: "read"; readonly bytes: Uint8Array }
  | { readonly kind: "missing" }
  /** Longer than was asked for; nothing of it was taken. */
  | { readonly kind: "too long"; readonly size: number }
  /** `why` goes on with "it": a link that leads out, a pipe, no permission. */
  | { readonly kind: "refused"; readonly why: string };

export type FileWritten = { readonly kind: "written" } | { readonly kind: "refused"; readonly why: string };

export interface Rewind {
  readonly snapshot: Snapshot;
  readonly parts: readonly CheckpointPart[];
  /** Absent: as a new session has it. */
  readonly state?: SessionState;
}

export interface SessionSpec {
  /** 1 to 64 of [A-Za-z0-9_-], starting with a letter or digit. */
  readonly id: string;
  readonly files: SessionFiles;
  readonly limits: Limits;
  /** The complete extra environment of the first command: nothing of the worker's own environment enters. */
  readonly environment: Readonly<Record<string, string>>;
  /** From an earlier outcome: continue a session that another worker began or that was lost. */
  readonly state?: SessionState;
  readonly labels: SessionLabels;
  /** Docker only; the jail shows the host's own /usr. */
  readonly image?: string;
  readonly network: "none";
  /** Folders beside the workspace that no command of the session can change. */
  readonly readOnly?: readonly ReadOnlyTree[];
  /** An empty folder beside the workspace that commands can write to, as large as the workspace. */
  readonly scratch?: ScratchPlace;
}

export interface ReadOnlyTree {
  readonly at: ReadOnlyPlace;
  readonly files: readonly SessionFile[];
}

export const readOnlyPlaces = ["/submission", "/judge", "/run/judge"] as const;
export type ReadOnlyPlace = (typeof readOnlyPlaces)[number];

/** Where autograders made for Gradescope look. */
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

/** Kept with the session (container labels, or a file in its directory). Times are ISO 8601. */
export interface SessionLabels {
  readonly app: string;
  readonly run: string;
  readonly worker: string;
  readonly created: string;
  /** After this instant the session may be ended by anybody; the jail ends itself. */
  readonly deadline: string;
}

export interface ListedSession {
  readonly id: string;
  readonly labels: SessionLabels;
  /** dead: its processes are gone but something of it is left; `remove` clears it. */
  readonly status: "starting" | "live" | "dead";
}

/** What a command leaves for the next one. Plain JSON; safe to store; meaningful only inside a session. */
export interface SessionState {
  readonly cwd: string;
  /** Exported variables, complete. */
  readonly environment: Readonly<Record<string, string>>;
  /** Functions and unexported variables as bash itself prints them. Only ever evaluated inside a session. */
  readonly shell: string;
  /** What `$?` is for the next command; 0 when absent. */
  readonly status?: number;
  /** Whose command left this state; the author's when absent. */
  readonly leftBy?: CommandTrust;
  /** While foreign commands run: what the author's last command left, to go back to (carry-state.ts). */
  readonly author?: { readonly environment: Readonly<Record<string, string>>; readonly shell: string };
}

/** Who wrote a command: the author of the workflow, or a model or student. */
type CommandTrust = "author" | "foreign";

export interface ProgramSpec {
  /** The program, sought in PATH unless it holds a slash, and its arguments. */
  readonly argv: readonly [string, ...string[]];
  /** Replaces names of the session's own environment. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Where it starts; the workspace when absent. */
  readonly cwd?: string;
}

export interface StartedProgram {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /**
   * What the kernel said of its end, seen from outside the session: the exit code, or 128 + n for a death by signal n. 126 and
   * 127: it could not be started. Rejects with a SandboxError when the sandbox failed. What it started may still live.
   */
  readonly ended: Promise<number>;
  /**
   * Milliseconds since `start` that are not the program's: the sandbox had not begun it, or did not answer. Absent: there are none. Rejects
   * with a SandboxError when the sandbox is in trouble, so that no clock says of a program what is true of the sandbox.
   */
  readonly lostMs?: () => Promise<number>;
}

export interface CommandSpec {
  /** `shell` runs in bash and may change the state; the others run an interpreter on the text and leave the state alone. */
  readonly kind: CommandKind;
  readonly text: string;
  /**
   * The author's when absent. Where a command follows one of the other trust, all processes still running in the session are
   * killed first, and of the shell's state only the directory, `$?` and plain exported variables pass (carry-state.ts).
   */
  readonly trust?: CommandTrust;
  /** True: the command leaves the state as it found it, `$?` included. */
  readonly aside?: boolean;
  /** True: all processes are killed first, and the command starts from the session's first state. Files stay. */
  readonly clean?: boolean;
  /** Tighter clocks for this command; never looser than the session's. */
  readonly limits?: Partial<Pick<Limits, "wallMs" | "cpuMs" | "silenceMs" | "outputBytes">>;
}

export type CommandKind = "shell" | "python" | "javascript";

export interface RunOptions {
  /** Abort kills the command like a timeout, then `run` rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Neutralised output as it arrives, for live progress; bounded like the outcome's output. */
  readonly onOutput?: (text: string) => void;
  /** Milliseconds so far that belong to others, such as a judge's guests. The wall clock and the silence clock leave them out. */
  readonly othersMs?: () => number;
}

export interface CommandOutcome {
  /**
   * The wait status of the command's process. null when it was killed by one of our clocks; 128 + n when it died by signal n, as
   * bash says it; 137 when what watches it was killed, or its word and the kernel's differ: never 0 then.
   */
  readonly exitCode: number | null;
  readonly durationMs: number;
  /**
   * stdout and stderr together, in the order they were written: one pipe serves both, so the model reads an error beside the
   * line that caused it, and nothing has to be re-ordered by guess. Capped (head and tail kept) and neutralised.
   */
  readonly output: string;
  readonly truncated: boolean;
  /** Where in `output` our own line stands for what was cut, in characters. */
  readonly gap?: { readonly from: number; readonly to: number };
  /** Bytes the command wrote, shown or not. */
  readonly outputBytes: number;
  readonly timedOut: false | "wall" | "cpu" | "silence";
  readonly outOfMemory: boolean;
  /** The new state, or the old one when the command did not live to report it. */
  readonly state: SessionState;
}
