/** `MARKMILL_HOME/up.json` identifies the process of `markmill up`, for `markmill down`. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive, ownIdentity, type ProcessIdentity, readIdentity, writeIdentity } from "@markmill/base";

const name = "up.json";

export function writeUpFile(home: string): void {
  mkdirSync(home, { recursive: true });
  const written = join(home, `${name}.${process.pid}`);
  writeFileSync(written, writeIdentity(ownIdentity()), { mode: 0o600 });
  renameSync(written, join(home, name));
}

/** null: `markmill up` is not running. */
export function readUpFile(home: string): ProcessIdentity | null {
  try {
    const found = readIdentity(readFileSync(join(home, name), "utf8"));
    return found !== null && isAlive(found) ? found : null;
  } catch {
    return null;
  }
}

export function removeUpFile(home: string): void {
  rmSync(join(home, name), { force: true });
}
