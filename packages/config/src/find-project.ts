/**
 * Finds the project of a folder: the nearest ancestor with MARKMILL_HOME, else the nearest with `class.yaml`, else the folder itself.
 *
 * P1  The search ends at the file system's boundary, and before it reaches the user's home directory.
 * P2  A marker of another user is ignored. Above the working directory, a marker in a folder that all users can write (`/tmp`) is ignored
 *     too.
 */
import { lstatSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";

const classFile = "class.yaml";

/** Absolute. If `cwd` is the project itself, it is returned unchanged. */
export function findProject(cwd: string, home = processHome()): string {
  const folders = upwards(cwd);
  const marker = isAbsolute(home) ? defaultHome : home;
  return (
    folders.find((folder) => isOwn(join(folder, marker), "directory")) ??
    folders.find((folder) => isOwn(join(folder, classFile), "file")) ??
    cwd
  );
}

const defaultHome = ".markmill";

/** MARKMILL_HOME from the process's environment, for callers that need no other setting. */
export function processHome(): string {
  return process.env.MARKMILL_HOME || defaultHome;
}

function upwards(cwd: string): readonly string[] {
  try {
    const real = realpathSync(cwd);
    const { dev } = statSync(real);
    const end = realHome();
    const folders = [cwd];
    for (let at = real; dirname(at) !== at; ) {
      at = dirname(at);
      const entry = statSync(at);
      if (at === end || entry.dev !== dev) break;
      if ((entry.mode & 0o002) === 0) folders.push(at);
    }
    return real === end ? [cwd] : folders;
  } catch {
    return [cwd];
  }
}

function realHome(): string {
  try {
    return realpathSync(homedir());
  } catch {
    return homedir();
  }
}

/** A link counts as its target. */
function isOwn(path: string, kind: "directory" | "file"): boolean {
  try {
    const entry = statSync(path);
    const me = process.geteuid?.();
    const ours = [entry, lstatSync(path)].every(({ uid }) => me === undefined || uid === me);
    return ours && (kind === "directory" ? entry.isDirectory() : entry.isFile());
  } catch {
    return false;
  }
}
