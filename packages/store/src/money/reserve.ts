/**
 * A call reserves its worst case before it is sent (budgets.ts, B1, B2, B4 to B7). Calls of a tenant that reserve together share one
 * statement.
 *
 * R1  A group is reserved completely or not at all. For each budget, the sum of all calls must fit, with the largest `leave` among them. A
 *     group changes nothing if it does not fit, or if one of its calls has reserved before. Each call then reserves alone and gets its own
 *     answer. So no call is refused because of its group, and many calls change the row of a capped budget once.
 *
 * kill -9 before the answer: the statement happened completely or not at all. The next workers of the activities settle reservations for
 * calls that were never sent as spent (B3).
 */
import type { LimitCode } from "@markmill/engine";
import type { Database } from "../database/database.ts";
import { toJson } from "../database/neutral.ts";
import { queryHot } from "../database/query-database.ts";
import { isDuplicate, StoreError } from "../database/store-error.ts";
import { alone, gathered, promptLingerMs } from "../throughput/gathered.ts";
import { type Amount, type Budget, type BudgetRow, type CallRef, toBudget } from "./budgets.ts";
import type { Charge } from "./charges.ts";

export type Reserved =
  | { readonly kind: "reserved" }
  | {
      readonly kind: "refused";
      readonly budget: Budget;
      readonly code: ReservedCode;
      /** The budget belongs to a run of the tree. false: many runs share it. */
      readonly ofRun: boolean;
    }
  /** One of the budgets does not exist. The call is refused: a missing row never means "no limit". */
  | { readonly kind: "missing"; readonly budget: string };

export type ReservedCode = Extract<LimitCode, "LIMIT_COST" | "LIMIT_TOKENS" | "LIMIT_CHARACTERS">;

interface Reserving {
  readonly tenant: string;
  readonly call: CallRef;
  /** Budgets of the tenant. The call is refused if one of them does not exist. */
  readonly budgets: readonly string[];
  readonly want: Amount;
  /** The amount that the call must leave in the budgets of runs, for the handlers of its run and of all its callers (B8). */
  readonly leave: Amount;
  /** Its line in the account, at its worst case. null: no line. */
  readonly charge: Charge | null;
}

export type Reserve = (reserving: Reserving) => Promise<Reserved>;

export function createReserve(database: Database): Reserve {
  const together = gathered((group: readonly Reserving[]) => reserveGroup(database, group), {
    keyOf: ({ tenant }) => tenant,
    lingerMs: promptLingerMs,
    plain: database.plain,
  });
  return async (reserving) =>
    reserving.budgets.length === 0 && reserving.charge === null ? { kind: "reserved" } : await together(reserving);
}

async function reserveGroup(
  database: Database,
  group: readonly Reserving[],
): Promise<readonly (Reserved | typeof alone)[]> {
  const [one, ...others] = group;
  if (one === undefined) return [];
  if (others.length === 0) return [await reserveAlone(database, one)];
  const rows = await ask(database, one.tenant, group);
  const reserved = rows.every(({ fits, held, whole }) => fits && !held && whole);
  return group.map(() => (reserved ? { kind: "reserved" } : alone));
}

async function reserveAlone(database: Database, reserving: Reserving): Promise<Reserved> {
  const { tenant, want, leave } = reserving;
  const query = async () => {
    for (let attempt = 1; attempt <= reserveAttempts; attempt++) {
      const rows = await ask(database, tenant, [reserving]);
      if (rows.every(({ whole }) => whole)) return rows;
    }
    throw new StoreError("STORE_BUSY", "Reserving a budget: its cap changes all the time.");
  };
  const passes = (rows: readonly ReserveRow[]) => rows.every(({ fits, held }) => fits || held);
  // A second delivery of this call may reserve in between. It then violates the key, or takes the amount that this one wanted. The second
  // attempt finds it.
  const first = await query().catch((error: unknown) => (isDuplicate(error) ? null : Promise.reject(error)));
  const rows = first !== null && passes(first) ? first : await query();
  if (passes(rows)) return { kind: "reserved" };
  const [{ missing = null, gone = null } = {}] = rows;
  if (gone !== null) throw new StoreError("STORE_NOT_FOUND", `Run ${gone} was deleted.`);
  if (missing !== null) return { kind: "missing", budget: missing };
  const refusing = rows.flatMap((row) => {
    const code = overBy(row, want, leave);
    return code === null ? [] : { code, budget: toBudget(row), ofRun: row.for_run };
  });
  // A limit of the runs themselves comes first: it ends the run, whatever other runs have spent.
  const cause = refusing.find(({ ofRun }) => ofRun) ?? refusing[0];
  return cause === undefined ? { kind: "reserved" } : { kind: "refused", ...cause };
}

/** How often a budget may get or lose its cap while one call reserves. */
const reserveAttempts = 20;

const budgetColumns =
  "id, cap_nanodollars, cap_tokens, cap_characters, spent_nanodollars, spent_tokens, spent_characters, reserved_nanodollars, reserved_tokens, reserved_characters, outer_nanodollars, outer_tokens, outer_characters, for_run";

/** B8: the largest amount that the calls of a group leave in the locked budget `l`. */
const left = (what: string) => `case when l.for_run then greatest(0, s.leave_${what} - l.outer_${what}) else 0 end`;
const fits = (what: string) => `(l.cap_${what} is null
        or l.spent_${what} + l.reserved_${what} + s.${what} <= l.cap_${what} - ${left(what)})`;

/**
 * FOR UPDATE returns the newest version of a row it had to wait for, but a sum over reservations would use the older snapshot. A budget
 * that got or lost its cap meanwhile is then neither capped nor free, and `whole` is false: nothing was reserved, and a new statement sees
 * the change. The free budgets are locked first: a transaction that holds a capped one never waits for one that sets a cap. Before them the
 * root runs are locked, as in calls.ts. A deletion then waits for the line that is opened here, or the reservation is refused because the
 * run is gone (delete-runs.ts, E1).
 */
const reserveText = `
with wanted as materialized (
  select x.* from json_to_recordset($1::json) as x(activity_id bigint, call_index integer, claim integer, nanodollars bigint, tokens bigint,
    sent bigint, leave_nanodollars bigint, leave_tokens bigint, leave_characters bigint, budgets json,
    run_id text, root_id text, model text, prompt_tokens bigint, completion_tokens bigint, characters bigint)
), parts as materialized (
  select w.activity_id, w.call_index, w.claim, w.nanodollars, w.tokens, w.sent as characters, b.id,
    w.leave_nanodollars, w.leave_tokens, w.leave_characters
  from wanted w cross join lateral json_array_elements_text(w.budgets) as b(id)
), sums as materialized (
  select id, sum(nanodollars)::bigint as nanodollars, sum(tokens)::bigint as tokens, sum(characters)::bigint as characters,
    max(leave_nanodollars) as leave_nanodollars, max(leave_tokens) as leave_tokens, max(leave_characters) as leave_characters
  from parts group by id
), held as materialized (
  select 1 from wanted w cross join lateral (
    select 1 from reservations v where v.activity_id = w.activity_id and v.call_index = w.call_index and v.claim = w.claim limit 1) v limit 1
), alive as materialized (
  select w.root_id, r.id from (select distinct root_id from wanted where root_id is not null order by 1) w
    left join lateral (select r.id from runs r where r.id = w.root_id for key share) r on true
), free as materialized (
  select id from budgets where tenant = $2 and id = any($3) and cap_nanodollars is null and cap_tokens is null
    and cap_characters is null and (select count(*) from alive) >= 0
  order by id for key share
), locked as materialized (
  select ${budgetColumns} from budgets where tenant = $2 and id = any($3) 
    and (cap_nanodollars is not null or cap_tokens is not null or cap_characters is not null) and (select count(*) from free) >= 0
  order by id for update
), absent as materialized (
  select (select min(x.id) from unnest($3::text[]) as x(id)
      where not exists (select 1 from budgets b where b.tenant = $2 and b.id = x.id)) as budget,
    (select min(root_id) from alive where id is null) as run
), verdict as materialized (
  select coalesce(bool_and(${fits("nanodollars")} and ${fits("tokens")} and ${fits("characters")}), true)
      and (select budget is null and run is null from absent) as fits,
    count(*) + (select count(*) from free) = (select count(*) from budgets where tenant = $2 and id = any($3)) as whole,
    exists (select 1 from held) as held
  from locked l join sums s on s.id = l.id
), raised as (
  update budgets b set reserved_nanodollars = b.reserved_nanodollars + s.nanodollars, reserved_tokens = b.reserved_tokens + s.tokens,
    reserved_characters = b.reserved_characters + s.characters
  from locked l join sums s on s.id = l.id, verdict v
  where b.tenant = $2 and b.id = l.id and v.fits and v.whole and not v.held
  returning b.id
), made as (
  insert into reservations (tenant, activity_id, call_index, budget_id, nanodollars, tokens, characters, claim, counted)
  select $2, p.activity_id, p.call_index, p.id, p.nanodollars, p.tokens, p.characters, p.claim, true from raised r join parts p on p.id = r.id
  union all
  select $2, p.activity_id, p.call_index, p.id, p.nanodollars, p.tokens, p.characters, p.claim, false from free f join parts p on p.id = f.id, verdict v
  where v.fits and v.whole and not v.held
), opened as (
  insert into charges (tenant, activity_id, call_index, claim, run_id, root_id, model, state,
    prompt_tokens, completion_tokens, characters, nanodollars)
  select $2, w.activity_id, w.call_index, w.claim, w.run_id, w.root_id, w.model, 'open',
    w.prompt_tokens, w.completion_tokens, w.characters, w.nanodollars
  from wanted w, verdict v
  where w.run_id is not null and v.whole and case when v.held then (select count(*) from wanted) = 1 else v.fits end
  on conflict do nothing
)
select l.*, v.fits, v.held, v.whole, n.budget as missing, n.run as gone from absent n cross join verdict v left join locked l on true`;

/** Without any capped budget: one row with nulls. */
interface ReserveRow extends BudgetRow {
  readonly for_run: boolean;
  readonly outer_nanodollars: number;
  readonly outer_tokens: number;
  readonly outer_characters: number;
  readonly fits: boolean;
  /** One of the calls has reserved before. */
  readonly held: boolean;
  readonly whole: boolean;
  /** A budget that does not exist. */
  readonly missing: string | null;
  /** A run that does not exist. */
  readonly gone: string | null;
}

async function ask(database: Database, tenant: string, group: readonly Reserving[]): Promise<readonly ReserveRow[]> {
  // Always in the same order, so that two groups with the same calls do not deadlock.
  const wanted = group
    .map(({ call, budgets, want, leave, charge }) => ({
      activity_id: call.activityId,
      call_index: call.callIndex,
      claim: call.claim ?? 0,
      nanodollars: want.nanodollars,
      tokens: want.tokens,
      budgets: [...new Set(budgets)],
      sent: want.characters ?? 0,
      leave_nanodollars: leave.nanodollars,
      leave_tokens: leave.tokens,
      leave_characters: leave.characters ?? 0,
      ...(charge === null ? {} : { run_id: charge.runId, root_id: charge.rootId, model: charge.model }),
      ...(charge === null ? {} : { prompt_tokens: charge.promptTokens, completion_tokens: charge.completionTokens }),
      ...(charge === null ? {} : { characters: charge.characters }),
    }))
    .sort((one, other) => one.activity_id - other.activity_id || one.call_index - other.call_index);
  const budgets = [...new Set(wanted.flatMap((one) => one.budgets))];
  return await queryHot<ReserveRow>(database, "Reserving a budget", "reserve", reserveText, [
    ...[toJson(wanted), tenant, budgets],
  ]);
}

function overBy(row: ReserveRow, want: Amount, leave: Amount): ReservedCode | null {
  const over = (cap: number | null | undefined, used: number, wanted: number, leaves: number, outer: number) =>
    cap != null && used + wanted + (row.for_run ? Math.max(0, leaves - outer) : 0) > cap;
  const { spent_nanodollars: dollars, spent_tokens: tokens, spent_characters: characters = 0 } = row;
  const money = dollars + row.reserved_nanodollars;
  if (over(row.cap_nanodollars, money, want.nanodollars, leave.nanodollars, row.outer_nanodollars)) return "LIMIT_COST";
  if (over(row.cap_tokens, tokens + row.reserved_tokens, want.tokens, leave.tokens, row.outer_tokens))
    return "LIMIT_TOKENS";
  const sent = characters + (row.reserved_characters ?? 0);
  if (over(row.cap_characters, sent, want.characters ?? 0, leave.characters ?? 0, row.outer_characters))
    return "LIMIT_CHARACTERS";
  return null;
}
