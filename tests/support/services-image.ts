import { basename, dirname } from "node:path";
import { buildImageOf } from "../../infra/images/sandbox/build-offline.ts";
import { findBinaries } from "../../packages/embedded-postgres/src/find-binaries.ts";
import type { RedisSource } from "./redis-server.ts";

/** An image with the redis-server and the Postgres that the tests have anyway: nothing is installed for it. */
export async function buildServicesImage(dockerHost: string, redis: RedisSource): Promise<string> {
  if (redis.kind !== "program") throw new Error("there is no redis-server program to put into an image");
  const { file, libraryPath } = redis.program;
  const programs = {
    programs: [file],
    directories: postgresDirectories(),
    ...(libraryPath === null ? {} : { libraryPath }),
  };
  return (await buildImageOf(programs, dockerHost, "markmill-services:test")).tag;
}

export function postgresDirectories(): Readonly<Record<string, string>> {
  const [found] = findBinaries().candidates;
  if (found === undefined) throw new Error("there is no Postgres to put into an image");
  if (found.kind === "npm") return { "/usr/lib/postgresql/npm": found.native };
  const home = dirname(found.bin);
  const places = [home, `/usr/share/postgresql/${basename(home)}`, "/usr/share/zoneinfo"];
  return Object.fromEntries(places.map((place) => [place, place]));
}
