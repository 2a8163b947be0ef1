import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Config, claimHome, folderOfRecords } from "@markmill/config";
import { StackError } from "./stack-error.ts";
import type { StackLog } from "./stack-log.ts";

function homeOf(config: Config, cwd: string): string {
  return resolve(cwd, config.home);
}

/** Runs before any file is written there. If the home cannot be created, the part that needs it reports the error. */
export function claimProjectHome(config: Config, cwd: string, log: Pick<StackLog, "warn">): void {
  const home = homeOf(config, cwd);
  try {
    if (claimHome(home)) return;
  } catch {
    return;
  }
  const place = folderOfRecords() ?? "your settings: HOME is not set";
  log.warn(
    {},
    `that ${home} is yours could not be recorded in ${place}. The next command will refuse it: make that folder writable, or set MARKMILL_TRUST=1 in the environment`,
  );
}

export function hasDatabase(config: Config, cwd: string): boolean {
  return config.database.kind === "external" || existsSync(join(homeOf(config, cwd), "postgres", "data"));
}

export function requireDatabase(config: Config, cwd: string): void {
  if (hasDatabase(config, cwd)) return;
  throw new StackError(
    "PROJECT_NOT_FOUND",
    `There is no Markmill project in ${cwd} or above it: nothing was run or graded here.`,
    "Go to the folder of your project, or begin one here: markmill run FILE, or markmill grade PATH.",
  );
}
