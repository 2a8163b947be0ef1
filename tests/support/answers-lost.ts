/** A connection that is cut before one answer arrives. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A way to a server that breaks once: when it is first told this word, after the server has heard it and before its answer is through. */
export async function answersLost(url: string, word: string) {
  const direct = new URL(url);
  const through = new URL(url);
  const socket = direct.searchParams.get("host");
  const server =
    socket === null
      ? { host: direct.hostname, port: Number(direct.port) }
      : { path: `${socket}/.s.PGSQL.${direct.searchParams.get("port") ?? 5432}` };
  let times = 0;
  const open = new Set<Socket>();
  const proxy = createServer((client) => {
    const upstream = connect(server);
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        open.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    let cutting = false;
    client.on("data", (chunk) => {
      if (times === 0 && chunk.includes(word)) {
        times += 1;
        cutting = true;
      }
      upstream.write(chunk);
    });
    upstream.on("data", (chunk) => {
      if (cutting) client.destroy();
      else client.write(chunk);
    });
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  through.search = "";
  through.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  return {
    url: through.href,
    times: () => times,
    async close() {
      for (const socket of open) socket.destroy();
      proxy.close();
      await once(proxy, "close");
    },
  };
}
