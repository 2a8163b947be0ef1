/**
 * Puts bounds on every call of a client to its Docker engine. It wraps the one function through which the library sends all calls.
 *
 * B1  A call ends within `callMs`, with its answer or with SANDBOX_ENGINE_UNREACHABLE.
 * B2  A stream that a call has opened has no bound while the engine answers pings. When the engine is given up, the stream is destroyed
 *     with that error.
 * B3  An unreachable engine receives only pings.
 */
import type Docker from "dockerode";
import type { EngineBounds } from "./engine-bounds.ts";
import { EnginePulse } from "./engine-pulse.ts";
import { engineUnreachable } from "./translate-engine-error.ts";

/** The parts of the library's dial options that this file reads. */
interface DialOptions {
  readonly path: string;
  readonly method?: string;
  readonly isStream?: boolean;
  readonly statusCodes?: Readonly<Record<number, string | boolean>>;
  readonly abortSignal?: AbortSignal;
}

type Answer = (error: Error | null, result: unknown) => void;
type Dial = (options: DialOptions, answer: Answer) => void;

export function boundCalls(docker: Docker, address: string, bounds: EngineBounds): EnginePulse {
  const modem = docker.modem as { dial: Dial };
  const dial: Dial = modem.dial.bind(modem);
  const pulse = new EnginePulse(address, (signal) => ping(dial, signal), bounds);
  modem.dial = (options, answer) => {
    if (pulse.away) return answer(pulse.unreachable(), null);
    const late = new AbortController();
    let open = true;
    const end: Answer = (error, result) => {
      if (!open) return destroy(result);
      open = false;
      clearTimeout(timer);
      release();
      if (error === null && options.isStream === true) watchStream(pulse, result);
      answer(error, result);
    };
    const giveUp = (error: Error) => {
      end(error, null);
      late.abort(error);
    };
    const release = pulse.watch(giveUp);
    const timer = setTimeout(
      () => giveUp(engineUnreachable(address, `no answer to ${nameOf(options)} in ${bounds.callMs} ms`)),
      bounds.callMs,
    );
    const { abortSignal } = options;
    const signal = abortSignal === undefined ? late.signal : AbortSignal.any([late.signal, abortSignal]);
    dial({ ...options, abortSignal: signal }, end);
  };
  return pulse;
}

function ping(dial: Dial, abortSignal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    dial({ path: "/_ping", method: "GET", statusCodes: { 200: true, 500: "server error" }, abortSignal }, (error) =>
      error === null ? resolve() : reject(error),
    );
  });
}

interface OpenStream {
  destroy(error?: Error): void;
  on(event: "close" | "error", listener: () => void): void;
}

function isStream(result: unknown): result is OpenStream {
  return typeof result === "object" && result !== null && "destroy" in result;
}

function watchStream(pulse: EnginePulse, result: unknown): void {
  if (!isStream(result)) return;
  const release = pulse.watch((error) => result.destroy(error));
  result.on("close", release);
  // The reader of the stream receives the error too. Without any listener the error would end the process.
  result.on("error", () => {});
}

/** Destroys an answer that arrived after its call was given up. */
function destroy(result: unknown): void {
  if (isStream(result)) result.destroy();
}

/** For example "POST /containers/start": no id and no value. */
function nameOf({ method = "GET", path }: DialOptions): string {
  const [place = ""] = path.split("?");
  const words = place.split("/").filter((part) => !/[0-9]/.test(part));
  return `${method} ${words.join("/")}`;
}
