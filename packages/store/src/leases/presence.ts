/**
 * Tells a paused worker from a crashed one. A paused process (SIGSTOP, a closed laptop, a long garbage collection) cannot renew its leases,
 * but its connections stay open. A killed process loses them at once.
 *
 * P1  The connection that renews a worker's leases holds a shared advisory lock under the worker's name while the worker is alive.
 * P2  A prompt with an expired lease stays with its worker while the worker is present and has renewed no lease since. Its request may be
 *     at the model, and a second request would be paid again. It stays at most as long as a call may last (`workers.keeps_ms`).
 * P3  A present worker that renewed its other leases after this one expired has given this one up: any worker may claim it.
 * P4  The server notices within about ten seconds that a worker's host disappeared without closing its connection (`presenceSettings`), and
 *     ends the connection.
 *
 * kill -9: the kernel closes the connection, the server releases the lock, and the next claim after the end of the lease takes over.
 */
import type { SessionSettings } from "../database/session-settings.ts";

/** Locks of other users of the database have other keys. */
const keyOf = (worker: string) => `hashtextextended('markmill worker ' || ${worker}, 0)`;

/** $1: the worker's name. */
export const presenceText = `select pg_advisory_lock_shared(${keyOf("$1::text")})`;

/**
 * P4, for connections over TCP. A paused process still acknowledges, because its kernel does. `idle_session_timeout`: a paused worker is
 * idle, and an operator's limit for idle sessions must not end its presence.
 */
export const presenceSettings: SessionSettings = {
  tcp_keepalives_idle: "3",
  tcp_keepalives_interval: "2",
  tcp_keepalives_count: "3",
  tcp_user_timeout: "10000",
  idle_session_timeout: "0",
};

/** `worker`: an SQL expression. */
export const isPresent = (worker: string) => `exists (
  select 1 from pg_locks l, (select ${keyOf(worker)} as key) k
  where l.locktype = 'advisory' and l.objsubid = 1 and l.granted
    and l.database = (select d.oid from pg_database d where d.datname = current_database())
    and l.classid::bigint = ((k.key >> 32) & 4294967295) and l.objid::bigint = (k.key & 4294967295))`;

/** P2 and P3, for an activity `a` whose lease is over. */
export const isKept = (a: string) => `(${a}.queue = 'prompt' and exists (
  select 1 from workers w
  where w.id = ${a}.claimed_by and (w.renewed_at is null or w.renewed_at <= ${a}.lease_until)
    and clock_timestamp() < ${a}.lease_until + w.keeps_ms * interval '1 millisecond' and ${isPresent("w.id")}))`;
