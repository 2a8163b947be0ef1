/** Servers and requests for the tests of the model client. */
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { formatFinding } from "./finding.ts";
import { builtInCatalogue } from "./model-catalogue.ts";
import { type CallOptions, createModelClient, type ModelClientOptions } from "./model-client.ts";
import { ModelFailure } from "./model-failure.ts";
import type { ModelRequest } from "./model-request.ts";
import { parseScript } from "./script.ts";
import { type ScriptedModel, startScriptedModel } from "./scripted-server.ts";

export const open: { close(): unknown }[] = [];

/** Closes the servers of this test. Each test file calls it after each test. */
export async function closeServers(): Promise<void> {
  for (const thing of open.splice(0)) await thing.close();
}

export async function serve(yaml: string, apiKey?: string): Promise<ScriptedModel> {
  const reading = parseScript(yaml, "script.yaml");
  if (!reading.ok) throw new Error(reading.findings.map(formatFinding).join("\n"));
  const model = await startScriptedModel({ script: reading.script, ...(apiKey === undefined ? {} : { apiKey }) });
  open.push(model);
  return model;
}

/** For answers that no script can give. */
export async function serveRaw(listener: RequestListener): Promise<string> {
  const server: Server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push({
    close() {
      server.closeAllConnections();
      server.close();
    },
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

export async function serveBody(
  body: string,
  { status = 200, contentType = "application/json" } = {},
): Promise<string> {
  return await serveRaw((_, response) => response.writeHead(status, { "content-type": contentType }).end(body));
}

export const client = (baseUrl: string, more: Partial<ModelClientOptions> = {}) =>
  createModelClient({ baseUrl, apiKey: "sk-test-key", catalogue: builtInCatalogue, ...more });

export const ask = (content: string, more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: "scripted",
  messages: [{ role: "user", content }],
  settings: {},
  ...more,
});

export async function failureOf(call: Promise<unknown>): Promise<ModelFailure> {
  const error = await call.then(
    (reply) => new Error(`no failure but ${JSON.stringify(reply)}`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof ModelFailure)) throw error;
  return error;
}

/** Both ways to call; every fault must have the same result. */
export const ways: [string, CallOptions][] = [
  ["whole", {}],
  ["streamed", { onDelta: () => undefined }],
];
