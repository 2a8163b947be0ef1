import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { type EnvironmentText, readConfig } from "@markmill/config";
import { afterEach, describe, expect, it } from "vitest";
import { checkModels, type ModelsWanted } from "./check-models.ts";

const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});

async function check(env: EnvironmentText, more: Partial<ModelsWanted>): Promise<readonly string[]> {
  const reading = readConfig(env);
  if (!reading.ok) throw new Error(JSON.stringify(reading.findings));
  const wanted = { names: [], usesDefault: false, scripted: false, budget: false, probe: true, ...more };
  return (await checkModels(reading.config, tmpdir(), wanted)).map(({ code }) => code);
}

/** Starts an endpoint that gives the same answer to every request for its models. */
async function endpoint(status: number, body: object): Promise<EnvironmentText> {
  const server = createServer((_, response) => {
    response.writeHead(status, { "content-type": "application/json", connection: "close" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  opened.push(() => new Promise((resolve) => server.close(resolve)));
  return { OPENAI_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, OPENAI_API_KEY: "k" };
}

describe("checkModels", () => {
  it("refuses a model that is not in the catalogue, without a request to the endpoint", async () => {
    expect(await check({ OPENAI_API_KEY: "k" }, { names: ["gpt-4o-mimi"] })).toEqual(["MODEL_NOT_IN_CATALOGUE"]);
  });

  it("refuses a workflow that names no model if there is no default", async () => {
    expect(await check({ OPENAI_API_KEY: "k" }, { usesDefault: true })).toEqual(["MODEL_NOT_CHOSEN"]);
  });

  it("refuses the default endpoint without a key", async () => {
    expect(await check({}, { names: ["gpt-4o-mini"] })).toEqual(["MODEL_KEY_MISSING"]);
  });

  it("refuses a key that the endpoint refuses", async () => {
    const env = await endpoint(401, { error: { message: "Incorrect API key provided" } });
    expect(await check(env, { names: ["gpt-4o-mini"] })).toEqual(["MODEL_KEY_REFUSED"]);
  });

  it("refuses an endpoint that does not accept connections", async () => {
    const env = await endpoint(200, {});
    for (const close of opened.splice(0)) await close();
    expect(await check(env, { names: ["gpt-4o-mini"] })).toEqual(["MODEL_UNREACHABLE"]);
  });

  it("needs no key and no endpoint if a script answers", async () => {
    expect(await check({}, { names: ["gpt-4o-mini"], usesDefault: true, scripted: true })).toEqual([]);
  });

  it("reports no problem if model, key and endpoint are right", async () => {
    const env = await endpoint(200, { data: [{ id: "gpt-4o-mini" }] });
    expect(await check(env, { names: ["gpt-4o-mini"] })).toEqual([]);
  });
});
