// The weak isolation (thin walls) that a person accepted for a project. It is stored in the user's own settings, never in the project's
// folder.
//
// W1 The file is keyed by the real path of the project's folder: files in the folder (from a tar or a submission) cannot accept a weak
//    isolation.
// W2 A file that other users can write or that belongs to another user counts as empty.
// W3 It is written under another name and renamed. After kill -9 the old file still exists, and the question is asked again.
import { mkdirSync, readFileSync, realpathSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { userSettings } from "./user-settings.ts";

type Walls = Readonly<Record<string, readonly string[]>>;

/** Names of the accepted walls; empty if nothing is stored. */
export function acceptedWalls(project: string, file = placeOfWalls()): readonly string[] {
  const known = read(file);
  return Object.hasOwn(known, keyOf(project)) ? (known[keyOf(project)] ?? []) : [];
}

/** false: it could not be stored, so the question is asked again. */
export function rememberWalls(project: string, names: readonly string[], file = placeOfWalls()): boolean {
  try {
    const known = read(file);
    const all = [...new Set([...(known[keyOf(project)] ?? []), ...names])];
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const draft = `${file}.${process.pid}`;
    writeFileSync(draft, `${JSON.stringify({ ...known, [keyOf(project)]: all }, null, 2)}\n`, { mode: 0o600 });
    renameSync(draft, file);
    return true;
  } catch {
    return false;
  }
}

/** If the machine defines no settings folder, nothing is stored. */
function placeOfWalls(): string {
  return join(userSettings() ?? "/dev/null", "accepted-walls.json");
}

function keyOf(project: string): string {
  try {
    return realpathSync(project);
  } catch {
    return project;
  }
}

function read(file: string): Walls {
  try {
    const { uid, mode } = statSync(file);
    const me = process.geteuid?.();
    if ((me !== undefined && uid !== me) || (mode & 0o022) !== 0) return {};
    const kept: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (typeof kept !== "object" || kept === null) return {};
    const lists = Object.entries(kept).filter(([, names]) => Array.isArray(names));
    return Object.fromEntries(
      lists.map(([key, names]) => [key, names.filter((name: unknown) => typeof name === "string")]),
    );
  } catch {
    return {};
  }
}
