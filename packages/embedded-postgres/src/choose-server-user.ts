// Chooses the user of the server. Postgres refuses to run as root, so root lends it another user. No entry is added to the machine's user
// table.
//
// U1 An existing cluster runs as the user who owns its files, even if another user starts it.
// U2 A new cluster started by root belongs to `postgres`, else to `nobody`.
// U3 initdb looks its user up by name: a uid without an entry cannot create a cluster.
import { readFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { EmbeddedPostgresError } from "./embedded-postgres-error.ts";

export type ServerUser =
  | { readonly kind: "self" }
  | { readonly kind: "lent"; readonly uid: number; readonly gid: number; readonly name: string };

export type ClusterOwner = { readonly uid: number; readonly gid: number };

export async function chooseServerUser(owner: ClusterOwner | null): Promise<ServerUser> {
  const uid = process.getuid?.() ?? -1;
  if (uid === 0) return lendUser(await readFile("/etc/passwd", "utf8").catch(() => ""), owner);
  if (owner === null) requireEntry(uid);
  return { kind: "self" };
}

export function lendUser(passwd: string, owner: ClusterOwner | null): ServerUser {
  const entries = passwd.split("\n").map((line) => {
    const [name = "", , uid, gid] = line.split(":");
    return { name, uid: Number(uid), gid: Number(gid) };
  });
  if (owner !== null && owner.uid !== 0) {
    const name = entries.find((entry) => entry.uid === owner.uid)?.name ?? String(owner.uid);
    return { kind: "lent", uid: owner.uid, gid: owner.gid, name };
  }
  for (const wanted of ["postgres", "nobody"]) {
    const entry = entries.find(({ name, uid, gid }) => name === wanted && uid > 0 && gid >= 0);
    if (entry !== undefined) return { kind: "lent", ...entry };
  }
  throw new EmbeddedPostgresError(
    "PG_NO_USER",
    "Postgres does not run as root, and /etc/passwd has neither a `postgres` nor a `nobody` user to run it as",
  );
}

function requireEntry(uid: number): void {
  try {
    userInfo();
  } catch (cause) {
    throw new EmbeddedPostgresError(
      "PG_NO_USER",
      `Postgres cannot create a database as uid ${uid}, because that uid has no entry in the user table (/etc/passwd)`,
      { cause },
    );
  }
}
