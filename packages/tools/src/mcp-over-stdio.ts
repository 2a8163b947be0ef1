/**
 * Connects to a server of the Model Context Protocol that runs as a program in the sandbox session of its run. Messages are lines on its
 * stdin and stdout.
 *
 * D1  The holder of the session starts the program, and ends it with all processes it started. This file has only pipes to it, and no
 *     access to the host.
 * D2  All its output is counted. Too much output, a line that is no message, or the end of the program ends the session at once.
 * D3  Its stderr is for people: it is reported only if the program ends on its own.
 */
import type { Readable, Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import type { StdioServer } from "@markmill/engine";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { JsonWeight } from "./json-weight.ts";
import { ToolFailure } from "./tool-codes.ts";

interface StartedServer {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Its exit code; rejects where the sandbox failed. */
  readonly ended: Promise<number>;
}

/** Starts the program in the session of the run. */
export type StartServer = (server: StdioServer) => Promise<StartedServer>;

/** Output from right before the end may arrive after the report of the end. */
const lastWordsMs = 1_000;
const mostStderrCharacters = 400;

export async function overStdio(
  start: StartServer | undefined,
  server: StdioServer,
  { ending, mostBytes }: { readonly ending: AbortController; readonly mostBytes: number },
): Promise<Transport> {
  if (start === undefined) {
    const why = "The server needs a sandbox session, which this step does not have.";
    throw new ToolFailure("TOOL_NOT_CONFIGURED", why);
  }
  const { deserializeMessage, serializeMessage } = await import("@modelcontextprotocol/sdk/shared/stdio.js");
  let program: StartedServer | null = null;
  let bytes = 0;
  let complaint = "";
  let over = false;
  const fail = (failure: ToolFailure) => {
    over = true;
    ending.abort(failure);
  };
  const count = (chunk: Buffer): boolean => {
    bytes += chunk.length;
    if (bytes > mostBytes && !over) {
      fail(new ToolFailure("TOOL_TOO_LARGE", `The server wrote more than ${mostBytes / 1024 / 1024} MiB.`));
    }
    return !over;
  };
  const hear = (line: string) => {
    try {
      transport.onmessage?.(deserializeMessage(line));
    } catch {
      const shown = JSON.stringify(line.slice(0, 100));
      fail(new ToolFailure("TOOL_FAILED", `The server wrote a line to stdout that is not a message: ${shown}.`));
    }
  };
  const transport: Transport = {
    async start() {
      program = await start(server);
      const { stdin, stdout, stderr, ended } = program;
      stdin.on("error", () => undefined);
      const lines = splitLines((line) => {
        if (!over && line.trim() !== "") hear(line);
      });
      // Further output is read and dropped until the program is ended: a program that cannot write would not notice its end.
      const weight = new JsonWeight();
      stdout.on("data", (chunk: Buffer) => {
        if (!count(chunk)) return;
        const why = weight.add(chunk);
        if (why === null) lines(chunk);
        else fail(new ToolFailure("TOOL_TOO_LARGE", `What the server wrote ${why}.`));
      });
      stderr.on("data", (chunk: Buffer) => {
        if (count(chunk)) complaint = (complaint + chunk.toString("utf8")).slice(-mostStderrCharacters);
      });
      ended.then(
        async (code) => {
          await Promise.race([finished(stdout).catch(() => undefined), pause(lastWordsMs)]);
          if (!over) fail(endedBefore(code, complaint));
        },
        () => {
          if (!over) fail(new ToolFailure("TOOL_FAILED", "The sandbox failed under the server.", true));
        },
      );
      // The session was closed while the program was starting.
      if (over) stdin.end();
    },
    async send(message) {
      if (!over) program?.stdin.write(serializeMessage(message));
    },
    async close() {
      over = true;
      program?.stdin.end();
      transport.onclose?.();
    },
  };
  return transport;
}

function endedBefore(code: number, complaint: string): ToolFailure {
  const said = complaint.trim() === "" ? "." : `: ${complaint.trim()}`;
  if (code === 126 || code === 127) {
    return new ToolFailure("TOOL_NOT_CONFIGURED", `The program of the server could not be started (${code})${said}`);
  }
  return new ToolFailure("TOOL_FAILED", `The server ended with exit code ${code} before it answered${said}`);
}

/** Passes on whole lines as they arrive. */
function splitLines(take: (line: string) => void): (chunk: Buffer) => void {
  let begun: Buffer[] = [];
  return (chunk) => {
    let rest = chunk;
    for (let at = rest.indexOf(10); at >= 0; at = rest.indexOf(10)) {
      take(Buffer.concat([...begun, rest.subarray(0, at)]).toString("utf8"));
      begun = [];
      rest = rest.subarray(at + 1);
    }
    if (rest.length > 0) begun.push(rest);
  };
}
