/** A way to a Docker engine on which what commands write comes later than what is reported of them, or stops coming. */
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface LateOutputEngine {
  readonly host: string;
  /** How late output is, from now on. null: it does not come, and the stream ends where the engine ends it. */
  lateMs: number | null;
  close(): Promise<void>;
}

export async function startLateOutputEngine(engineHost: string): Promise<LateOutputEngine> {
  const directory = await mkdtemp(join(tmpdir(), "markmill-late-"));
  const path = join(directory, "engine.sock");
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const engine = connect(engineHost.replace("unix://", ""));
    for (const socket of [client, engine]) {
      open.add(socket);
      socket.on("error", () => socket.destroy()).on("close", () => open.delete(socket));
    }
    let upgraded = false;
    client.on("data", (chunk) => {
      upgraded ||= /^POST \S*\/exec\/\w+\/start /.test(chunk.toString("latin1"));
      engine.write(chunk);
    });
    client.on("end", () => engine.end());
    const reading = readFrames((bytes, isOutput) => {
      if (!isOutput || late.lateMs === 0) client.write(bytes);
      else if (late.lateMs !== null) setTimeout(() => client.write(bytes), late.lateMs);
    });
    engine.on("data", (chunk) => (upgraded ? reading(chunk) : client.write(chunk)));
    engine.on("end", () => setTimeout(() => client.end(), (late.lateMs ?? 0) + 50));
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const late: LateOutputEngine = {
    host: `unix://${path}`,
    lateMs: 0,
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await rm(directory, { recursive: true, force: true });
    },
  };
  return late;
}

/** The head of an answer, then its frames (8 bytes: 1 for output at first, the length at last), each told whole. */
function readFrames(tell: (bytes: Buffer, isOutput: boolean) => void): (chunk: Buffer) => void {
  let held = Buffer.alloc(0);
  let framed = false;
  return (chunk) => {
    held = Buffer.concat([held, chunk]);
    for (;;) {
      const head = held.indexOf("\r\n\r\n") + 4;
      const size = framed ? (held.length < 8 ? Number.POSITIVE_INFINITY : 8 + held.readUInt32BE(4)) : head;
      if (held.length < size || size < 4) return;
      tell(held.subarray(0, size), framed && held[0] === 1);
      framed = true;
      held = held.subarray(size);
    }
  };
}
