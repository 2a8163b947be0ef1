/**
 * The folder in which Markmill stores a project's state (MARKMILL_HOME): database, sessions, proof of the sandbox, the pid of `up`. A
 * stranger's database can run programs as the user who starts it, and stored runs can ask to run without a sandbox. So a home counts only
 * if this user's Markmill created it on this machine, or the user trusts it.
 *
 * H1  A home is recorded when it is created, while it is still empty. After kill -9 before the record, the next command finds an empty home
 *     and records it. After kill -9 after the record, there is an empty home that counts.
 * H2  The fingerprint is the folder's inode and creation time, which only the kernel sets. A folder from an archive, a clone or a copy has
 *     other values, even at the path of a deleted folder.
 * H3  An absolute MARKMILL_HOME in the environment is the user's own setting and needs no record.
 */
import { mkdirSync, readdirSync, realpathSync, statSync } from "node:fs";
import { isAbsolute } from "node:path";
import { trustsEverything } from "./trust-everything.ts";
import { decisionOn, recordDecision, type TrustSubject } from "./trust-records.ts";

/** null: there is no home, or it is empty. */
export function homeSubject(home: string): TrustSubject | null {
  try {
    const path = realpathSync(home);
    if (readdirSync(path).length === 0) return null;
    return subjectOf(path);
  } catch {
    return null;
  }
}

/** Whether the folder has content that this user's Markmill did not create. */
export function isForeignHome(home: string): boolean {
  if (trustsEverything() || isAbsolute(process.env.MARKMILL_HOME ?? "")) return false;
  const subject = homeSubject(home);
  return subject !== null && decisionOn(subject) !== "trusted";
}

/** Creates the home if it is missing, and records it if it is new. false: it is new and could not be recorded. */
export function claimHome(home: string): boolean {
  mkdirSync(home, { recursive: true });
  if (homeSubject(home) !== null) return true;
  return recordDecision(subjectOf(realpathSync(home)), "trusted");
}

function subjectOf(path: string): TrustSubject {
  const { ino, birthtimeNs } = statSync(path, { bigint: true });
  return { path, fingerprint: `${ino}.${birthtimeNs}` };
}
