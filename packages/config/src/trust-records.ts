/**
 * The user's decisions about files and folders that another person may have written. The records are stored in the user's own settings,
 * never in the folder they concern.
 *
 * T1  A record concerns one path and one fingerprint. If the content behind the path changes, the record no longer applies.
 * T2  One file per path. Two commands that record at the same time do not overwrite each other.
 * T3  A record that other users can write, or that belongs to another user, does not count.
 * T4  A record is written under another name and renamed. After kill -9 the old record still exists, and the question is asked again.
 * T5  Records of paths that no longer exist are removed when another record is written.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { userSettings } from "./user-settings.ts";

/** The file or folder of a decision. */
export interface TrustSubject {
  /** Absolute; the links of its folder are resolved. */
  readonly path: string;
  /** The fingerprint of the content; for a folder, of the folder itself. */
  readonly fingerprint: string;
}

const record = z.object({
  path: z.string(),
  fingerprint: z.string(),
  decision: z.enum(["trusted", "refused"]),
  decidedAt: z.string(),
});
export type TrustRecord = z.output<typeof record>;

export function decisionOn({ path, fingerprint }: TrustSubject): TrustRecord["decision"] | null {
  const file = fileOf(path);
  const found = file === null ? null : read(file);
  return found !== null && found.path === path && found.fingerprint === fingerprint ? found.decision : null;
}

/** false: it could not be recorded. */
export function recordDecision({ path, fingerprint }: TrustSubject, decision: TrustRecord["decision"]): boolean {
  const [folder, file] = [folderOfRecords(), fileOf(path)];
  if (folder === null || file === null) return false;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const decided: TrustRecord = { path, fingerprint, decision, decidedAt: new Date().toISOString() };
    const draft = `${file}.${process.pid}`;
    writeFileSync(draft, `${JSON.stringify(decided, null, 2)}\n`, { mode: 0o600 });
    renameSync(draft, file);
    for (const old of listDecisions()) if (!existsSync(old.path)) forgetDecision(old.path);
    return true;
  } catch {
    return false;
  }
}

/** Sorted by path. */
export function listDecisions(): readonly TrustRecord[] {
  const folder = folderOfRecords();
  if (folder === null) return [];
  let names: readonly string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  return names
    .filter((name) => name.endsWith(".json"))
    .flatMap((name) => read(join(folder, name)) ?? [])
    .sort((one, other) => (one.path < other.path ? -1 : 1));
}

/** false: there was none. */
export function forgetDecision(path: string): boolean {
  const file = fileOf(path);
  if (file === null || !existsSync(file)) return false;
  rmSync(file, { force: true });
  return true;
}

export function folderOfRecords(): string | null {
  const settings = userSettings();
  return settings === null ? null : join(settings, "trust");
}

function fileOf(path: string): string | null {
  const folder = folderOfRecords();
  return folder === null ? null : join(folder, `${createHash("sha256").update(path).digest("hex").slice(0, 32)}.json`);
}

function read(file: string): TrustRecord | null {
  try {
    const { uid, mode } = statSync(file);
    const me = process.geteuid?.();
    if ((me !== undefined && uid !== me) || (mode & 0o022) !== 0) return null;
    const parsed = record.safeParse(JSON.parse(readFileSync(file, "utf8")));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}
