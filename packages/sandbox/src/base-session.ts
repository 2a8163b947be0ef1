// What a session of every adapter does alike: files by our own program, looks and the way back. An adapter says how a program is
// asked inside it, how it is made sure that nothing else runs meanwhile, and how leftovers end.

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
  /** Of the file; the answer is a little longer. */
  readonly maxBytes: number;
  /** Undefined: it is no answer of ours. */
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

  /** The folder of the workspace, as the file program sees it. */
  protected abstract readonly workspace: string;
  protected abstract askFile<T>(request: FileRequest<T>): Promise<T>;
  /** Ends all that runs in the session, in turn with its commands. */
  protected abstract endLeftovers(): Promise<void>;
  /** While no command runs in it, of whatever worker. */
  protected abstract look<T>(
    then: "a command follows" | "nothing follows",
    act: (access: WorkspaceAccess) => Promise<T>,
  ): Promise<T>;
  /** The same, for the holder of the session's lease: a command that still runs ends first, but for what the snapshot knew. */
  protected abstract takeOver<T>(to: Snapshot, act: (access: WorkspaceAccess) => Promise<T>): Promise<T>;

  /** A state that was saved elsewhere, as it is here. */
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

  /** What foreign commands left running must neither see nor replace what is the author's. */
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
