/** Disabled telemetry costs nothing: none of its code is loaded. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { makePlace, markmill } from "../support/markmill-process.ts";
import { workflow } from "../support/mill.ts";

const hook = pathToFileURL(join(import.meta.dirname, "../support/note-imports.mjs")).href;
const otlp = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" };

let place: Awaited<ReturnType<typeof makePlace>>;
beforeAll(async () => {
  place = await makePlace({}, { command: "shipped", postgres: "running" });
  writeFileSync(join(place.cwd, "a.wf.md"), workflow('  START --> SET_A["SET: A = 1"] --> SUCCESS'));
});
afterAll(() => place.remove());

let count = 0;
async function loaded(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const file = join(place.cwd, `loaded-${count++}`);
  const noted = { ...place, env: { ...place.env, ...env, NOTE_IMPORTS: file, NODE_OPTIONS: `--import=${hook}` } };
  const said = await markmill(noted, args);
  expect(said.code, said.stderr).toBe(0);
  const all = readFileSync(file, "utf8").split("\n");
  expect(all.length).toBeGreaterThan(10);
  return all.filter((url) => /@opentelemetry|packages\/telemetry/.test(url)).length;
}

it.each([[["--help"]], [["validate", "a.wf.md"]], [["run", "--help"]]])(
  "markmill %j loads no telemetry, on or off",
  async (args) => {
    expect(await loaded(args, otlp)).toBe(0);
    // Code that is not loaded with a collector is not loaded without one, as the test below shows.
    if (inject("thorough")) expect(await loaded(args)).toBe(0);
  },
);

it("a run loads telemetry only if a collector is named, and does not wait for an unreachable one", async () => {
  expect(await loaded(["run", "a.wf.md"])).toBe(0);
  expect(await loaded(["run", "a.wf.md"], otlp)).toBeGreaterThan(10);
});
