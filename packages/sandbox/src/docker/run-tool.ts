// Runs one program of ours in a session container, as the session's user and with an empty environment: bytes in, bytes out. The program
// leaves no process behind, so the end of its stream is its end.

import type { Duplex } from "node:stream";
import type Docker from "dockerode";
import { FILE_MS } from "../file-program.ts";
import { Demultiplexer } from "./demultiplex.ts";

export interface ToolOutput {
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** Output beyond `maxBytes` ends the program. The output before that is returned. */
export async function runTool(
  container: Docker.Container,
  uid: number,
  command: readonly string[],
  input: Uint8Array | undefined,
  maxBytes: number,
): Promise<ToolOutput> {
  const exec = await container.exec({
    Cmd: ["/usr/bin/env", "-i", ...command],
    User: `${uid}:${uid}`,
    WorkingDir: "/",
    AttachStdin: input !== undefined,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
  });
  const stream: Duplex = await exec.start({ hijack: true, stdin: input !== undefined });
  const chunks: Buffer[] = [];
  let size = 0;
  let stderr = "";
  const demultiplexer = new Demultiplexer((name, chunk) => {
    if (name === "stderr") {
      if (stderr.length < 4000) stderr += chunk.toString("latin1");
      return;
    }
    size += chunk.length;
    if (size > maxBytes) stream.destroy();
    else chunks.push(Buffer.from(chunk));
  });
  const timer = setTimeout(() => stream.destroy(), FILE_MS);
  try {
    await new Promise<void>((resolve, reject) => {
      stream.on("data", (chunk: Buffer) => demultiplexer.push(chunk));
      stream.on("error", reject).on("end", resolve).on("close", resolve);
      if (input !== undefined) stream.write(input);
    });
  } finally {
    clearTimeout(timer);
    stream.destroy();
  }
  return { stdout: Buffer.concat(chunks), stderr };
}
