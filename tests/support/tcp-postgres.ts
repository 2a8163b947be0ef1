// A Postgres server of a test's own on a loopback port, without passwords: for programs that come between, and for servers in a state that
// no other test may see. It ends with `stop`, or with the test file.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { chooseServerUser } from "../../packages/embedded-postgres/src/choose-server-user.ts";
import { findBinaries } from "../../packages/embedded-postgres/src/find-binaries.ts";
import { prepareBinaries } from "../../packages/embedded-postgres/src/prepare-binaries.ts";
import { programEnvironment, spawnIdentity } from "../../packages/embedded-postgres/src/run-program.ts";
import { afterDeath } from "./after-death.ts";
import { askService } from "./ask-services.ts";
import { freePort } from "./free-port.ts";
import { until } from "./until.ts";

export interface TcpPostgres {
  readonly port: number;
  url(database: string): string;
  stop(): Promise<void>;
}

/** standby: it recovers for ever, as a hot standby whose primary is away, and takes no writes. */
export async function startTcpPostgres(options: { readonly standby?: boolean } = {}): Promise<TcpPostgres> {
  const directory = await mkdtemp(join(tmpdir(), "markmill-postgres-"));
  await chmod(directory, 0o711);
  const data = join(directory, "data");
  const copied = spawnSync("cp", ["-a", (await askService("cluster")).data, data], { encoding: "utf8" });
  if (copied.status !== 0) throw new Error(copied.stderr);
  if (options.standby === true) await writeFile(join(data, "standby.signal"), "");
  const user = await chooseServerUser(await stat(data));
  const [program] = await Promise.all(
    findBinaries().candidates.map((candidate) => prepareBinaries(candidate, user, directory)),
  );
  if (program?.ok !== true) throw new Error(`no Postgres: ${program?.reason}`);
  const port = await freePort();
  const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "max_connections=100"];
  const server = spawn(
    program.binaries.postgres,
    ["-D", data, "-p", String(port), ...settings.flatMap((setting) => ["-c", setting])],
    { ...spawnIdentity(user), cwd: "/", env: programEnvironment, detached: true, stdio: "ignore" },
  );
  server.unref();
  const watch = afterDeath('kill -QUIT "$1"; sleep 2; rm -rf "$2"', [String(server.pid ?? 0), directory]);
  const url = (database: string) => `postgres://markmill@127.0.0.1:${port}/${database}`;
  await until(async () => server.exitCode !== null || (await answers(url("postgres"))));
  return {
    port,
    url,
    async stop() {
      watch.callOff();
      if (server.exitCode === null) {
        const exit = once(server, "exit");
        server.kill("SIGQUIT");
        await exit;
      }
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end();
  }
}
