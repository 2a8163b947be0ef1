/** Runs to create, and the calls that wait for them. */
import { columns } from "../../schema/columns.ts";
import type { Shape } from "../../throughput/statement-shape.ts";
import { givenColumns } from "../rows.ts";
import { listed } from "./texts.ts";

const types = new Map<string, string>(Object.values(columns.runs).map(({ name, type }) => [name, type]));
const given = givenColumns.join(", ");

/** The JSON of a created run: the columns of its row, and the data for its caller, its idempotency key, the audit log and its event. */
const bearing = `${givenColumns.map((name) => `${name} ${types.get(name)}`).join(", ")}, caller_state text, caller_outcome json, caller_usage json,
  idempotency_key text, request_hash text, audit json, queued boolean, deadline float8, ended boolean, type text, at float8`;

const creationFrom = (p: number) => {
  const names = bearing.split(",").map((column) => column.trim().split(" ")[0]);
  return `rows from (json_to_recordset($${p}::json) as (${bearing}), ${listed(p + 1)}, ${listed(p + 2)})
    with ordinality as x(${names.join(", ")}, state, body, n)`;
};

const caller = `
caller as (
  update activities a set
    state = b.caller_state, outcome = b.caller_outcome, usage = b.caller_usage, enqueued_at = clock_timestamp(), ready_at = clock_timestamp(),
    enqueues = a.enqueues + case when b.caller_state = 'ready' then 1 else 0 end
  from creation b join runs p on true
  where a.id = b.parent_activity_id and p.id = a.run_id and a.state = 'ready' and a.outcome is null
    and a.attempt = b.parent_attempt and a.epoch = b.parent_epoch and p.epoch = a.epoch and p.ended_at is null
  returning a.id, a.run_id, a.attempt, a.enqueues, a.epoch, a.state, p.parent_job
),`;

/** The first request with a key creates the run. The others wait here for its commit, and create nothing. */
const keys = `
keyed as (
  insert into idempotency_keys (tenant, key, request_hash, run_id)
  select tenant, idempotency_key, request_hash, id from creation where idempotency_key is not null
  on conflict do nothing
  returning run_id
),`;

/** Request and outcome in one entry, written only together with the run: access/audit.ts. */
const audit = `
, entries as materialized (
  select nextval(pg_get_serial_sequence('markmill.audit', 'id')) as id, o.id as run_id, b.tenant, b.audit as entry
  from created o join creation b on b.id = o.id where b.audit is not null
), audited as (
  insert into audit (id, tenant, actor, actor_name, action, request_id, address, details) overriding system value
  select id, tenant, entry ->> 'actor', entry ->> 'actorName', entry ->> 'action', entry ->> 'requestId', entry ->> 'address',
    entry -> 'details' from entries
), outcomes as (
  insert into audit_outcomes (audit_id, status, target) select id, 201, run_id from entries
)`;

const calling = "(b.parent_activity_id is null or exists (select 1 from caller c where c.id = b.parent_activity_id))";
const first = "(b.idempotency_key is null or exists (select 1 from keyed k where k.run_id = b.id))";

export const creations = (
  p: number,
  { called, keyed, audited, queued }: Pick<Shape, "called" | "keyed" | "audited" | "queued">,
) => `
creation as materialized (select x.* from ${creationFrom(p)}),
${called ? caller : ""} ${keyed ? keys : ""} created as (
  insert into runs (${given}, rev, kept, deadline, ended_at, started_at${queued ? ", enqueued_at" : ""})
  select ${given}, 1, state, case when ended then null else to_timestamp(deadline / 1000) end, case when ended then clock_timestamp() end,
    clock_timestamp()${queued ? ", case when queued then 'infinity' else clock_timestamp() end" : ""}
  from creation b
  where ${[called ? calling : "true", keyed ? first : "true"].join(" and ")}
  on conflict do nothing
  returning id, root_id, rev, epoch
) ${audited ? audit : ""}`;

export const createdAtGate = (shape: Shape) => `
  select -b.n as n, o.id, o.root_id, o.rev, o.epoch, b.type, b.at, b.body
    ${shape.changesStatus ? ", false as aborts, false as ended" : ""} ${shape.settles ? ", null::bigint as settled" : ""}
    ${shape.inline ? ", null::bigint as inline_id, null::text as inline_kind, null::float8 as asked_at" : ""}
  from created o join creation b on b.id = o.id`;
