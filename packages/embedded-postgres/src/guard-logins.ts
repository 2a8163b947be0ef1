// Restricts logins to a server that root started. Its files and its socket belong to a system user (choose-server-user.ts). Other programs
// may run as that user, and must not become superuser of our database.
//
// L1 The kernel identifies the connecting user (peer), and only root maps to our role. There is no password that could be stolen or lost.
// L2 The rules are in two files of our own beside the cluster's pg_hba.conf, which stays unchanged. They are written again before each
//    start, each completely or not at all. After kill -9 at any point, the next start replaces the files. A database of an older version is
//    guarded from its next start on, and an older version can still start this one.
// L3 A directory that does not belong to root belongs to an ordinary user. That user may use the database, even if root started it: no
//    rules.
import { open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ServerUser } from "./choose-server-user.ts";
import { pathAsSeenBy, superuser } from "./create-cluster.ts";

const map = "markmill";
const rulesName = "markmill_hba.conf";
const namesName = "markmill_ident.conf";
const unfinishedName = "markmill_rules.new";

/** Server settings that activate the rules; none if the owner of the files is the user. */
export async function guardLogins(data: string, user: ServerUser): Promise<readonly string[]> {
  if (user.kind === "self" || (await stat(dirname(data))).uid !== 0) return [];
  const names = namesOfRoot(await readFile("/etc/passwd", "utf8").catch(() => ""));
  // The server could not name root either, and would refuse all logins.
  if (names.length === 0) return [];
  const left = join(data, unfinishedName);
  await rm(left, { force: true });
  await writeWhole(left, join(data, rulesName), `local all ${superuser} peer map=${map}\n`, user);
  await writeWhole(left, join(data, namesName), names.map((name) => `${map} "${name}" ${superuser}\n`).join(""), user);
  const seen = pathAsSeenBy(user, data);
  return [`hba_file=${seen}/${rulesName}`, `ident_file=${seen}/${namesName}`];
}

/** All names of uid 0. The system decides which of these names the server sees. */
export function namesOfRoot(passwd: string): string[] {
  return passwd.split("\n").flatMap((line) => {
    const [name = "", , uid] = line.split(":");
    return uid === "0" && /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(name) ? [name] : [];
  });
}

/**
 * Writes a file completely or not at all. The directory belongs to another user: no link in it is followed, and the server reads the file
 * through its group.
 */
async function writeWhole(
  unfinished: string,
  path: string,
  text: string,
  user: Extract<ServerUser, { kind: "lent" }>,
): Promise<void> {
  const file = await open(unfinished, "wx", 0o640);
  try {
    await file.chown(0, user.gid);
    await file.chmod(0o640);
    await file.writeFile(text);
  } finally {
    await file.close();
  }
  await rename(unfinished, path);
}
