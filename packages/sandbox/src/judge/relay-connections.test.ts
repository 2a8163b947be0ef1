import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { type Connection, RelayConnections } from "./relay-connections.ts";
import { RELAY_SCRIPT, WINDOW } from "./relay-script.ts";

const message = (kind: string, bytes: Uint8Array | string) => {
  const payload = Buffer.from(bytes as string);
  const head = Buffer.alloc(5);
  head.write(kind);
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
};

describe.skipIf(process.platform !== "linux")("the relay of a judge session", () => {
  const ends: (() => void)[] = [];
  afterEach(() => {
    for (const end of ends.splice(0)) end();
  });

  async function relay() {
    const folder = mkdtempSync(join(tmpdir(), "markmill-relay-"));
    const path = join(folder, "socket");
    const file = join(folder, "relay");
    writeFileSync(file, RELAY_SCRIPT);
    const met: Connection[] = [];
    const child = spawn("perl", [file, path, String(WINDOW)], { stdio: ["pipe", "pipe", "inherit"] });
    const connections = new RelayConnections(child.stdin, child.stdout, (connection) => met.push(connection));
    ends.push(() => {
      child.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    });
    await connections.ready;
    return { path, met, connections, child };
  }

  const until = (condition: () => boolean) => expect.poll(condition, { interval: 5 }).toBe(true);

  it("carries messages both ways, also of several connections at once", async () => {
    const { path, met } = await relay();
    const clients = [connect(path), connect(path)];
    for (const [index, client] of clients.entries()) client.write(message("Q", `hello ${index}`));
    await until(() => met.length === 2);
    const said = await Promise.all(met.map((connection) => connection.next()));
    expect(said.map((one) => one?.bytes.toString()).sort()).toEqual(["hello 0", "hello 1"]);
    await Promise.all(met.map((connection) => connection.say("O", Buffer.from("answer"))));
    for (const client of clients) {
      const [bytes] = (await once(client, "data")) as [Buffer];
      expect(bytes).toEqual(message("O", "answer"));
      client.destroy();
    }
  });

  it("pauses a writer whose reader is slow, and loses no bytes", async () => {
    const { path, met } = await relay();
    const client = connect(path);
    client.write(message("Q", ""));
    await until(() => met.length === 1);
    const [connection] = met;
    if (connection === undefined) throw new Error("no connection");
    await connection.next();
    client.pause();
    let sent = 0;
    const all = (async () => {
      for (let count = 0; count < 64; count += 1) {
        await connection.say("O", Buffer.alloc(64 * 1024, count));
        sent += 1;
      }
    })();
    await pause(300);
    expect(sent).toBeLessThan(40);
    let received = 0;
    client.on("data", (chunk) => {
      received += chunk.length;
    });
    client.resume();
    await all;
    await until(() => received === 64 * (64 * 1024 + 5));
    client.destroy();
  });

  it("reports when a client is gone, and closes the clients when the worker is gone", async () => {
    const { path, met, connections, child } = await relay();
    const first = connect(path);
    first.write(message("Q", ""));
    await until(() => met.length === 1);
    await met[0]?.next();
    first.destroy();
    expect(await met[0]?.next()).toBeUndefined();
    const second = connect(path);
    await until(() => met.length === 2);
    const closed = once(second, "close");
    second.on("error", () => {});
    second.resume();
    connections.close();
    await closed;
    await until(() => child.exitCode === 0);
  });
});
