// The services of one test run. They belong to vitest's main process; test files ask it for them over loopback HTTP, so that a
// service starts when the first test wants it and is shared by the rest.
//
// G1 Whatever was started is stopped at the end of the run, by pid; after a kill -9 of the run, by watches (after-death.ts).
// G2 The projects of a run share them: the first one's set-up makes the broker, the last one's end stops it.
// G3 What could not be had, and the tests that were skipped for it, stand in a banner at the end.
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { startEmbeddedPostgres } from "@markmill/embedded-postgres";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { buildImage } from "../../infra/images/sandbox/build-offline.ts";
import { afterDeath } from "./after-death.ts";
import { bundlePrograms } from "./bundle-programs.ts";
import { databaseDirectory } from "./database-directory.ts";
import { findDockerEngine } from "./docker-engine-server.ts";
import { type JailSelfTest, tryJail } from "./jail-self-test.ts";
import { makeTemplate } from "./make-template.ts";
import { findRedis, type RedisSource, startRedis } from "./redis-server.ts";
import { buildServicesImage } from "./services-image.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Where to ask for services, and a name that no other run uses. */
    testServices: { readonly url: string; readonly run: string };
  }
}

export type Answers = {
  /** One server for each lane, that is for files that run one after the other: all files at once would need too many connections. */
  readonly postgres: { readonly url: string };
  /** On the same server, a database to copy: with the tables of the store and of the queue, and nothing in them. */
  readonly template: { readonly url: string; readonly name: string };
  /** The files of a server that has not been started since they were made: to be copied, for tests that are not about their making. */
  readonly cluster: { readonly data: string };
  /** What 'markmill sandbox self-test --sandbox jail --json' says on this machine. */
  readonly "jail-self-test": JailSelfTest;
  readonly "redis-source": RedisSource;
  readonly redis: { readonly url: string };
  readonly docker: { readonly host: string; readonly image: string; readonly networked: boolean };
  readonly "docker-services": { readonly image: string };
  /** Files to start in place of programs that have many modules. */
  readonly programs: Awaited<ReturnType<typeof bundlePrograms>>;
};

export type Skip = { readonly what: string; readonly reason: string };

interface SharedServices {
  readonly provided: Promise<{ readonly url: string; readonly run: string; stop(): Promise<void> }>;
  projects: number;
}

/** Each project has modules of its own; the process is the same. */
const place = globalThis as { markmillTestServices?: SharedServices };

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  place.markmillTestServices ??= { provided: startServices(project.config.root), projects: 0 };
  const shared = place.markmillTestServices;
  shared.projects += 1;
  const { url, run, stop } = await shared.provided;
  project.provide("testServices", { url, run });
  return async () => {
    shared.projects -= 1;
    if (shared.projects > 0) return;
    delete place.markmillTestServices;
    await stop();
  };
}

async function startServices(root: string): Promise<Awaited<SharedServices["provided"]>> {
  const run = `${process.pid}_${Date.now().toString(36)}`;
  const directory = await mkdtemp(join(databaseDirectory(), "markmill-test-"));
  // The embedded Postgres' own watch waits a few seconds before it stops the server.
  const watch = afterDeath('sleep 12; rm -rf "$1"', [directory]);
  const cache = join(root, ".cache");
  const stops: (() => Promise<unknown>)[] = [];
  const skips: Skip[] = [];

  const { TEST_DATABASE_URL, TEST_REDIS_URL } = process.env;
  const start: { [Name in keyof Answers]: (lane: string) => Promise<Answers[Name]> } = {
    async postgres(lane) {
      if (TEST_DATABASE_URL) {
        stops.push(() => dropDatabases(TEST_DATABASE_URL, run));
        return { url: TEST_DATABASE_URL };
      }
      const server = await startEmbeddedPostgres({ directory: join(directory, `postgres${lane}`) });
      stops.push(() => server.stop());
      return { url: server.url };
    },
    async template(lane) {
      const { url } = await answer("postgres", lane);
      return { url, name: await makeTemplate(url, `markmill_test_${run}_template${lane}`) };
    },
    async cluster() {
      const place = join(directory, "cluster");
      await (await startEmbeddedPostgres({ directory: place })).stop();
      return { data: join(place, "data") };
    },
    async "jail-self-test"() {
      return await tryJail((await answer("programs")).markmill, directory);
    },
    async "redis-source"() {
      return await findRedis(cache);
    },
    async redis() {
      if (TEST_REDIS_URL) return { url: TEST_REDIS_URL };
      const server = await startRedis(await answer("redis-source"));
      stops.push(() => server.stop());
      return { url: server.url };
    },
    async docker() {
      const engine = await findDockerEngine(cache);
      stops.push(() => engine.stop());
      const { tag } = await buildImage("tiny", engine.host);
      return { host: engine.host, image: tag, networked: engine.networked };
    },
    async "docker-services"() {
      const [{ host }, redis] = await Promise.all([answer("docker"), answer("redis-source")]);
      return { image: await buildServicesImage(host, redis) };
    },
    programs: () => bundlePrograms(cache),
  };
  const answered = new Map<string, Promise<unknown>>();
  function answer<Name extends keyof Answers>(name: Name, lane = ""): Promise<Answers[Name]> {
    const known = answered.get(name + lane) ?? start[name](lane);
    answered.set(name + lane, known);
    return known as Promise<Answers[Name]>;
  }

  const broker = createServer(async (request, response) => {
    const [name = "", lane] = request.url?.slice(1).split("/") ?? [];
    try {
      if (name === "skipped") skips.push((await json(request)) as Skip);
      const body = name in start ? await answer(name as keyof Answers, lane) : {};
      response.end(JSON.stringify(body));
    } catch (error) {
      response.statusCode = 500;
      response.end(error instanceof Error ? error.message : String(error));
    }
  });
  await new Promise<void>((resolve) => broker.listen(0, "127.0.0.1", resolve));
  broker.unref();
  const address = broker.address();
  if (address === null || typeof address === "string") throw new Error("no port");

  const stop = async () => {
    broker.closeAllConnections();
    broker.close();
    await Promise.allSettled(answered.values());
    const failures = (await Promise.allSettled(stops.map((stop) => stop()))).flatMap((result) =>
      result.status === "rejected" ? [result.reason] : [],
    );
    await rm(directory, { recursive: true, force: true });
    watch.callOff();
    if (skips.length > 0) process.stderr.write(banner(skips));
    if (failures.length > 0) throw new AggregateError(failures, "a test service did not stop");
  };
  return { url: `http://127.0.0.1:${address.port}`, run, stop };
}

async function dropDatabases(url: string, run: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ datname: string }>(
      "select datname from pg_database where starts_with(datname, $1)",
      [`markmill_test_${run}_`],
    );
    for (const { datname } of rows) await client.query(`drop database if exists "${datname}" with (force)`);
  } finally {
    await client.end();
  }
}

function banner(skips: readonly Skip[]): string {
  const rule = "!".repeat(100);
  const lines = skips.map(({ what, reason }) => `  ${what}\n      because: ${reason}`);
  return `\n${rule}\n  NOT TESTED on this machine:\n${[...new Set(lines)].join("\n")}\n${rule}\n`;
}
