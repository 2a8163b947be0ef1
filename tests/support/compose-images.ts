// Stand-ins for the images that docker-compose.yml names, from programs of this machine: nothing can be pulled here. Each does what the file
// counts on: the variables, the command and the health check's program of the real image.
import { existsSync, globSync } from "node:fs";
import { basename, join } from "node:path";
import { Readable } from "node:stream";
import Docker from "dockerode";
import { pack } from "tar-stream";
import { buildImage, buildImageOf } from "../../infra/images/sandbox/build-offline.ts";
import type { RedisSource } from "./redis-server.ts";
import { postgresDirectories } from "./services-image.ts";
import type { UnpackedPackages } from "./unpack-packages.ts";

const postgres = `#!/bin/bash
# docker-entrypoint.sh of the real image makes the cluster, the user and the database in the same way.
set -eu
export PATH="$(echo /usr/lib/postgresql/*/bin):$PATH" PGDATA=/var/lib/postgresql/data
if [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA"; chown -R 50000:50000 "$PGDATA"; chmod 700 "$PGDATA"
  exec setpriv --reuid 50000 --regid 50000 --clear-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  printf '%s' "$POSTGRES_PASSWORD" >/tmp/password
  initdb -D "$PGDATA" -E UTF8 --locale=C -U "$POSTGRES_USER" -A scram-sha-256 --pwfile /tmp/password --no-sync >/dev/null
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  echo "create database $POSTGRES_DB" | postgres --single -D "$PGDATA" postgres >/dev/null
fi
exec "$@" -k /tmp -h '*'
`;

const pgIsReady = `#!/bin/bash
exec 3<>/dev/tcp/127.0.0.1/5432
`;

const redisCli = `#!/bin/bash
exec 3<>/dev/tcp/127.0.0.1/6379
printf 'AUTH %s\\r\\nPING\\r\\n' "$REDISCLI_AUTH" >&3
read -r -t 3 _ <&3; read -r -t 3 answer <&3
echo "$answer"
`;

/** Every program is there already; a RUN of the app's Dockerfile is not tried. */
const engine = `#!/bin/bash
# dockerd-entrypoint.sh of the real image starts any 'dockerd …' through its init, too.
set -eu
find /run /var/run -iname 'docker*.pid' -delete || true
# Where the test's own container may not be privileged, these are read-only.
for place in /sys/fs/cgroup /sys/fs/cgroup/* /proc/sys; do
  if mountpoint -q "$place"; then mount -o remount,bind,rw "$place" || true; fi
done
exec docker-init -- "$@"
`;

/** Asks the engine as the real client does for the health check. */
const dockerClient = `#!/bin/bash
exec node -e 'require("node:http").get({ socketPath: "/run/sandbox/docker.sock", path: "/version" }, (answer) => process.exit(answer.statusCode === 200 ? 0 : 1)).on("error", () => process.exit(1))'
`;

const enginePrograms = [
  "dockerd",
  "containerd",
  "containerd-shim-runc-v2",
  "runc",
  "docker-init",
  "iptables",
  "mountpoint",
];

/** Makes all of them on the engine, under the names that the compose file has. */
export async function buildComposeImages(
  dockerHost: string,
  redis: RedisSource,
  dockers: UnpackedPackages,
): Promise<void> {
  if (redis.kind !== "program") throw new Error("there is no redis-server program to put into an image");
  const { file, libraryPath } = redis.program;
  const libraryPaths = [libraryPath ?? "", dockers.libraryPath].filter((path) => path !== "").join(":");
  const directories = dockers.path.split(":");
  const engines = enginePrograms.map(
    (name) => directories.map((directory) => join(directory, name)).find((path) => existsSync(path)) ?? name,
  );
  await buildImageOf(
    {
      programs: [file, ...engines, "setpriv", "python3", "git"],
      directories: { ...postgresDirectories(), ...pythonDirectories() },
      named: { node: process.execPath },
      ...(libraryPaths === "" ? {} : { libraryPath: libraryPaths }),
    },
    dockerHost,
    base,
  );
  const docker = new Docker({ socketPath: dockerHost.replace("unix://", "") });
  await build(docker, "postgres:17-bookworm", {
    "/usr/local/bin/entry": postgres,
    "/usr/local/bin/pg_isready": pgIsReady,
  });
  await build(docker, "redis:7.4-bookworm", { "/usr/local/bin/redis-cli": redisCli });
  await build(docker, "docker:29-dind", { "/usr/local/bin/entry": engine, "/usr/local/bin/docker": dockerClient });
  // Its programs and modules come with the checkout, mounted at /app.
  await build(docker, "markmill", {}, ["ENV PATH=/app/node_modules/.bin:$PATH", "WORKDIR /app", "USER 1000:1000"]);
  await buildImage("tiny", dockerHost, "markmill-sandbox:latest");
}

const base = "markmill-compose-stand-in:latest";

async function build(
  docker: Docker,
  tag: string,
  files: Readonly<Record<string, string>>,
  more: readonly string[] = [],
): Promise<void> {
  const archive = pack();
  const lines = Object.entries(files).map(([path, text]) => {
    archive.entry({ name: basename(path), mode: 0o755 }, text);
    return `COPY ${basename(path)} ${path}`;
  });
  const entry = Object.keys(files).some((path) => basename(path) === "entry")
    ? ['ENTRYPOINT ["/usr/local/bin/entry"]']
    : [];
  archive.entry({ name: "Dockerfile" }, [`FROM ${base}`, ...lines, ...entry, ...more].join("\n"));
  archive.finalize();
  const stream = await docker.buildImage(Readable.from(archive), { t: tag, version: "1" });
  await new Promise<void>((resolve, reject) => {
    docker.modem.followProgress(stream, (error: Error | null, told: readonly { readonly error?: string }[]) => {
      const failed = error?.message ?? told.find((line) => line.error !== undefined)?.error;
      if (failed === undefined) resolve();
      else reject(new Error(`${tag} was not built: ${failed}`));
    });
  });
}

function pythonDirectories(): Readonly<Record<string, string>> {
  return Object.fromEntries(globSync("/usr/lib/python3.[0-9]*").map((path) => [path, path]));
}
