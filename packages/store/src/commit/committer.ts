/**
 * How a run changes. Somebody asks for a commit: an event, the run as they know it, and the activity that brought the event. The event is
 * decided (decide.ts), written (write-decided.ts) and settled (settle.ts). commit-one.ts does this for one event at a time; it is
 * all that is needed to believe that commits are right. ../throughput/group-committer.ts does it for many events with one statement.
 *
 * G1  At most one event of a run is in flight; later ones are decided on the state the earlier ones leave.
 * G2  A run that somebody else moved (gate miss) is read again and the event is decided again (read-again.ts). If it then changes nothing,
 *     it is a duplicate, late or stale, and is dropped: I2.
 * G3  An event that raises the epoch is committed in a transaction of its own, which also cancels the called runs, each by its own
 *     event, and tells the workers (NOTIFY): I6. So is one that takes back single activities, whose called runs go with them.
 * G4  One bad row fails only its own event. A decision that throws ends its own run (decide.ts).
 * G5  Every event gets its turn: one that missed the gate `mostMisses` times is decided and written under the lock of its run's row
 *     (commit-locked.ts).
 * G6  An event whose steps are counted in pools (step-pools.ts) goes there too: it is decided and written under the locks of the pools.
 *
 * kill -9 before the statement: nothing happened, the activity is delivered again. While it runs: Postgres commits all or nothing.
 * After it, before the jobs are enqueued: what is asked stands in its row or on its run's, and the same or another delivery, or the
 * supervisor, enqueues it; what was claimed with it (claim-ahead.ts) only the supervisor, when its lease is over. A reply that is lost on the way: the statement is sent again, misses the gate, and G2 finds the event already folded.
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
  /** Who answered an ask. */
  readonly by?: string;
  /** Of a creation whose steps are counted in pools: asked under their locks; false: nothing is made. */
  readonly allows?: ((on: PoolClient) => Promise<boolean>) | null;
  /** Whoever commits goes on with an activity of this queue: the first that can be claimed ahead is (claim-ahead.ts). */
  readonly claimsAhead?: WorkQueue | null;
}

export type Committed =
  /** `run` is the run after the event. `enqueues` are to be enqueued before the job is acknowledged. */
  | {
      readonly kind: "committed";
      readonly run: LoadedRun;
      readonly jobs: readonly JobSpec[];
      /** What was claimed with it; its spec is among the enqueues. */
      readonly claimedAhead: ClaimedAhead | null;
    }
  /** Nothing changed; `enqueues` are what the run has ready, should an earlier delivery have died before it enqueued. */
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
  /** Who claims what it claimsAhead, and for how long. */
  readonly worker: string;
  readonly leaseMs: number;
  /** How long an unreachable database is waited for before a commit fails. */
  readonly patienceMs: number;
  readonly onMoved: (runIds: Iterable<string>) => void;
  /** Told of every event of this process once it is committed, with the run after it; for whoever watches. */
  readonly onCommitted?: OnCommitted | undefined;
  /** A root run that pays from a batch's budget has ended. */
  readonly onBatchRunEnded: () => void;
}

export type OnCommitted = (run: LoadedRun, event: Event, source: EventSource | null) => void;

/** A commit with nothing left out. */
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

/** G5. */
export const mostMisses = 3;
