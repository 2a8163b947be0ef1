// The base class of a session, shared by all adapters: it reads and writes files with our own program, scans the session and rewinds it.
// Each adapter implements how a program runs in the session, how the adapter excludes other commands meanwhile, and how it ends leftover
// processes.

import { Look, type LookBounds } from "./checkpoint/look.ts";
import { rewind } from "./checkpoint/rewind.ts";
import {
  type Changes,
  type ChangesOptions,
  type Snapshot,
  takeChanges,
  takeSnapshot,
  type WorkspaceAccess,
} from "./checkpoint/workspace.ts";
import { parseFileRead, parseFileWritten, readFileCommand, writeFileCommand } from "./file-program.ts";
import type { FileRead, FileWritten, ReadFileOptions, Rewind, SessionState } from "./port.ts";

/** One run of the file program. */
export interface FileRequest<T> {
  readonly command: readonly [string, ...string[]];
  readonly input: Uint8Array | undefined;
  /** The maximum size of the file. The whole answer is slightly longer. */
  readonly maxBytes: number;
  /** Returns undefined if the bytes are not an answer of the file program. */
  readonly parse: (answer: Buffer) => T | undefined;
}

export abstract class BaseSession {
  readonly id: string;
  readonly attached: boolean;
  protected readonly first: SessionState;
  protected current: SessionState;

  constructor(id: string, attached: boolean, first: SessionState, state: SessionState) {
    this.id = id;
    this.attached = attached;
    this.first = first;
    this.current = state;
  }

  get state(): SessionState {
    return this.current;
  }

  /** The path of the workspace folder, as the file program sees it. */
  protected abstract readonly workspace: string;
  protected abstract askFile<T>(request: FileRequest<T>): Promise<T>;
  /** Ends all processes of the session. Waits for its turn, as a command does. */
  protected abstract endLeftovers(): Promise<void>;
  /** Runs `act` while no command of any worker runs in the session. */
  protected abstract look<T>(
    then: "a command follows" | "nothing follows",
    act: (access: WorkspaceAccess) => Promise<T>,
  ): Promise<T>;
  /**
   * Like `look`, but only for the holder of the session's lease: it first ends a running command, and keeps the processes that the snapshot
   * lists.
   */
  protected abstract takeOver<T>(to: Snapshot, act: (access: WorkspaceAccess) => Promise<T>): Promise<T>;

  /** Converts a state that was saved on another machine or in another folder, so that it is valid in this session. */
  protected settled(state: SessionState): SessionState {
    return state;
  }

  async readFile(path: string, options: ReadFileOptions): Promise<FileRead> {
    const command = readFileCommand(this.workspace, path, options);
    return await this.askFile({ command, input: undefined, maxBytes: options.maxBytes, parse: parseFileRead });
  }

  async writeFile(path: string, bytes: Uint8Array): Promise<FileWritten> {
    await this.endForeign();
    const command = writeFileCommand(this.workspace, path, bytes.length);
    return await this.askFile({ command, input: bytes, maxBytes: 0, parse: parseFileWritten });
  }

  snapshot(bounds?: LookBounds): Promise<Snapshot> {
    return this.look("a command follows", (access) => takeSnapshot(access, bounds));
  }

  processes(): Promise<readonly string[]> {
    return this.look("a command follows", (access) => access.processes(new Look()));
  }

  /** Ends processes that foreign commands left running, so that they can neither see nor replace the author's data. */
  protected async endForeign(): Promise<void> {
    if (this.current.leftBy === "foreign") await this.endLeftovers();
  }

  changes(since: Snapshot | null, options: ChangesOptions): Promise<Changes> {
    return this.look("nothing follows", (access) => takeChanges(access, since, options));
  }

  rewind({ snapshot, parts, state }: Rewind): Promise<Snapshot> {
    return this.takeOver(snapshot, async (access) => {
      const now = await rewind(access, snapshot, parts);
      this.current = state === undefined ? this.first : this.settled(state);
      return now;
    });
  }
}
