import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { fetchWithoutTimeouts } from "./fetch-without-timeouts.ts";

// Node's own limit of 300 s, shortened for the whole process.
const key = Symbol.for("undici.globalDispatcher.1");
const place = globalThis as unknown as Record<symbol, { dispatch(options: object, handler: unknown): boolean }>;
void Response;
const nodes = place[key];
const short = { headersTimeout: 300, bodyTimeout: 300 };

const server = createServer((_, response) => {
  setTimeout(() => {
    response.write("late ");
    setTimeout(() => response.end("but whole"), 1_800);
  }, 1_800);
});

afterEach(() => {
  if (nodes !== undefined) place[key] = nodes;
  server.closeAllConnections();
  server.close();
});

it("a fetch without timeouts waits longer than Node's limit for headers and body, until its signal ends it", async () => {
  if (nodes === undefined)
    throw new Error("Node keeps its dispatcher elsewhere: this test does not shorten its limits");
  place[key] = { dispatch: (options, handler) => nodes.dispatch({ ...short, ...options }, handler) };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const impatient = fetch(url).then(
    () => null,
    (error: { cause: { code: string } }) => error.cause.code,
  );
  const aborted = fetchWithoutTimeouts(url, { signal: AbortSignal.timeout(500) }).catch((error: Error) => error.name);
  expect(await (await fetchWithoutTimeouts(url)).text()).toBe("late but whole");
  expect(await impatient).toBe("UND_ERR_HEADERS_TIMEOUT");
  expect(await aborted).toBe("TimeoutError");
});
