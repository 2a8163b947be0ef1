// Serves the guests of one judge. Invariants:
// 1. A guest is one program in a fresh session, created for it alone: own pid, mount, ipc, network and user namespaces, own limits, and
//    another uid wherever the machine allows it. The judge's files, processes and memory are in another session.
// 2. When its program ends, when its clock or output limit is reached, or when the judge ends, the session is ended with all processes of
//    the guest. Only then is the exit code reported.
// 3. The time in which a guest runs is charged to the guests (`guestMs`), not to the judge. All guests of a judge together have `totalMs`.
//    A guest beyond it ends like a guest that is out of time, so that no submission occupies a worker for ever.
// 4. Files that a guest leaves are offered with their size (`Z`). The judge's side accepts them only if they fit; otherwise the guest
//    fails.
// 5. The exit code is the kernel's. A failure of the sandbox is no exit code: it is stored in `trouble` and makes the whole judgement void,
//    so it can never become a grade.

import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import { unfitForCheckpoint } from "../checkpoint/look.ts";
import type { Limits } from "../limits.ts";
import { packFiles } from "../pack-files.ts";
import { type Session, type SessionFile, type SessionFiles, type StartedProgram, WORKSPACE } from "../port.ts";
import { SandboxError, type SandboxErrorCode } from "../sandbox-error.ts";
import { type GuestRequest, guestDefaults, guestLimits, readGuestRequest } from "./guest-request.ts";
import { plainFiles } from "./plain-files.ts";
import type { Connection } from "./relay-connections.ts";
import { workspaceFiles } from "./workspace-files.ts";

/** The maximum number of guests of one judge at the same time. Further guests wait. */
const MAX_GUESTS = 4;
/** How long to wait for remaining output after the end of a guest. */
const DRAIN_MS = 250;
const DRAINED_MS = 3_000;
/** The maximum size of all writable folders of a guest when its files are saved. The guest's disk limit bounds the stored files. */
const MAX_SAVED_BYTES = 512 * 1024 * 1024;
/** Errors that a guest can cause: too many files, or unreadable files. They end the guest and are no failure of the sandbox. */
const unsaved: readonly SandboxErrorCode[] = [...unfitForCheckpoint, "SANDBOX_FILES_REFUSED"];
/** Errors for guest files that do not fit into any session. */
const unfit: readonly SandboxErrorCode[] = ["SANDBOX_FILES_REFUSED", "SANDBOX_FILES_FAILED"];
/** The block size in which a file system allocates space. */
const BLOCK = 4096;

interface FilesLeft {
  readonly tar: Uint8Array;
  /** The disk space that they use, including whole blocks and folders. */
  readonly bytes: number;
  readonly entries: number;
}

const nothingLeft: FilesLeft = { tar: Buffer.alloc(1024), bytes: 0, entries: 0 };

function roomFor(files: readonly SessionFile[]): Pick<FilesLeft, "bytes" | "entries"> {
  const folders = new Set(
    files.flatMap(({ path }) => path.split("/").map((_, depth, parts) => parts.slice(0, depth).join("/"))),
  );
  const entries = files.length + folders.size;
  const bytes = files.reduce((sum, { bytes: { length } }) => sum + Math.ceil(length / BLOCK) * BLOCK, 0);
  return { bytes: bytes + entries * BLOCK, entries };
}

export interface GuestHostParts {
  readonly submission: SessionFiles;
  /** The maximum limits of a guest. Every guest has exactly this disk size and these cores. */
  readonly ceiling: Limits;
  /** Milliseconds for all guests together. Guests that run at the same time count once. */
  readonly totalMs: number;
  /** Opens a session in which no command has run. */
  readonly open: (limits: Limits, files: SessionFiles) => Promise<Session>;
}

type Ending = { readonly code: number; readonly line: string };

interface Standby {
  readonly key: string;
  readonly session: Promise<Session>;
}

export class GuestHost {
  readonly #parts: GuestHostParts;
  readonly #over = new AbortController();
  readonly #running = new Set<Promise<void>>();
  #free = MAX_GUESTS;
  #waiting: (() => void)[] = [];
  #standby: Standby | undefined;
  #trouble: unknown;
  #live = 0;
  #liveSince = 0;
  #liveMs = 0;

  constructor(parts: GuestHostParts) {
    this.#parts = parts;
  }

  /** The first failure of the sandbox while it ran a guest. */
  get trouble(): unknown {
    return this.#trouble;
  }

  /** Milliseconds so far in which at least one guest ran. */
  guestMs(): number {
    return this.#liveMs + (this.#live === 0 ? 0 : performance.now() - this.#liveSince);
  }

  /** Opens the first guest's session ahead of time, while the judge's session is created. */
  prepare(): void {
    const request = {
      ...guestDefaults,
      memoryBytes: Math.min(guestDefaults.memoryBytes, this.#parts.ceiling.memoryBytes),
    };
    const timeMs = Math.min(request.timeMs, this.#parts.ceiling.wallMs);
    const pids = Math.min(request.pids, this.#parts.ceiling.pids);
    const plain = { ...request, timeMs, pids, argv: ["true"] as const, sendsFiles: false, wantsFiles: false };
    this.#prepareNext(guestLimits(plain, this.#parts.ceiling), this.#parts.submission);
  }

  serve(connection: Connection): void {
    const served = this.#serve(connection)
      .catch((error: unknown) => this.#note(error))
      .finally(() => {
        connection.close();
        this.#running.delete(served);
      });
    this.#running.add(served);
  }

  /** Ends every guest and the prepared session. */
  async close(): Promise<void> {
    this.#over.abort();
    for (const wake of this.#waiting.splice(0)) wake();
    await Promise.all(this.#running);
    if (this.#standby !== undefined) this.#discard(this.#standby);
    this.#standby = undefined;
    await Promise.all(this.#running);
  }

  async #serve(connection: Connection): Promise<void> {
    const first = await connection.next();
    const request = first?.kind === "Q" ? readGuestRequest(first.bytes, this.#parts.ceiling) : undefined;
    if (request === undefined) return await tell(connection, { code: 125, line: "the request is malformed" });
    const files = request.sendsFiles ? await this.#filesOf(connection) : this.#parts.submission;
    if (files === undefined) return await tell(connection, { code: 125, line: "the files are too large" });
    const release = await this.#slot(connection);
    if (release === undefined) return;
    try {
      await this.#run(connection, request, files);
    } catch (error) {
      this.#note(error);
      await tell(connection, { code: 125, line: "the sandbox failed; this judgement does not count" });
    } finally {
      release();
    }
  }

  async #run(connection: Connection, request: GuestRequest, files: SessionFiles): Promise<void> {
    this.#begin();
    const { ending, left } = await this.#endingAndFiles(connection, request, files).finally(() => this.#end());
    // A code below 0: the caller no longer waits for the result.
    if (ending.code < 0) return;
    if (left !== null) {
      await connection.say("Z", Buffer.from(`${left.bytes}\0${left.entries}`));
      await connection.say("S", left.tar);
    }
    await tell(connection, ending);
  }

  #begin(): void {
    if (this.#live === 0) this.#liveSince = performance.now();
    this.#live += 1;
  }

  #end(): void {
    this.#live -= 1;
    if (this.#live === 0) this.#liveMs += performance.now() - this.#liveSince;
  }

  async #endingAndFiles(
    connection: Connection,
    request: GuestRequest,
    files: SessionFiles,
  ): Promise<{ readonly ending: Ending; readonly left: FilesLeft | null }> {
    const leftMs = this.#parts.totalMs - this.guestMs();
    const spent = { code: 124, line: `ended: all guests together have had ${this.#parts.totalMs / 1000} s` };
    if (leftMs <= 0) return { ending: spent, left: request.wantsFiles ? nothingLeft : null };
    const limits = guestLimits(request, this.#parts.ceiling);
    const session = await this.#take(limits, files).catch((error: unknown) => {
      // The judge sent these files, perhaps the output of another guest. They are too many or too large.
      if (request.sendsFiles && error instanceof SandboxError && unfit.includes(error.code)) return null;
      throw error;
    });
    if (session === null)
      return { ending: { code: 137, line: "its files do not fit" }, left: request.wantsFiles ? nothingLeft : null };
    let left: FilesLeft = nothingLeft;
    let ending: Ending;
    let live = true;
    const end = async () => {
      if (live) await session.end();
      live = false;
    };
    try {
      const program = await session.start({ argv: request.argv, environment: { HOME: WORKSPACE } });
      const passing = new Passing(connection, program, request.outputBytes);
      const end124 = request.timeMs <= leftMs ? { code: 124, line: `ended after ${request.timeMs / 1000} s` } : spent;
      ending = await this.#ending(
        connection,
        { ms: Math.min(request.timeMs, leftMs), ending: end124 },
        request,
        program,
        passing,
      );
      if (ending.code < 0) return { ending, left: null };
      await Promise.race([passing.drained, pause(DRAIN_MS)]);
      if (passing.tooMuch) ending = tooMuch(request);
      else if (request.wantsFiles && ending.line === "") {
        const saved = await this.#filesLeft(session, limits);
        if (saved === undefined) ending = { code: 137, line: "what it left cannot be kept" };
        else left = saved;
      }
      await end();
      await Promise.race([passing.drained, pause(DRAINED_MS)]);
      if (passing.tooMuch) ending = tooMuch(request);
    } finally {
      await end();
    }
    return { ending, left: request.wantsFiles ? left : null };
  }

  async #ending(
    connection: Connection,
    clock: { readonly ms: number; readonly ending: Ending },
    request: GuestRequest,
    program: StartedProgram,
    passing: Passing,
  ): Promise<Ending> {
    const done = new AbortController();
    const gone = AbortSignal.any([connection.gone, this.#over.signal]);
    try {
      return await Promise.race([
        program.ended.then((code) => ({ code, line: "" })),
        ownTime(program, clock.ms, done.signal).then(() => clock.ending),
        passing.overflow.then(() => tooMuch(request)),
        aborted(gone, done.signal).then(() => ({ code: -1, line: "" })),
      ]);
    } finally {
      done.abort();
    }
  }

  async #filesLeft(session: Session, limits: Limits): Promise<FilesLeft | undefined> {
    try {
      const bytes = await workspaceFiles(session, MAX_SAVED_BYTES);
      const { files } = await plainFiles({ kind: "tar", bytes }, limits.diskBytes);
      if (files.length === 0) return nothingLeft;
      return { tar: await packFiles({ kind: "list", files }, limits.diskBytes), ...roomFor(files) };
    } catch (error) {
      if (error instanceof SandboxError && unsaved.includes(error.code)) return undefined;
      throw error;
    }
  }

  async #filesOf(connection: Connection): Promise<SessionFiles | undefined> {
    const chunks: Buffer[] = [];
    let size = 0;
    for (;;) {
      const message = await connection.next();
      if (message === undefined || message.kind !== "T") return { kind: "tar", bytes: Buffer.concat(chunks) };
      size += message.bytes.length;
      if (size > this.#parts.ceiling.diskBytes) return undefined;
      chunks.push(message.bytes);
    }
  }

  async #take(limits: Limits, files: SessionFiles): Promise<Session> {
    const standby = this.#standby;
    const fits = standby?.key === keyOf(limits, files);
    if (fits) this.#standby = undefined;
    const session = fits ? standby?.session : undefined;
    const taken = (await session?.catch(() => undefined)) ?? (await this.#parts.open(limits, files));
    if (this.#standby === undefined || !fits) this.#prepareNext(limits, files);
    return taken;
  }

  /** The next guest is probably like this one, so its session is opened while this one runs. */
  #prepareNext(limits: Limits, files: SessionFiles): void {
    const key = keyOf(limits, files);
    const unused = this.#standby;
    // Another guest that started at the same time has prepared it already.
    if (this.#over.signal.aborted || unused?.key === key) return;
    const session = this.#parts.open(limits, files);
    session.catch(() => {});
    this.#standby = { key, session };
    if (unused !== undefined) this.#discard(unused);
  }

  #discard({ session }: Standby): void {
    const discarded = session
      .then((unused) => unused.end())
      .catch(() => {})
      .finally(() => this.#running.delete(discarded));
    this.#running.add(discarded);
  }

  async #slot(connection: Connection): Promise<(() => void) | undefined> {
    while (this.#free === 0 && !this.#over.signal.aborted && !connection.gone.aborted) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
        connection.gone.addEventListener("abort", () => resolve(), { once: true });
      });
    }
    if (this.#over.signal.aborted || connection.gone.aborted) return undefined;
    this.#free -= 1;
    return () => {
      this.#free += 1;
      this.#waiting.shift()?.();
    };
  }

  #note(error: unknown): void {
    if (this.#over.signal.aborted) return;
    this.#trouble ??=
      error instanceof SandboxError
        ? error
        : new SandboxError(
            "SANDBOX_START_FAILED",
            `A guest could not be served (${String(error)}).`,
            "Try again.",
            error,
          );
  }
}

/** Copies the streams of one guest in both directions and counts the bytes. */
class Passing {
  readonly drained: Promise<void>;
  readonly overflow: Promise<void>;
  tooMuch = false;
  #left: number;
  #markOverflow: () => void = () => {};

  constructor(connection: Connection, program: StartedProgram, outputBytes: number) {
    this.#left = outputBytes;
    this.overflow = new Promise((resolve) => {
      this.#markOverflow = resolve;
    });
    void feed(connection, program);
    this.drained = Promise.all([
      this.#pass(connection, "O", program.stdout),
      this.#pass(connection, "R", program.stderr),
    ]).then(() => undefined);
  }

  async #pass(connection: Connection, kind: string, from: Readable): Promise<void> {
    try {
      for await (const chunk of from) {
        const bytes = (chunk as Buffer).subarray(0, this.#left);
        this.#left -= bytes.length;
        if (bytes.length > 0) await connection.say(kind, bytes);
        // Further bytes are read and dropped: a stream that is not read would delay the end of the session.
        if (bytes.length < (chunk as Buffer).length) {
          this.tooMuch = true;
          this.#markOverflow();
        }
      }
    } catch {
      // The end of the session cut the stream.
    }
  }
}

async function feed(connection: Connection, { stdin }: StartedProgram): Promise<void> {
  stdin.on("error", () => {});
  const over = Promise.race([finished(stdin).catch(() => undefined), aborted(connection.gone)]);
  for (;;) {
    const message = await connection.next();
    if (message === undefined || message.kind === "i") break;
    if (message.kind !== "I" || stdin.destroyed) continue;
    if (!stdin.write(message.bytes)) await Promise.race([new Promise((resolve) => stdin.once("drain", resolve)), over]);
  }
  stdin.end();
}

async function tell(connection: Connection, { code, line }: Ending): Promise<void> {
  await connection.say("X", Buffer.from(`${code}\0${line}`));
}

function tooMuch({ outputBytes }: GuestRequest): Ending {
  return { code: 137, line: `killed: more than ${outputBytes} bytes of output` };
}

function keyOf(limits: Limits, files: SessionFiles): string {
  const hash = createHash("sha256").update(JSON.stringify(limits));
  if (files.kind === "tar") return hash.update(files.bytes).digest("hex");
  for (const { path, mode, bytes } of files.files) hash.update(`${path}\0${mode}\0${bytes.length}\0`).update(bytes);
  return hash.digest("hex");
}

/** Resolves when the program has used this much time of its own. Rejects when the sandbox is in trouble. */
async function ownTime({ lostMs }: StartedProgram, ms: number, done: AbortSignal): Promise<void> {
  const since = performance.now();
  for (let left = ms; left > 0; ) {
    await pause(left, undefined, { signal: done });
    const lost = (await lostMs?.()) ?? 0;
    left = lost === 0 ? 0 : Math.ceil(ms + lost - (performance.now() - since));
  }
}

/** Resolves at the abort; never if `unless` aborts first. */
function aborted(signal: AbortSignal, unless?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), {
      once: true,
      ...(unless === undefined ? {} : { signal: unless }),
    });
  });
}
