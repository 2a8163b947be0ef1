// Records the processes that use the server of a directory: one file per user (a process may have several), named by its pid.
//
// S1 A user registers under the directory lock, before it connects, and leaves under the same lock.
// S2 A file whose process is gone does not count.
// S3 The last user that leaves stops the server, even if another process started it.
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isAlive, ownIdentity, readIdentity, writeIdentity } from "@markmill/base";

export const usersDirectoryName = "users";
let registrations = 0;

/** Returns the path of the registration. */
export async function registerUser(directory: string): Promise<string> {
  const users = join(directory, usersDirectoryName);
  await mkdir(users, { recursive: true, mode: 0o700 });
  registrations += 1;
  const path = join(users, `${process.pid}.${registrations}`);
  await writeFile(path, writeIdentity(ownIdentity()));
  return path;
}

/** Also removes the files of processes that are gone. */
export async function countUsers(directory: string): Promise<number> {
  const users = join(directory, usersDirectoryName);
  let living = 0;
  for (const name of await readdir(users).catch(() => [])) {
    const path = join(users, name);
    const identity = readIdentity(await readFile(path, "utf8").catch(() => ""));
    if (identity !== null && isAlive(identity)) living += 1;
    else await rm(path, { force: true });
  }
  return living;
}
