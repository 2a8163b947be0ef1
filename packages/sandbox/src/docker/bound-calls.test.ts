import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EngineHost } from "./engine-host.ts";

/** An engine that answers only pings, like an engine whose containerd hangs. */
const server = createServer((request, response) => {
  if (request.url?.startsWith("/_ping")) response.end("OK");
});
let directory = "";

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "markmill-bounds-"));
  await new Promise<void>((resolve) => server.listen(join(directory, "engine.sock"), resolve));
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(directory, { recursive: true, force: true });
});

describe("a call to an engine", () => {
  it("every kind of call ends within its bound, and its error names the call without ids", async () => {
    const host = await EngineHost.at(`unix://${join(directory, "engine.sock")}`, { callMs: 100 });
    const { docker } = host;
    const container = docker.getContainer("c0ffee1");
    const exec = docker.getExec("e1");
    const calls: readonly (readonly [name: string, () => Promise<unknown>])[] = [
      ["GET /info", () => docker.info()],
      ["GET /version", () => docker.version()],
      ["GET /images/json", () => docker.getImage("a1:2").inspect()],
      ["GET /containers/json", () => docker.listContainers()],
      ["GET /volumes", () => docker.listVolumes()],
      ["POST /volumes/create", () => docker.createVolume({ Name: "v1" })],
      ["DELETE /volumes", () => docker.getVolume("v1").remove()],
      ["POST /containers/create", () => docker.createContainer({ Image: "i1" })],
      ["POST /containers/start", () => container.start()],
      ["GET /containers/json", () => container.inspect()],
      ["GET /containers/stats", () => container.stats({ stream: false, "one-shot": true })],
      ["POST /containers/kill", () => container.kill()],
      ["POST /containers/rename", () => container.rename({ name: "n1" })],
      ["DELETE /containers", () => container.remove({ force: true })],
      ["POST /containers/exec", () => container.exec({ Cmd: ["true"] })],
      ["POST /exec/start", () => exec.start({ hijack: true, stdin: true })],
      ["GET /exec/json", () => exec.inspect()],
      ["GET /events", () => docker.getEvents({ since: 1 })],
    ];
    await Promise.all(
      calls.map(([name, call]) =>
        expect(call(), name).rejects.toMatchObject({
          code: "SANDBOX_ENGINE_UNREACHABLE",
          message: expect.stringContaining(`(no answer to ${name} in 100 ms)`),
        }),
      ),
    );
    // It answers pings, so other calls are still tried.
    expect(host.pulse.away).toBe(false);
    host.pulse.close();
  });
});
