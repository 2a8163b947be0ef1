/** Fake engines that answer only the calls of these tests. */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { defaultLimits } from "../limits.ts";
import { createDockerSandbox } from "./docker-sandbox.ts";

const info = {
  CgroupVersion: "2",
  NCPU: 2,
  ServerVersion: "29.5.1",
  SecurityOptions: ["name=seccomp"],
  MemoryLimit: true,
  SwapLimit: true,
  PidsLimit: true,
  CpuCfsQuota: true,
};
const session = { Id: "c0ffee", Created: "2026-01-01T00:00:00Z", State: { Running: true }, Config: { Labels: {} } };

let answers = true;
let renewals = 0;
const engine = () =>
  createServer(({ method = "", url = "" }, response) => {
    const say = (code: number, what: unknown) => response.writeHead(code).end(JSON.stringify(what));
    if (!answers) return response.destroy();
    if (url.startsWith("/_ping")) return response.end("OK");
    if (url.startsWith("/info")) return say(200, info);
    if (url.startsWith("/version")) return say(200, { Components: [] });
    if (url.includes("/kill")) renewals += 1;
    if (url.startsWith("/containers/json")) return say(200, []);
    if (method === "GET" && url.startsWith("/containers/")) return say(200, session);
    return say(200, {});
  });
const engines = [engine(), engine()];
let directory = "";
const hosts = () => engines.map((_, number) => `unix://${join(directory, `${number}.sock`)}`);

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "markmill-engines-"));
  for (const [number, one] of engines.entries())
    await new Promise<void>((resolve) => one.listen(join(directory, `${number}.sock`), resolve));
});
afterAll(async () => {
  vi.useRealTimers();
  for (const one of engines) {
    one.closeAllConnections();
    await new Promise((resolve) => one.close(resolve));
  }
  await rm(directory, { recursive: true, force: true });
});

describe("a session on Docker engines", () => {
  it("keeps its lease when no engine answers for a moment", async () => {
    const sandbox = await createDockerSandbox({ hosts: hosts(), images: ["i"], bounds: { pingMs: 10 } });
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const created = new Date().toISOString();
    const labels = {
      app: "a",
      run: "r",
      worker: "w",
      created,
      deadline: new Date(Date.now() + 3_600_000).toISOString(),
    };
    const files = { kind: "list", files: [] } as const;
    await sandbox.open({ id: "s1", files, limits: defaultLimits, environment: {}, labels, network: "none" });
    renewals = 0;
    vi.advanceTimersByTime(10_000);
    await expect.poll(() => renewals).toBe(2);
    answers = false;
    vi.advanceTimersByTime(10_000);
    await expect(sandbox.list()).rejects.toMatchObject({ code: "SANDBOX_ENGINE_UNREACHABLE" });
    answers = true;
    await expect.poll(() => sandbox.list().then(() => "listed", String)).toBe("listed");
    renewals = 0;
    vi.advanceTimersByTime(10_000);
    await expect.poll(() => renewals).toBeGreaterThan(0);
    await sandbox.close();
  });
});
