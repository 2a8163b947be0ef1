import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, it } from "vitest";

const place = mkdtempSync(join(tmpdir(), "markmill-thread-"));
afterAll(() => rmSync(place, { recursive: true, force: true }));

const thread = join(place, "thread.ts");
writeFileSync(
  thread,
  `import { getCompileCacheDir } from "node:module";
import { parentPort, workerData } from "node:worker_threads";
parentPort?.on("message", (text: string) => parentPort?.postMessage([text, workerData, getCompileCacheDir() ?? null]));
`,
);
const main = join(place, "main.mjs");
writeFileSync(
  main,
  `import { getCompileCacheDir } from "node:module";
import { startThread } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, "start-thread.ts")).href)};
const started = startThread(new URL(process.argv[2]), { workerData: 7, name: "a thread" });
started.on("error", (error) => { console.log(JSON.stringify({ error: String(error) })); });
started.on("message", (heard) => { console.log(JSON.stringify({ heard, own: getCompileCacheDir() ?? null })); process.exit(0); });
started.postMessage("early");
`,
);

function start(file: string, cache: string | null, ...flags: readonly string[]) {
  const { NODE_COMPILE_CACHE: _, ...env } = process.env;
  const ended = spawnSync(process.execPath, [...flags, main, pathToFileURL(file).href], {
    env: cache === null ? env : { ...env, NODE_COMPILE_CACHE: cache },
    encoding: "utf8",
  });
  return JSON.parse(ended.stdout);
}

it("a thread receives messages that were sent before it ran, and caches modules where its process does", () => {
  const cache = join(place, "cache");
  const { heard, own } = start(thread, cache);
  expect(own).toContain(cache);
  expect(heard).toEqual(["early", 7, own]);
});

it("a thread has no module cache if its process has none", () => {
  expect(start(thread, null)).toEqual({ heard: ["early", 7, null], own: null });
});

it("a thread whose file does not exist ends with an error, with or without a module cache", () => {
  for (const cache of [null, join(place, "cache")]) {
    expect(start(join(place, "nothing.ts"), cache).error).toContain("nothing.ts");
    expect(start(join(place, "nothing.ts"), cache, "--unhandled-rejections=warn").error).toContain("nothing.ts");
  }
});
