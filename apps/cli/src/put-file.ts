/**
 * Writes whole files into a folder of the teacher.
 *
 * W1  A reader sees the old file or the new one, never half of it. On kill -9 a file `*.part` can stay behind; no reader uses it.
 * W2  An outdated file is not deleted. It is renamed, so that its name shows that it is outdated.
 */
import { randomUUID } from "node:crypto";
import { mkdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** See W1 in the file header. */
export async function put(file: string, content: string | Buffer): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const fresh = `${file}.${randomUUID().slice(0, 8)}.part`;
  try {
    await writeFile(fresh, content, { mode: 0o600 });
    await rename(fresh, file);
  } catch (error) {
    await rm(fresh, { force: true }).catch(() => undefined);
    throw error;
  }
}

/** W2: returns the new name. null: there was no such file. */
export async function setAside(file: string): Promise<string | null> {
  if (!(await isThere(file))) return null;
  const stale = join(dirname(file), `stale-${basename(file)}`);
  await rename(file, stale);
  return stale;
}

export async function isThere(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}
