/**
 * The one statement that moves runs. Contract:
 *
 * C1  A run moves only if it is still at the `rev` and `epoch` the decision was made on, and the activity that brought the event
 *     still has the claim it was performed under. Everything else is written only for runs that moved (`gate`), in the same commit.
 * C2  At most one row per run: the sub-statements share one snapshot and cannot touch a row twice.
 * C3  It answers with the runs that moved and the doorbells to ring. A run that is missing from the answer did not change.
 * C4  Runs come sorted by id, so that two groups that share runs lock them in the same order. The other rows name their run by `n`,
 *     its place among the runs that move, or below zero among those that are born: comparing small integers is what the joins with
 *     `gate` spend their time on.
 * C5  What every step writes comes by the column: numbers and words in arrays, JSON texts in one text, parted by U+001E, which is never in
 *     a JSON text as itself. Rows of JSON, as the rest has, were a seventh of what a step cost the server.
 *
 * Half of what a statement costs is its parts, however few rows they write: what a group does not need is left out of its statement. Each
 * combination is prepared once per connection under its number.
 */
import type { Parked, WorkKind } from "@markmill/engine";
import { databaseNow } from "../database-clock.ts";
import type { LightColumn, LightKind } from "./run-row.ts";

/** What every event writes of a run, and of itself. What is absent, here and below, is null, false or 0. */
export interface RunWrite {
  readonly id: string;
  readonly epoch: number;
  readonly status: string;
  readonly phase: string;
  readonly steps: number;
  readonly ended?: boolean;
  readonly type: string;
  readonly at: number;
}

/** Epoch, status and phase: absent where they stay. */
type Turn = Pick<RunWrite, "epoch" | "status" | "phase">;

export interface MoveRow extends Omit<RunWrite, keyof Turn>, Partial<Turn> {
  readonly rev: number;
  readonly from_epoch: number;
  readonly activity?: number;
  readonly claim?: number;
  /** The activity is over; not where the same event asks for its next attempt. */
  readonly settles?: boolean;
  readonly aborts?: boolean;
  /** The light activity that the event ended. */
  readonly light_id?: number;
  readonly light_kind?: LightKind;
  readonly asked_at?: number;
}

/** What few events change of a run. */
export interface RareWrite {
  readonly calls?: number;
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  readonly nanodollars?: number;
  /** infinity: none while the run only waits. */
  readonly deadline?: number | "infinity";
  readonly word?: string | null;
  readonly result?: string | null;
  readonly reason?: unknown;
}

export interface BirthRow extends RunWrite, RareWrite {
  readonly light?: readonly LightColumn[];
  readonly root_id: string;
  readonly parent_activity_id: number | null;
  readonly parent_attempt: number | null;
  readonly parent_epoch: number | null;
  readonly parent_job: string | null;
  /** Where the calling activity goes: waiting, or ready at once when the callee ended as it started. */
  readonly caller_state: "waiting" | "ready" | null;
  readonly caller_outcome: unknown;
  readonly caller_usage: unknown;
  readonly definition_hash: string;
  readonly program: string;
  readonly name: string;
  readonly depth: number;
  readonly labels: unknown;
  readonly budgets: readonly string[];
  readonly options: unknown;
  readonly submission: unknown;
  readonly idempotency_key: string | null;
  readonly forked_from: string | null;
}

export interface NextRow {
  readonly n: number;
  readonly node: string;
  readonly generation: number;
  readonly item: number;
  readonly attempt: number;
  readonly kind: string;
  readonly queue: string;
  readonly epoch: number;
  readonly state: "ready" | "waiting";
  readonly not_before: number | null;
  readonly work: unknown;
}

/** A further attempt at work that its activity still has. */
export interface RetryRow {
  readonly n: number;
  readonly node: string;
  readonly generation: number;
  readonly item: number;
  readonly attempt: number;
  readonly not_before: number | null;
  /** What it waits for, told to people. Held: it waits for a resume, and no doorbell is rung. */
  readonly trouble?: Parked;
}

/** Work that is no longer wanted, while the rest of its run goes on. */
export interface VoidRow {
  readonly n: number;
  readonly node: string;
  readonly generation: number;
  readonly item: number;
}

/** For people only. */
export interface WarningRow {
  readonly n: number;
  readonly seq: number;
  readonly part: number;
  readonly at: number;
  readonly body: unknown;
}

export interface VariableRow {
  readonly n: number;
  readonly name: string;
  readonly value: string | null;
  /** The run has ended. */
  readonly final?: true;
}

export interface MessageRow {
  readonly n: number;
  readonly seq: number;
  readonly position: number;
  readonly thread: string;
  readonly agent: string;
  readonly role: string;
  /** null: the text of the activity's own work. */
  readonly text: string | null;
  readonly node: string;
  readonly generation: number;
  readonly item: number;
}

/** The end of a called run, for its caller. */
export interface ReturnRow {
  readonly n: number;
  readonly activity_id: number;
  readonly attempt: number;
  readonly epoch: number;
  readonly outcome: unknown;
  readonly usage: unknown;
}

export interface AskRow {
  readonly n: number;
  readonly activity_id: number;
  readonly state: "answered" | "expired";
  readonly answer: string | null;
  readonly answered_by: string | null;
}

export interface CommitRows {
  readonly moves: MoveRow[];
  /** By place: of `moves`. JSON; empty: nothing. */
  readonly states: string[];
  readonly bodies: string[];
  readonly lights: string[];
  readonly rares: string[];
  readonly births: BirthRow[];
  /** By place: of `births`. */
  readonly bornStates: string[];
  readonly bornBodies: string[];
  readonly next: NextRow[];
  readonly retries: RetryRow[];
  readonly voids: VoidRow[];
  readonly warnings: WarningRow[];
  readonly variables: VariableRow[];
  readonly messages: MessageRow[];
  readonly returns: ReturnRow[];
  readonly closedAsks: AskRow[];
}

export function noRows(): CommitRows {
  return {
    moves: [],
    states: [],
    bodies: [],
    lights: [],
    rares: [],
    births: [],
    bornStates: [],
    bornBodies: [],
    next: [],
    retries: [],
    voids: [],
    warnings: [],
    variables: [],
    messages: [],
    returns: [],
    closedAsks: [],
  };
}

/** moved: a run of C1, or one that was born. next: an activity asked for. again: a further attempt. returned: a caller to ring. */
export type CommitAnswer = MovedAnswer | AskedAnswer | ReturnedAnswer;

export interface MovedAnswer {
  readonly what: "moved";
  readonly run_id: string;
  readonly now: number;
}

export interface AskedAnswer {
  readonly what: "next" | "again";
  readonly run_id: string;
  readonly id: number;
  readonly node: string;
  readonly generation: number;
  readonly item: number;
  readonly kind: WorkKind;
  readonly attempt: number;
  readonly rings: number;
  readonly claim: number;
  readonly epoch: number;
}

export interface ReturnedAnswer {
  readonly what: "returned";
  readonly run_id: string;
  readonly id: number;
  readonly attempt: number;
  readonly rings: number;
  readonly epoch: number;
  readonly parent_job: string | null;
}

/** What a group does not have is not in its statement. */
type MoveFlag = "turns" | "borne" | "light";
const movingColumns = {
  id: { type: "text" },
  rev: { type: "bigint" },
  from_epoch: { type: "integer" },
  steps: { type: "integer" },
  type: { type: "text" },
  at: { type: "float8" },
  epoch: { type: "integer", of: "turns" },
  status: { type: "text", of: "turns" },
  phase: { type: "text", of: "turns" },
  ended: { type: "boolean", of: "turns" },
  aborts: { type: "boolean", of: "turns" },
  activity: { type: "bigint", of: "borne" },
  claim: { type: "integer", of: "borne" },
  settles: { type: "boolean", of: "borne" },
  light_id: { type: "bigint", of: "light" },
  light_kind: { type: "text", of: "light" },
  asked_at: { type: "float8", of: "light" },
} as const satisfies Record<keyof MoveRow, { readonly type: string; readonly of?: MoveFlag }>;

function movingNames(shape: Shape): (keyof MoveRow)[] {
  return (Object.keys(movingColumns) as (keyof MoveRow)[]).filter((name) => {
    const column: { readonly type: string; readonly of?: MoveFlag } = movingColumns[name];
    return column.of === undefined || shape[column.of];
  });
}

const bearing = `id text, root_id text, parent_activity_id bigint, parent_attempt integer, parent_epoch integer, parent_job text,
  caller_state text, caller_outcome json, caller_usage json, definition_hash text, program text, name text, depth integer, labels jsonb,
  budgets text[], options json, submission json, idempotency_key text, forked_from text, epoch integer, status text, phase text,
  steps integer, deadline float8, ended boolean, word text, result text, reason json, light json, type text, at float8`;

const separator = "\u001e";
const listed = (p: number) => `string_to_table($${p}, E'\\x1e')`;

const movingTexts = ({ rare }: Shape) => ["state", "body", "light", ...(rare ? ["rare"] : [])];

/** C5. */
function movingFrom(p: number, shape: Shape): string {
  const names = movingNames(shape);
  const texts = movingTexts(shape);
  const arrays = names.map((name, index) => `$${p + index}::${movingColumns[name].type}[]`);
  const lists = texts.map((_, index) => listed(p + names.length + index));
  return `rows from (unnest(${arrays.join(", ")}), ${lists.join(", ")})
    with ordinality as x(${[...names, ...texts].join(", ")}, n)`;
}

function movingValues(rows: CommitRows, shape: Shape): string[] {
  const columns = movingNames(shape).map((name) => {
    const cells = rows.moves.map((row) => {
      const value = row[name];
      if (value === undefined) return "NULL";
      return name === "id" ? `"${String(value).replace(/["\\]/g, "\\$&")}"` : String(value);
    });
    return `{${cells.join(",")}}`;
  });
  const texts = [rows.states, rows.bodies, rows.lights, ...(shape.rare ? [rows.rares] : [])];
  return [...columns, ...texts.map((text) => text.join(separator))];
}

const movingParameters = (shape: Shape) => movingNames(shape).length + movingTexts(shape).length;

const birthFrom = (p: number) => {
  const names = bearing.split(",").map((column) => column.trim().split(" ")[0]);
  return `rows from (json_to_recordset($${p}::json) as (${bearing}), ${listed(p + 1)}, ${listed(p + 2)})
    with ordinality as x(${names.join(", ")}, state, body, n)`;
};

/** The claim is compared with a scalar subquery: as `exists` under an `or` it is planned as a scan of the whole table. */
const claimHolds = `
    and (x.activity is null or x.claim = (
      select a.claim from activities a where a.id = x.activity and a.state in ('ready', 'claimed', 'waiting')))`;

/** What a run has spent only grows, and a word, a result and a reason come once, with the end. */
const rareValue = (name: string) => `(nullif(x.rare, '')::json ->> '${name}')`;
const spent = (name: string) => `${name} = coalesce(${rareValue(name)}::bigint, r.${name})`;
const rarely = ({ turns }: Shape) => {
  const deadline = `coalesce(to_timestamp(${rareValue("deadline")}::float8 / 1000), r.deadline)`;
  return `, ${["calls", "prompt_tokens", "completion_tokens", "nanodollars"].map(spent).join(", ")},
    word = ${rareValue("word")}, result = ${rareValue("result")}, reason = ${rareValue("reason")}::json,
    deadline = ${turns ? `case when x.ended then null else ${deadline} end` : deadline}`;
};

const turning = `, epoch = coalesce(x.epoch, r.epoch), status = coalesce(x.status, r.status), phase = coalesce(x.phase, r.phase),
    ended_at = case when x.ended then clock_timestamp() end`;

const moved = (name: string, p: number, shape: Shape) => `
${name} as (
  update runs r set
    rev = r.rev + 1, kept = x.state, steps = x.steps, light = nullif(x.light, '')::json
    ${shape.turns ? turning : ""} ${shape.rare ? rarely(shape) : ""}
  from ${movingFrom(p, shape)}
  where r.id = x.id and r.rev = x.rev and r.epoch = x.from_epoch ${shape.borne ? claimHolds : ""}
  returning x.n, r.id, r.root_id, r.rev, r.epoch, x.type, x.at, x.body
    ${shape.turns ? ", x.aborts, x.ended" : ""} ${shape.settles ? ", case when x.settles then x.activity end as settled" : ""}
    ${shape.light ? ", x.light_id, x.light_kind, x.asked_at" : ""}
)`;

const caller = `
caller as (
  update activities a set
    state = b.caller_state, outcome = b.caller_outcome, usage = b.caller_usage, rung_at = clock_timestamp(), ready_at = clock_timestamp(),
    rings = a.rings + case when b.caller_state = 'ready' then 1 else 0 end
  from birth b join runs p on true
  where a.id = b.parent_activity_id and p.id = a.run_id and a.state = 'ready' and a.outcome is null
    and a.attempt = b.parent_attempt and a.epoch = b.parent_epoch and p.epoch = a.epoch and p.ended_at is null
  returning a.id, a.run_id, a.attempt, a.rings, a.epoch, a.state, p.parent_job
),`;

const births = (p: number, called: boolean) => `
birth as materialized (select x.* from ${birthFrom(p)}),
${called ? caller : ""} born as (
  insert into runs (id, root_id, parent_activity_id, parent_attempt, parent_epoch, parent_job, definition_hash, program, name,
    depth, labels, budgets, options, submission, idempotency_key, forked_from, rev, epoch, kept, status, phase, word, deadline,
    ended_at, result, reason, steps, started_at, light)
  select id, root_id, parent_activity_id, parent_attempt, parent_epoch, parent_job, definition_hash, program, name,
    depth, labels, budgets, options, submission, idempotency_key, forked_from, 1, epoch, state, status, phase, word,
    case when ended then null else to_timestamp(deadline / 1000) end, case when ended then clock_timestamp() end, result, reason, steps,
    clock_timestamp(), light
  from birth b
  ${called ? "where b.parent_activity_id is null or exists (select 1 from caller c where c.id = b.parent_activity_id)" : ""}
  on conflict do nothing
  returning id, root_id, rev, epoch
)`;

const bornAtGate = (shape: Shape) => `
  select -b.n as n, o.id, o.root_id, o.rev, o.epoch, b.type, b.at, b.body
    ${shape.turns ? ", false as aborts, false as ended" : ""} ${shape.settles ? ", null::bigint as settled" : ""}
    ${shape.light ? ", null::bigint as light_id, null::text as light_kind, null::float8 as asked_at" : ""}
  from born o join birth b on b.id = o.id`;

const settled = `
settled as (
  update activities a set state = 'done', seq = g.rev, ended_at = clock_timestamp(), lease_until = null
  from gate g where a.id = g.settled
)`;

const next = (p: string) => `
next as (
  insert into activities (run_id, root_id, node, generation, item, attempt, kind, queue, epoch, state, not_before, rung_at, work)
  select g.id, g.root_id, x.node, x.generation, x.item, x.attempt, x.kind, x.queue, x.epoch, x.state,
    to_timestamp(x.not_before / 1000), coalesce(to_timestamp(x.not_before / 1000), clock_timestamp()), x.work
  from json_to_recordset(${p}::json)
      as x(n integer, node text, generation integer, item integer, attempt integer, kind text, queue text, epoch integer,
        state text, not_before float8, work json)
    join gate g on g.n = x.n
  on conflict (run_id, node, generation, item) do update set
    attempt = excluded.attempt, epoch = excluded.epoch, state = excluded.state, not_before = excluded.not_before,
    rung_at = excluded.rung_at, work = excluded.work, rings = activities.rings + 1, takeovers = 0, outcome = null, usage = null,
    trouble = null,
    claimed_by = null, lease_until = null, ended_at = null, ready_at = clock_timestamp()
  returning id, run_id, node, generation, item, attempt, kind, epoch, rings, claim, work
)`;

const retries = (p: string) => `
again as (
  update activities a set
    attempt = x.attempt, epoch = g.epoch, trouble = x.trouble,
    state = case when a.kind = 'ask' or (x.trouble ->> 'held')::boolean then 'waiting' else 'ready' end, not_before = to_timestamp(x.not_before / 1000), rung_at = coalesce(to_timestamp(x.not_before / 1000), clock_timestamp()),
    rings = a.rings + 1, takeovers = 0, outcome = null, usage = null, claimed_by = null, lease_until = null, ended_at = null,
    ready_at = clock_timestamp()
  from json_to_recordset(${p}::json)
      as x(n integer, node text, generation integer, item integer, attempt integer, not_before float8, trouble json)
    join gate g on g.n = x.n
  where a.run_id = g.id and a.node = x.node and a.generation = x.generation and a.item = x.item
  returning a.id, a.run_id, a.node, a.generation, a.item, a.kind, a.attempt, a.epoch, a.rings, a.claim, a.state
), reasked as (
  update asks k set state = 'open', closed_at = null from again n where n.kind = 'ask' and k.activity_id = n.id
)`;

const voids = (p: string) => `
unwanted as (
  update activities a set state = 'void', ended_at = clock_timestamp(), lease_until = null
  from json_to_recordset(${p}::json) as x(n integer, node text, generation integer, item integer) join gate g on g.n = x.n
  where a.run_id = g.id and a.node = x.node and a.generation = x.generation and a.item = x.item
    and a.state in ('ready', 'claimed', 'waiting')
  returning a.id, a.kind
), withdrawn as (
  update asks k set state = 'void', closed_at = clock_timestamp() from unwanted u where u.kind = 'ask' and k.activity_id = u.id
)`;

const logged = ({ light }: Shape) => `
logged as (
  insert into events (run_id, seq, part, type, at, body ${light ? ", activity_id, kind, asked_at" : ""})
  select g.id, g.rev, 0, g.type, to_timestamp(g.at / 1000), g.body
    ${light ? ", g.light_id, g.light_kind, to_timestamp(g.asked_at / 1000)" : ""}
  from gate g
)`;

const warnings = (p: string) => `
warned as (
  insert into events (run_id, seq, part, type, at, body)
  select g.id, x.seq, x.part, 'warning', to_timestamp(x.at / 1000), x.body::text
  from json_to_recordset(${p}::json) as x(n integer, seq bigint, part smallint, at float8, body json)
    join gate g on g.n = x.n
)`;

const variables = (p: string) => `
assigned as (
  insert into variables (run_id, name, value, final)
  select g.id, x.name, x.value, coalesce(x.final, false)
  from json_to_recordset(${p}::json) as x(n integer, name text, value text, final boolean) join gate g on g.n = x.n
  on conflict (run_id, name) do update set value = excluded.value, final = excluded.final
)`;

/** Those of an ended run that its last event did not assign (C2). */
const finished = (variablesParameter: string | null) => `
finished as (
  update variables v set final = true from gate g
  where g.ended and v.run_id = g.id
    ${
      variablesParameter === null
        ? ""
        : `and not exists (
      select 1 from json_to_recordset(${variablesParameter}::json) as x(n integer, name text) where x.n = g.n and x.name = v.name)`
    }
)`;

const messages = (p: string) => `
said as materialized (
  select g.id as run_id, x.seq, x.position, x.thread, x.agent, x.role, a.id as activity_id, coalesce(x.text, a.work ->> 'text', '') as text
  from json_to_recordset(${p}::json)
      as x(n integer, seq bigint, position integer, thread text, agent text, role text, text text,
        node text, generation integer, item integer)
    join gate g on g.n = x.n
    left join activities a on a.run_id = g.id and a.node = x.node and a.generation = x.generation and a.item = x.item
), opened as (
  insert into threads (id, run_id, agent) select distinct on (thread) thread, run_id, agent from said on conflict do nothing
), told as (
  insert into messages (run_id, seq, position, thread, role, text, activity_id)
  select run_id, seq, position, thread, role, text, activity_id from said order by run_id, position
)`;

const returns = (p: string) => `
returned as (
  update activities a set state = 'ready', outcome = x.outcome, usage = x.usage, rings = a.rings + 1, rung_at = clock_timestamp(),
    ready_at = clock_timestamp()
  from json_to_recordset(${p}::json)
      as x(n integer, activity_id bigint, attempt integer, epoch integer, outcome json, usage json)
    join gate g on g.n = x.n, runs p
  where a.id = x.activity_id and p.id = a.run_id and a.state = 'waiting' and a.attempt = x.attempt and a.epoch = x.epoch
  returning a.id, a.run_id, a.attempt, a.rings, a.epoch, p.parent_job
)`;

const asks = (p: string) => `
asked as (
  insert into asks (activity_id, run_id, question, text, expires_at, state)
  select n.id, n.run_id, n.work ->> 'question', n.work ->> 'text', to_timestamp((n.work ->> 'expiresAt')::float8 / 1000), 'open'
  from next n where n.kind = 'ask'
  on conflict (activity_id) do update set expires_at = excluded.expires_at, state = 'open', answer = null, closed_at = null
), closed as (
  update asks k set state = x.state, answer = x.answer, answered_by = x.answered_by, closed_at = clock_timestamp()
  from json_to_recordset(${p}::json) as x(n integer, activity_id bigint, state text, answer text, answered_by text)
    join gate g on g.n = x.n
  where k.activity_id = x.activity_id
)`;

/** New rows of the same statement are not in its snapshot; the one the event settles is not touched twice (C2). */
const aborts = (nextParameter: string, { settles }: Shape) => `
voided as (
  update activities a set state = 'void', ended_at = clock_timestamp(), lease_until = null
  from gate g
  where g.aborts and a.run_id = g.id and a.state in ('ready', 'claimed', 'waiting') ${settles ? "and a.id is distinct from g.settled" : ""}
    and not exists (
      select 1 from json_to_recordset(${nextParameter}::json) as x(n integer, node text, generation integer, item integer)
      where x.n = g.n and x.node = a.node and x.generation = a.generation and x.item = a.item)
  returning a.id, a.kind
), unasked as (
  update asks k set state = 'void', closed_at = clock_timestamp()
  from voided v where v.kind = 'ask' and k.activity_id = v.id
)`;

export interface Statement {
  readonly name: string;
  readonly text: string;
  readonly values: readonly string[];
}

interface Shape {
  readonly moves: boolean;
  /** Some run changes its epoch, status or phase. */
  readonly turns: boolean;
  /** Some event was brought by an activity that has a row. */
  readonly borne: boolean;
  /** Some event was brought by a light activity. */
  readonly light: boolean;
  readonly settles: boolean;
  readonly aborts: boolean;
  readonly ends: boolean;
  readonly rare: boolean;
  readonly births: boolean;
  readonly called: boolean;
  readonly lists: readonly ListName[];
}

type ListName = "next" | "retries" | "voids" | "warnings" | "variables" | "messages" | "returns" | "asks";

const listParts: Readonly<Record<ListName, (parameter: string) => string>> = {
  next,
  retries,
  voids,
  warnings,
  variables,
  messages,
  returns,
  asks,
};

const seldomLists: ReadonlySet<ListName> = new Set(["retries", "voids", "warnings", "returns", "asks"]);

/** Numbered: the server tells names apart by their first 63 characters only. */
const statements = new Map<string, Omit<Statement, "values">>();

export function commitStatement(rows: CommitRows, stringify: (value: unknown) => string): Statement {
  const { moves, births } = rows;
  const asking = rows.next.some((row) => row.kind === "ask");
  const aborts = moves.some((row) => row.aborts);
  const lists: readonly { readonly name: ListName; readonly rows: readonly unknown[]; readonly needed?: boolean }[] = [
    // What an abort voids depends on what is asked for in its place, and what is asked of people on what is next.
    { name: "next", rows: rows.next, needed: aborts || asking || rows.closedAsks.length > 0 },
    { name: "retries", rows: rows.retries },
    { name: "voids", rows: rows.voids },
    { name: "warnings", rows: rows.warnings },
    { name: "variables", rows: rows.variables },
    { name: "messages", rows: rows.messages },
    { name: "returns", rows: rows.returns },
    { name: "asks", rows: rows.closedAsks, needed: asking },
  ];
  const used = lists.filter((list) => list.rows.length > 0 || list.needed);
  const called = births.some((row) => row.parent_activity_id !== null);
  // Every combination is a plan of 0.3 MB on every connection: those that are seldom share one set of columns.
  const seldom = called || aborts || used.some(({ name }) => seldomLists.has(name));
  const full = seldom && moves.length > 0;
  const shape: Shape = {
    moves: moves.length > 0,
    turns: full || moves.some((row) => row.status !== undefined),
    borne: full || moves.some((row) => row.activity !== undefined),
    light: full || moves.some((row) => row.light_id !== undefined),
    settles: full || moves.some((row) => row.settles),
    aborts,
    ends: full || moves.some((row) => row.ended),
    rare: full || rows.rares.some((text) => text !== ""),
    births: births.length > 0,
    called,
    lists: used.map((list) => list.name),
  };
  const { lists: _, ...flags } = shape;
  const set = Object.entries(flags).flatMap(([flag, value]) => (value ? [flag] : []));
  const combination = [...set, ...shape.lists].join("-");
  let prepared = statements.get(combination);
  if (prepared === undefined) {
    prepared = { name: `commit-${statements.size}`, text: assemble(shape) };
    statements.set(combination, prepared);
  }
  const values = [
    ...(shape.moves ? movingValues(rows, shape) : []),
    ...(shape.births ? [stringify(births), rows.bornStates.join(separator), rows.bornBodies.join(separator)] : []),
    ...used.map((list) => stringify(list.rows)),
  ];
  return { ...prepared, values };
}

function assemble(shape: Shape): string {
  let parameter = 1;
  const take = (count: number): number => {
    parameter += count;
    return parameter - count;
  };
  const pieces: string[] = [];
  if (shape.moves) {
    pieces.push(moved(shape.births ? "moved" : "gate", take(movingParameters(shape)), shape));
  }
  if (shape.births) {
    pieces.push(births(take(3), shape.called));
    pieces.push(`gate as materialized (${shape.moves ? "select * from moved union all" : ""} ${bornAtGate(shape)})`);
  }
  pieces.push(logged(shape));
  if (shape.settles) pieces.push(settled);
  const places = new Map<ListName, string>();
  for (const list of shape.lists) {
    const place = `$${take(1)}`;
    places.set(list, place);
    pieces.push(listParts[list](place));
  }
  if (shape.aborts) pieces.push(aborts(places.get("next") ?? "'[]'", shape));
  if (shape.ends) pieces.push(finished(places.get("variables") ?? null));
  const asked = [
    ...(shape.lists.includes("next") ? [ringing("next", "next")] : []),
    ...(shape.lists.includes("retries") ? [ringing("again", "again where state = 'ready'")] : []),
    ...(shape.lists.includes("returns") ? [returning("returned", "")] : []),
    ...(shape.called ? [returning("caller", "where state = 'ready'")] : []),
  ];
  const bare = `select 'moved' as what, g.id as run_id, ${databaseNow} as now`;
  const full = `, null::bigint as id, null::text as node, null::integer as generation, null::integer as item,
  null::text as kind, null::integer as attempt, null::integer as rings, null::integer as claim, g.epoch, null::text as parent_job`;
  return `with ${pieces.join(",")}
${bare}${asked.length === 0 ? "" : full} from gate g
${asked.join("\n")}`;
}

const ringing = (what: string, from: string) =>
  `union all select '${what}', run_id, null, id, node, generation, item, kind, attempt, rings, claim, epoch, null from ${from}`;
const returning = (from: string, where: string) =>
  `union all select 'returned', run_id, null, id, null, null, null, 'call', attempt, rings, null, epoch, parent_job from ${from} ${where}`;
