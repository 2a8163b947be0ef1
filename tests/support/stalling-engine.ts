/**
 * A way to a Docker engine that can be stalled: connections are accepted, and no byte passes in either direction until it goes on. For
 * whoever uses it this is an engine whose process is stopped.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface StallingEngine {
  readonly host: string;
  stall(): void;
  goOn(): void;
  close(): Promise<void>;
}

/** `engineHost`: null where there is nothing behind it, so that it can only hang. */
export async function startStallingEngine(engineHost: string | null): Promise<StallingEngine> {
  const directory = await mkdtemp(join(tmpdir(), "markmill-stalling-"));
  const path = join(directory, "engine.sock");
  const open = new Set<Socket>();
  let stalled = engineHost === null;
  const pass = (from: Socket, to: Socket) => {
    open.add(from);
    from
      .on("error", () => from.destroy())
      .on("close", () => {
        open.delete(from);
        to.destroy();
      });
    from.on("data", (chunk) => {
      if (!to.write(chunk)) from.pause();
    });
    to.on("drain", () => {
      if (!stalled) from.resume();
    });
    from.on("end", () => to.end());
    if (stalled) from.pause();
  };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    if (engineHost === null) {
      open.add(client);
      client.on("error", () => client.destroy()).on("close", () => open.delete(client));
      return;
    }
    const engine = connect({ path: engineHost.replace("unix://", ""), allowHalfOpen: true });
    pass(client, engine);
    pass(engine, client);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    host: `unix://${path}`,
    stall() {
      stalled = true;
      for (const socket of open) socket.pause();
    },
    goOn() {
      stalled = false;
      for (const socket of open) socket.resume();
    },
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await rm(directory, { recursive: true, force: true });
    },
  };
}
