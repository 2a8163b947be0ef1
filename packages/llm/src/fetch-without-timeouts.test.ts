import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const here = (name: string) => JSON.stringify(new URL(name, import.meta.url).href);

/** A process of its own, in which the 300 s of undici pass in about a second. */
const program = `
  import { createServer } from "node:http";
  const real = globalThis.setTimeout;
  globalThis.setTimeout = (what, ms, ...more) => real(what, ms / 500, ...more);
  const { fetch } = await import("undici");
  const { fetchWithoutTimeouts } = await import(${here("fetch-without-timeouts.ts")});
  const held = [];
  const server = createServer((request, response) => {
    held.push(response);
    if (request.url === "/body") response.write("late ");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = "http://127.0.0.1:" + server.address().port;
  const text = (ask, path, init) =>
    ask(url + path, init).then((response) => response.text()).catch((error) => error.cause?.code ?? error.name);
  const stop = new AbortController();
  const stopped = text(fetchWithoutTimeouts, "/head", { signal: stop.signal });
  const patient = [text(fetchWithoutTimeouts, "/head"), text(fetchWithoutTimeouts, "/body")];
  while (held.length < 3) await new Promise(setImmediate);
  const said = await Promise.all([text(fetch, "/head"), text(fetch, "/body")]);
  stop.abort();
  said.push(await stopped);
  for (const response of held) response.end("but whole");
  console.log(JSON.stringify([...said, ...(await Promise.all(patient))]));
  process.exit();
`;

it("waits longer than 300 s for the headers and inside the body, until its signal ends it", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], {
    cwd: import.meta.dirname,
  });
  expect(JSON.parse(stdout)).toEqual([
    "UND_ERR_HEADERS_TIMEOUT",
    "UND_ERR_BODY_TIMEOUT",
    "AbortError",
    "but whole",
    "late but whole",
  ]);
});
