/**
 * $1: [{id, claim}], $2: ms, $3: the worker's name, or null. Returns the ids that are still held; those that were renewed have `renewed`
 * set. Once all of them are renewed, the worker's row stores the time (presence.ts, P3).
 *
 * The statement never waits: a locked activity (usually locked by our own commit, which ends it) is left for the next round. Otherwise it
 * could wait for a commit while the commit waits for it. That would stop all commits of a worker for a second, until Postgres ends one of
 * the two.
 */
export const renewText = `
with held as materialized (
  select x.id, x.claim from json_to_recordset($1::json) as x(id bigint, claim integer), lateral (
    select from activities a where a.id = x.id and a.claim = x.claim and a.state = 'claimed' offset 0) mine
), free as materialized (
  select h.id from held h, lateral (
    select from activities a where a.id = h.id and a.claim = h.claim and a.state = 'claimed' for no key update skip locked) mine
), renewed as (
  update activities a set lease_until = clock_timestamp() + $2::integer * interval '1 millisecond'
  from free where a.id = free.id returning a.id
), noted as (
  update workers set renewed_at = clock_timestamp()
  where id in (select w.id from workers w where w.id = $3 for no key update skip locked)
    and (select count(*) from held) = (select count(*) from renewed)
)
select id, false as renewed from held union all select id, true from renewed`;

export interface RenewedRow {
  readonly id: number | string;
  readonly renewed: boolean;
}
