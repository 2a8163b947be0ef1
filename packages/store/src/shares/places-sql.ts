/**
 * The number of runs that one tenant may have under way at once, as SQL. It is the operator's number ($1), or, without one, twice the slots
 * of all living workers together. So the slots are never short of work, and a tenant that comes later has little to wait for.
 */
import { silentWorkerMs } from "../leases/workers.ts";

/** Used if no worker reports its number of slots. */
const leastPlaces = 64;

/** A relation of one row with the column `places`. */
export const placesSql = `select coalesce($1::integer, greatest(${leastPlaces}, 2 * coalesce(sum((w.info ->> 'slots')::integer), 0)))::integer as places
    from workers w where w.heartbeat_at > clock_timestamp() - ${silentWorkerMs} * interval '1 millisecond'`;

/** Whether a run `r` is queued. The index runs_queued has the same condition. */
export const queuedSql = (r: string) => `${r}.enqueued_at = 'infinity' and ${r}.status = 'doing'`;
