// The thread in which 'markmill up' serves the API. It answers another process while the main thread of this process is blocked.
import { spawnSync } from "node:child_process";
import { readConfig } from "@markmill/config";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ApiThread, startApiThread } from "../../apps/cli/src/start-api-thread.ts";
import { migratedDatabase, type TestDatabase } from "../support/postgres.ts";

let database: TestDatabase;
let api: ApiThread;

function configOf(port: number) {
  const reading = readConfig({});
  if (!reading.ok) throw new Error("the configuration is wrong");
  return { ...reading.config, api: { ...reading.config.api, port } };
}

beforeAll(async () => {
  database = await migratedDatabase();
  api = await startApiThread({ config: configOf(0), databaseUrl: database.url, cwd: "/" }, () => undefined);
});
afterAll(async () => {
  await api?.close();
  await database?.drop();
});

it("the API thread answers while the event loop of the worker is blocked", () => {
  // spawnSync blocks this event loop until the other process ends, and that process waits for the answer.
  const { stdout } = spawnSync("curl", ["-sS", "--max-time", "60", "-w", "%{http_code}", `${api.url}/v1/tenants`], {
    encoding: "utf8",
  });
  expect(stdout).toMatch(/401$/);
  const header = `authorization: Bearer ${api.firstKey}`;
  const owned = spawnSync("curl", ["-sS", "--max-time", "60", "-H", header, `${api.url}/v1/tenants`], {
    encoding: "utf8",
  });
  expect(JSON.parse(owned.stdout)).toMatchObject({ items: [{ id: "default" }] });
});

it("the API thread reports with its code why it cannot start", async () => {
  const port = Number(new URL(api.url).port);
  await expect(
    startApiThread({ config: configOf(port), databaseUrl: database.url, cwd: "/" }, () => undefined),
  ).rejects.toMatchObject({ code: "EADDRINUSE" });
});

it("the API thread ends when it is closed, and no longer answers", async () => {
  const other = await startApiThread({ config: configOf(0), databaseUrl: database.url, cwd: "/" }, () => undefined);
  expect(other.firstKey).toBeNull();
  await other.close();
  await expect(fetch(`${other.url}/health/live`)).rejects.toThrow();
});
