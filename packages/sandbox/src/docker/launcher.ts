// The worker's side of one exec of the launcher script in a session container. It sends bytes, receives output and reports, and asks the
// engine whether the exec still runs.

import type { Duplex } from "node:stream";
import type Docker from "dockerode";
import { Demultiplexer } from "./demultiplex.ts";
import { firstLauncherExec, launcherExec } from "./launcher-script.ts";

/** State is at most 256 KiB, so base64 and reports fit. Further text is read and dropped. */
const MAX_REPORT_CHARS = 1024 * 1024;
/** An engine that cannot start an exec writes the reason as plain text on the stream. */
const MAX_RAW_BYTES = 2_000;

export class Launcher {
  /** Receives the command's output. */
  onOutput: (chunk: Buffer) => void = () => {};
  /** Called after every report. */
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

  /** `first`: no command has run in the container yet, and its keeper may still be preparing. */
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

  /** The text on stderr so far. It is ASCII: launcher and session script print nothing else. */
  get report(): string {
    return this.#report;
  }

  /** The stream's first bytes unchanged, for error messages. */
  get diagnostics(): string {
    return this.#report === "" ? this.#raw : this.#report.slice(0, MAX_RAW_BYTES);
  }

  get ended(): boolean {
    return this.#ended;
  }

  write(bytes: string | Uint8Array): void {
    if (!this.#ended) this.#stream.write(bytes);
  }

  /** Resolves when the stream ended, or the reports satisfy the condition. Checked on every input. Only one caller may wait at a time. */
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

  /** Closes the exec's input: the guard then kills all processes that still run under the exec. */
  close(): void {
    this.#ended = true;
    this.#stream.destroy();
  }
}
