// Creates the data directory of a cluster.
// C1 A data directory appears complete: initdb works in `data.new-…`, which is renamed after success. A crash in between leaves only that
//    directory, and the next start removes it. Its name is never reused, because an initdb that survived kill -9 of its parent may still
//    write there.
// C2 A lent user may be unable to reach the directory by its path. So root opens it and passes it as descriptor 3, and the programs use the
//    path /proc/self/fd/3. So a project below a private home (mode 0700) works without opening that home. (The working directory would be
//    enough for Postgres 16 and newer; older programs leave it for a moment and cannot return.)
import { chown, mkdtemp, readdir, readFile, rename, rm, rmdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ClusterOwner, ServerUser } from "./choose-server-user.ts";
import { EmbeddedPostgresError, programFailure } from "./embedded-postgres-error.ts";
import type { Binaries } from "./prepare-binaries.ts";
import { runProgram } from "./run-program.ts";

export const superuser = "markmill";
const unfinishedName = "data.new-";
/** Retries, because another process may still be writing there. */
const removal = { recursive: true, force: true, maxRetries: 5 } as const;

export type Cluster = { readonly major: number; readonly owner: ClusterOwner };

/** null when there is none yet. */
export async function findCluster(data: string): Promise<Cluster | null> {
  let owner: ClusterOwner;
  try {
    const { uid, gid } = await stat(data);
    owner = { uid, gid };
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
  if ((await readdir(data)).length === 0) {
    await rmdir(data);
    return null;
  }
  const version = await readFile(join(data, "PG_VERSION"), "utf8").catch((error) => {
    if (error.code !== "ENOENT") throw error;
    throw new EmbeddedPostgresError(
      "PG_NOT_A_CLUSTER",
      `${data} holds files, but no Postgres database (no PG_VERSION)`,
    );
  });
  return { major: Number.parseInt(version, 10), owner };
}

export async function createCluster(data: string, binaries: Binaries, user: ServerUser): Promise<void> {
  const directory = dirname(data);
  for (const name of await readdir(directory)) {
    if (name.startsWith(unfinishedName)) await rm(join(directory, name), removal);
  }
  const unfinished = await mkdtemp(join(directory, unfinishedName));
  if (user.kind === "lent") await chown(unfinished, user.uid, user.gid);
  // Byte order for sorting, Unicode for upper and lower case, the same on every machine: the builtin provider needs version 17.
  const locale = binaries.major >= 17 ? ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"] : [];
  const { ok, output } = await runProgram(
    binaries.initdb,
    ["-D", pathAsSeenBy(user, unfinished), "-A", "trust", "-U", superuser, "-E", "UTF8", "--locale=C", ...locale],
    { user, heldDirectory: unfinished, timeoutMs: 180_000 },
  );
  if (!ok) {
    await rm(unfinished, removal);
    throw programFailure(`Postgres could not create its files in ${data}`, output);
  }
  await rename(unfinished, data);
}

/** The path for a program that holds `directory` as descriptor 3. */
export function pathAsSeenBy(user: ServerUser, directory: string): string {
  return user.kind === "lent" && process.platform === "linux" ? "/proc/self/fd/3" : directory;
}
