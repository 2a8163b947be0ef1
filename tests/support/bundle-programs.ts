// The programs that tests start by the hundred, each bundled once for a run: half of what a start costs is finding and reading a thousand
// modules. What is bundled is the source as it stands; nothing is left out, renamed for size or compiled for another Node.
//
// P1 Where a module stands is part of what it is: `import.meta` says of each what it says unbundled, so that files beside it are found.
// P2 npm packages that are not named here are left where they are and loaded as always.
// P3 What the command starts in the background is itself, bundled.
// P4 A bundle's files are named by what is in them: runs beside each other, or one that was killed, leave nothing that is wrong.
import { createHash } from "node:crypto";
import { mkdir, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import { pathToFileURL } from "node:url";
import { type OutputChunk, type Plugin, rolldown } from "rolldown";

const programs = {
  markmill: "../../apps/cli/bin/markmill.mjs",
  "mill-worker": "mill-worker.ts",
  "mill-supervisor": "mill-supervisor.ts",
} as const;

type ProgramName = keyof typeof programs;

/** Packages of many modules that nearly every process loads, and what only they load. */
const bundled: ReadonlySet<string> = new Set([
  ...["bullmq", "cron-parser", "ioredis", "luxon", "node-abort-controller", "semver", "tslib", "uuid"],
  ...["denque", "cluster-key-slot", "redis-errors", "redis-parser", "standard-as-callback", "@ioredis/commands"],
  ...["pg", "pg-connection-string", "pg-int8", "pg-pool", "pg-protocol", "pg-types", "pgpass", "split2"],
  ...["postgres-array", "postgres-bytea", "postgres-date", "postgres-interval", "xtend"],
  ...["tar-stream", "streamx", "b4a", "text-decoder", "fast-fifo", "events-universal", "yauzl", "pend"],
  ...["yaml", "zod"],
]);

const dayMs = 24 * 60 * 60_000;

/** Returns the files to start. */
export async function bundlePrograms(cache: string): Promise<Readonly<Record<ProgramName, string>>> {
  const directory = join(cache, "programs");
  await mkdir(directory, { recursive: true });
  const input = Object.fromEntries(
    Object.entries(programs).map(([name, file]) => [name, join(import.meta.dirname, file)]),
  );
  const plugins = [startItself, keepPlaces, leaveOthers];
  const bundle = await rolldown({ input, platform: "node", plugins, logLevel: "silent" });
  const { output } = await bundle.generate({ format: "esm", strictExecutionOrder: true });
  await bundle.close();
  const chunks = output.filter((one) => one.type === "chunk");
  // Entries have names that stay, and chunks name each other: all of them together are one thing.
  const name = createHash("sha256");
  for (const { fileName, code } of chunks) name.update(`${fileName}\n${code}\n`);
  const place = join(directory, name.digest("hex").slice(0, 16));
  await keep(place, chunks);
  await forget(directory, place);
  return Object.fromEntries(
    chunks.filter(({ isEntry }) => isEntry).map((chunk) => [chunk.name, join(place, chunk.fileName)]),
  ) as Record<ProgramName, string>;
}

async function keep(place: string, chunks: readonly OutputChunk[]): Promise<void> {
  const now = new Date();
  // One that is in use is no old one.
  if ((await utimes(place, now, now).catch(() => null)) !== null) return;
  const unfinished = `${place}.${process.pid}`;
  for (const { fileName, code } of chunks) {
    const file = join(unfinished, fileName);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, code);
  }
  // Another run may have been faster.
  await rename(unfinished, place).catch(() => rm(unfinished, { recursive: true, force: true }));
}

/** Bundles of sources that have changed since. */
async function forget(directory: string, place: string): Promise<void> {
  for (const entry of await readdir(directory)) {
    const path = join(directory, entry);
    const made = await stat(path).catch(() => null);
    if (path !== place && made !== null && Date.now() - made.mtimeMs > dayMs)
      await rm(path, { recursive: true, force: true });
  }
}

/** P3. A bundle's files stand beside each other. */
const startItself: Plugin = {
  name: "start-itself",
  transform(code, id) {
    if (!id.endsWith("/apps/cli/src/background.ts")) return null;
    const shipped = 'new URL("../bin/markmill.mjs", import.meta.url)';
    if (!code.includes(shipped)) throw new Error(`${id} does not say any more what it starts: ${shipped}`);
    return code.replace(shipped, 'new URL("markmill.js", import.meta["url"])');
  },
};

/** P1. */
const keepPlaces: Plugin = {
  name: "keep-places",
  transform(code, id) {
    if (!code.includes("import.meta.")) return null;
    return code
      .replaceAll(/\bimport\.meta\.url\b/g, JSON.stringify(pathToFileURL(id).href))
      .replaceAll(/\bimport\.meta\.dirname\b/g, JSON.stringify(dirname(id)))
      .replaceAll(/\bimport\.meta\.main\b/g, "false");
  },
};

/** P2. */
const leaveOthers: Plugin = {
  name: "leave-others",
  async resolveId(specifier, importer, options) {
    if (importer === undefined || specifier.startsWith("node:")) return null;
    const found = await this.resolve(specifier, importer, { ...options, skipSelf: true });
    // Optional packages that are not installed are asked for where they are used.
    if (found === null) return { id: specifier, external: true };
    const parts = found.id.split("/node_modules/");
    if (parts.length === 1 || !isAbsolute(found.id)) return found;
    const [scope = "", name = ""] = parts.at(-1)?.split("/") ?? [];
    return bundled.has(scope.startsWith("@") ? `${scope}/${name}` : scope) ? found : { id: found.id, external: true };
  },
};
