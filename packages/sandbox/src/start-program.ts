// Starts one program in a session with pipes; the part that every adapter shares. Invariants:
// 1. The program proves its start: before the shell becomes the program, it writes a nonce on stderr, which is removed here. An end without
//    the nonce is a failure of the sandbox, never an exit code of the program.
// 2. The program has only stdin, stdout and stderr, regardless of the descriptors that the worker's own parents left open.
// 3. Between the program and the kernel's wait status are only the program's own stages: no trap, no report, no wrapper.

import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { constants } from "node:os";
import { PassThrough, type Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import { createPassOn } from "./pass-on.ts";
import { type ProgramSpec, type SessionState, WORKSPACE } from "./port.ts";
import { type CommandUlimits, renderUlimits } from "./session-script.ts";

const script = (ulimits: CommandUlimits) => `${renderUlimits(ulimits).join("\n")}
for fd in /proc/self/fd/*; do fd=\${fd##*/}; ((fd <= 2)) || eval "exec $fd>&-"; done
printf %s "$0" >&2; cd -- "$1" || exit 126; shift; exec env -i "$@"`;

export interface ProgramLaunch {
  readonly argv: readonly [string, ...string[]];
  readonly nonce: string;
}

/** The command line that becomes the program inside the session. */
export function programLaunch(
  bash: string,
  program: ProgramSpec,
  state: SessionState,
  ulimits: CommandUlimits,
): ProgramLaunch {
  const nonce = randomBytes(16).toString("hex");
  const environment = { ...state.environment, ...program.environment };
  const names = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  const [name, ...args] = program.argv;
  // `env` would read a program name with = as a variable.
  const argv = name.includes("=") ? ["sh", "-c", 'exec "$0" "$@"', name, ...args] : [name, ...args];
  return {
    nonce,
    argv: [bash, "--noprofile", "--norc", "-c", script(ulimits), nonce, program.cwd ?? WORKSPACE, ...names, ...argv],
  };
}

export interface ProvenStream {
  readonly stream: Readable;
  /** True once the nonce has arrived. */
  readonly started: () => boolean;
  /** The text that arrived instead of the nonce. */
  readonly diagnostics: () => string;
  /** The source has ended. */
  readonly closed: () => boolean;
}

/** The program's own stderr: the text after the nonce. Launchers may complain before it; that text is kept for the error. */
export function afterNonce(source: Readable, nonce: string): ProvenStream {
  const stream = new PassThrough();
  const passOn = createPassOn(source);
  let head: Buffer = Buffer.alloc(0);
  let started = false;
  source.on("data", (chunk: Buffer) => {
    if (started) {
      passOn(stream, chunk);
      return;
    }
    head = Buffer.concat([head, chunk]).subarray(0, 64 * 1024);
    const at = head.indexOf(nonce);
    if (at < 0) return;
    started = true;
    const rest = head.subarray(at + nonce.length);
    if (rest.length > 0) stream.write(rest);
  });
  void finished(source)
    .catch(() => undefined)
    .then(() => stream.end());
  return {
    stream,
    started: () => started,
    diagnostics: () => head.toString("latin1").slice(0, 2000),
    closed: () => source.closed,
  };
}

/** The end of a program whose stages are a child of this process. */
export function provenEnd(
  child: ChildProcess,
  said: ProvenStream,
  trouble: {
    /** Why its exit code does not count; null: it counts. */
    readonly refusal: () => Error | null;
    readonly notStarted: (diagnostics: string) => Error;
  },
): Promise<number> {
  const ended = new Promise<number>((resolve, reject) => {
    child.once("error", (error) => reject(trouble.notStarted(String(error))));
    child.once("exit", (code, name) => {
      void (async () => {
        // The nonce was written before the end, but the pipe may deliver it later.
        for (let turn = 0; turn < 500 && !said.started() && !said.closed(); turn += 1) await pause(2);
        const refusal = trouble.refusal();
        if (refusal !== null) reject(refusal);
        else if (!said.started()) reject(trouble.notStarted(said.diagnostics()));
        else resolve(code ?? 128 + (name === null ? 0 : constants.signals[name]));
      })();
    });
  });
  ended.catch(() => {});
  return ended;
}
