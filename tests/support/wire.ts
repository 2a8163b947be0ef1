// A network between a process and a server that a test can take away. `silence`: nothing comes through, and nobody is told, as behind a firewall
// that drops packets. `cut`: connections break, and new ones are refused. `restore`: what was silent goes on where it was.
import { connect, createServer, type Socket } from "node:net";

export interface Wire {
  /** The server's address, by way of the wire. */
  readonly url: string;
  readonly isSilent: boolean;
  silence(): void;
  cut(): void;
  restore(): void;
  close(): void;
}

export async function openWire(url: string): Promise<Wire> {
  const through = new URL(url);
  // Of Postgres: a directory with a socket.
  const directory = through.searchParams.get("host");
  const port = Number(through.searchParams.get("port") ?? (through.port || 5432));
  const to = directory === null ? { port, host: through.hostname } : { path: `${directory}/.s.PGSQL.${port}` };
  const ends = new Set<Socket>();
  let is: "open" | "silent" | "cut" = "open";
  const server = createServer((client) => {
    if (is === "cut") return void client.destroy();
    const upstream = connect(to);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      ends.add(one);
      one.on("data", (data) => other.write(data));
      one.on("end", () => other.end());
      one.on("close", () => {
        ends.delete(one);
        other.destroy();
      });
      one.on("error", () => undefined);
      if (is === "silent") one.pause();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  if (directory !== null) through.search = "";
  through.hostname = "127.0.0.1";
  through.port = String(address.port);
  const destroyAll = () => {
    for (const end of ends) end.destroy();
  };
  return {
    url: through.href,
    get isSilent() {
      return is === "silent";
    },
    silence() {
      is = "silent";
      for (const end of ends) end.pause();
    },
    cut() {
      is = "cut";
      destroyAll();
    },
    restore() {
      is = "open";
      for (const end of ends) end.resume();
    },
    close() {
      destroyAll();
      server.close();
    },
  };
}
