// One exec of the launcher script in a session container, from this worker's side: bytes in, output and reports out, and the
// engine's word on whether it still runs.

import type { Duplex } from "node:stream";
import type Docker from "dockerode";
import { Demultiplexer } from "./demultiplex.ts";
import { firstLauncherExec, launcherExec } from "./launcher-script.ts";

/** State is at most 256 KiB; base64 and reports fit. Beyond it the stream is drained and dropped. */
const MAX_REPORT_CHARS = 1024 * 1024;
/** An engine that cannot start an exec says so in plain text on the stream. */
const MAX_RAW_BYTES = 2_000;

export class Launcher {
  /** Who reads the command's output. */
  onOutput: (chunk: Buffer) => void = () => {};
  /** Told whenever something was reported. */
  onReport: () => void = () => {};
  readonly #exec: Docker.Exec;
  readonly #stream: Duplex;
  #report = "";
  #raw = "";
  #ended = false;
  #wake: () => void = () => {};

  private constructor(exec: Docker.Exec, stream: Duplex) {
    this.#exec = exec;
    this.#stream = stream;
    const demultiplexer = new Demultiplexer((name, chunk) => {
      if (name === "stdout") {
        this.onOutput(chunk);
        this.#wake();
        return;
      }
      if (this.#report.length > MAX_REPORT_CHARS) return;
      this.#report += chunk.toString("latin1");
      this.onReport();
      this.#wake();
    });
    stream.on("data", (chunk: Buffer) => {
      if (this.#raw.length < MAX_RAW_BYTES) this.#raw += chunk.toString("latin1", 0, MAX_RAW_BYTES);
      demultiplexer.push(chunk);
    });
    const end = () => {
      this.#ended = true;
      this.#wake();
    };
    stream.on("end", end).on("close", end).on("error", end);
  }

  /** `first`: nothing has run in the container yet, and its keeper may still be busy. */
  static create(container: Docker.Container, uid: number, first = false): Promise<Docker.Exec> {
    const { command, environment } = first ? firstLauncherExec : launcherExec;
    return container.exec({
      Cmd: command,
      Env: environment,
      User: `${uid}:${uid}`,
      WorkingDir: "/",
      AttachStdin: true,
      AttachStdout: true,
      AttachStderr: true,
      Tty: false,
    });
  }

  static async start(exec: Docker.Exec): Promise<Launcher> {
    return new Launcher(exec, await exec.start({ hijack: true, stdin: true }));
  }

  /** What came on stderr so far: ASCII, all that launcher and session script print. */
  get report(): string {
    return this.#report;
  }

  /** For errors: the stream's first bytes as they came. */
  get diagnostics(): string {
    return this.#report === "" ? this.#raw : this.#report.slice(0, MAX_RAW_BYTES);
  }

  get ended(): boolean {
    return this.#ended;
  }

  write(bytes: string | Uint8Array): void {
    if (!this.#ended) this.#stream.write(bytes);
  }

  /** Resolves when the stream ended, or the reports satisfy the condition; checked whenever something comes. One waiter at a time. */
  async until(condition: (report: string) => boolean): Promise<void> {
    while (!this.#ended && !condition(this.#report)) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  inspect(): Promise<Docker.ExecInspectInfo> {
    return this.#exec.inspect();
  }

  /** Ends the exec's input: what still runs under it is killed from inside. */
  close(): void {
    this.#ended = true;
    this.#stream.destroy();
  }
}
