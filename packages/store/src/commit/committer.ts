/**
 * How a run changes. A caller asks for a commit with an event, the run as it knows it, and the activity that brought the event. The event
 * is decided (decide.ts), written (write-decided.ts) and settled (settle.ts). plain-committer.ts does this for one event at a time. Read only
 * that path to check that commits are right. ../throughput/group-committer.ts does it for many events with one statement.
 *
 * G1  At most one event of a run is in flight. Later events are decided on the state that the earlier ones leave.
 * G2  If another process changed the run (the commit fails its precondition), read the run and decide the event again (read-again.ts). If
 *     the event then changes nothing, it is a duplicate, late or stale, and is dropped: I2.
 * G3  An event that raises the epoch is committed in a transaction of its own. The transaction also cancels the called runs, each by an
 *     event of its own, and notifies the workers (NOTIFY): I6. An event that takes back single activities is committed the same way, and
 *     cancels the runs that those activities called.
 * G4  One bad row fails only its own event. A decision that throws ends only its own run (decide.ts).
 * G5  Every event gets its turn. An event that failed the precondition `mostMisses` times is decided and written under the lock of its
 *     run's row (commit-locked.ts).
 * G6  An event whose steps are counted in pools (step-pools.ts) is also decided and written under locks: those of the pools.
 *
 * kill -9 before the statement: nothing happened, and the activity is delivered again. During the statement: Postgres commits all or
 * nothing. After it, before the jobs are enqueued: the requested activities are in their rows or on their run's row. The same delivery,
 * another one, or the supervisor enqueues them. Only the supervisor enqueues an activity that was claimed ahead (claim-ahead.ts), when its
 * lease has expired. If the reply of the statement is lost, it is sent again, fails the precondition, and G2 finds the event already
 * folded.
 */
import type { Event, JobSpec, WorkQueue } from "@markmill/engine";
import type { PoolClient } from "pg";
import type { Database } from "../database/database.ts";
import type { DatabaseClock } from "../database/database-clock.ts";
import { neutralJson } from "../database/neutral.ts";
import type { Definitions } from "../definitions/definitions.ts";
import type { ActivityIds } from "../throughput/activity-ids.ts";
import type { ClaimedAhead } from "../throughput/claim-ahead.ts";
import type { RunCache } from "../throughput/run-cache.ts";
import type { EventSource } from "./advance.ts";
import type { Creation } from "./rows.ts";
import type { LoadedRun } from "./run-row.ts";

export interface Commit {
  readonly run: LoadedRun;
  readonly event: Event;
  /** null: an event from outside (started, cancelled, limited …). */
  readonly source: EventSource | null;
  readonly creation?: Creation;
  /** The person who answered a question. */
  readonly by?: string;
  /** For a creation whose steps are counted in pools: called under their locks. false: no run is created. */
  readonly allows?: ((on: PoolClient) => Promise<boolean>) | null;
  /** The worker continues with an activity of this queue. The commit claims the first one that it can claim ahead (claim-ahead.ts). */
  readonly claimsAhead?: WorkQueue | null;
}

export type Committed =
  /** `run` is the run after the event. `jobs` must be enqueued before the job is acknowledged. */
  | {
      readonly kind: "committed";
      readonly run: LoadedRun;
      readonly jobs: readonly JobSpec[];
      /** The activity that this commit claimed ahead. Its job is among `jobs`. */
      readonly claimedAhead: ClaimedAhead | null;
    }
  /** Nothing changed. `jobs`: the ready activities of the run. An earlier delivery may have crashed before it enqueued them. */
  | { readonly kind: "dropped"; readonly jobs: readonly JobSpec[] };

export interface Committer {
  commit(item: Commit): Promise<Committed>;
  idle(): Promise<void>;
}

export interface CommitterParts {
  readonly database: Database;
  readonly definitions: Definitions;
  readonly cache: RunCache;
  readonly clock: DatabaseClock;
  readonly ids: ActivityIds;
  /** The worker that claims ahead, and for how long. */
  readonly worker: string;
  readonly leaseMs: number;
  /** How long to wait for an unreachable database before a commit fails. */
  readonly patienceMs: number;
  readonly onMoved: (runIds: Iterable<string>) => void;
  /** Called for every event of this process after its commit, with the run after the event. For watchers. */
  readonly onCommitted?: OnCommitted | undefined;
  /** Called when a root run that pays from a batch's budget has ended. */
  readonly onBatchRunEnded: () => void;
}

export type OnCommitted = (run: LoadedRun, event: Event, source: EventSource | null) => void;

/** A commit with all its defaults filled in. */
export interface Request extends Required<Omit<Commit, "creation">> {
  readonly creation: Creation | null;
  /** The event as JSON. */
  readonly body: string;
}

export function toRequest(item: Commit): Request {
  const { run, source, creation = null, by = "", claimsAhead = null, allows = null } = item;
  const { value: event, json: body } = neutralJson(item.event);
  return { run, event, body, source, creation, by, claimsAhead, allows };
}

/** See G5. */
export const mostMisses = 3;
