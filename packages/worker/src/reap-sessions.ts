/**
 * Removes leftover sessions on this host: those whose run has ended or is unknown, and whose lease is over. Every worker does this for its
 * own host, at the start and every half minute. Doing it twice is harmless. Checkpoints of ended runs are removed, too, on whichever host
 * their sessions were.
 */
import { isJudgeSession, type Sandbox } from "@markmill/sandbox";
import {
  type Database,
  deleteEndedCheckpoints,
  listWorkers,
  liveSessions,
  takeDeadSessions,
} from "@markmill/store/machine";
import type { Log } from "./log.ts";

export interface Reaping {
  readonly removed: readonly string[];
}

/** A session younger than this may belong to a run whose row is not written yet. */
const youngMs = 30_000;

export async function reapSessions(
  database: Database,
  sandbox: Sandbox,
  { app, host }: { readonly app: string; readonly host: string },
  log: Log,
): Promise<Reaping> {
  const removed: string[] = [];
  const remove = async (id: string) => {
    try {
      await sandbox.remove(id);
      removed.push(id);
    } catch (error) {
      log.warn({ err: error, session: id }, "a session could not be removed");
    }
  };
  for (const { id } of await takeDeadSessions(database, host)) await remove(id);
  await deleteEndedCheckpoints(database);
  const listed = await sandbox.list();
  const live = await liveSessions(
    database,
    listed.map(({ id }) => id),
  );
  const workers = new Set((await listWorkers(database)).map(({ id }) => id));
  for (const { id, labels, status } of listed) {
    // Other installations may share the engine.
    if (labels.app !== app) continue;
    const young = Date.now() - Date.parse(labels.created) < youngMs;
    // Some sessions belong to the worker that created them: those created ahead of time for a run, and those of judges and guests.
    const wanted = labels.run === "" || isJudgeSession(id) ? workers.has(labels.worker) : live.has(id);
    if (status === "dead" || !(wanted || young)) await remove(id);
  }
  return { removed };
}
