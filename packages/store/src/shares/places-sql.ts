/**
 * How many runs of one tenant may be under way at once, as SQL: the operator's number ($1), or, where there is none, twice as many as all
 * living workers together have slots. So the slots are never short of work, and who comes later waits behind little.
 */
import { silentWorkerMs } from "../leases/workers.ts";

/** Where no worker says how many slots it has. */
const leastPlaces = 64;

/** A relation of one row with the column `places`. */
export const placesSql = `select coalesce($1::integer, greatest(${leastPlaces}, 2 * coalesce(sum((w.info ->> 'slots')::integer), 0)))::integer as places
    from workers w where w.heartbeat_at > clock_timestamp() - ${silentWorkerMs} * interval '1 millisecond'`;

/** Of a run `r`. The index runs_queued has the same words. */
export const queuedSql = (r: string) => `${r}.enqueued_at = 'infinity' and ${r}.status = 'doing'`;
