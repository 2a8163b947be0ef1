/**
 * Budgets of money and tokens. A call reserves its worst case before it is made and settles what it cost when the reply is stored, so
 * a cap holds however many workers call at once.
 *
 * B1  A reservation is made only if spent + reserved + wanted <= cap - `leave`: the check and the change are one statement on locked
 *     rows. Beyond the cap comes only what a call cost beyond its worst case.
 * B2  A reservation is made once per (activity, call index, claim); repeating it changes nothing. It is all budgets or none.
 * B3  A reservation ends by settling (calls.ts, together with the reply) or by release, each only under the claim that made it. What a
 *     lost holder left is settled as spent: by the next holder, or by the supervisor when the activity is over.
 * B4  Whoever locks several budgets locks them in the order of their tenants and ids.
 * B5  The request's line in the account (charges.ts) is opened, settled and struck out by the same statements, so that what is shown is
 *     what is booked, whoever dies when.
 * B6  A budget without a cap has nothing to check, so its row is not changed by calls: a class would go through it one commit at a time.
 *     Its reservations are not `counted` in the row, and what they come to are rows in `spendings`. What a budget has spent and reserved
 *     is always the row with both (`spentOrReserved`).
 * B7  Who reserves holds the row of a budget without a cap (KEY SHARE: together with any number of others); who gives it a cap waits for
 *     them, then counts in all that is reserved and spent, before anybody sees the cap. How a reservation ends is said by the reservation
 *     itself: one that was counted in meanwhile is taken from the row.
 *
 * kill -9 while a cap is set: the transaction is gone, and the budget has none. The supervisor adds spendings to their rows (`gatherSpendings`)
 * in one statement, so that they do not pile up; killed there, they are as they were.
 */
import type { LimitCode } from "@markmill/engine";
import type { PoolClient } from "pg";
import { type CallUsage, type Charge, noCalls, type Spent } from "./charges.ts";
import type { Database } from "./database.ts";
import { queryDatabase, queryHot } from "./query-database.ts";
import { isContention, StoreError, translate } from "./store-error.ts";
import { inTransaction } from "./transaction.ts";

export interface Amount {
  readonly nanodollars: number;
  readonly tokens: number;
}

export interface Budget {
  readonly id: string;
  readonly cap: { readonly nanodollars: number | null; readonly tokens: number | null };
  readonly spent: Amount;
  readonly reserved: Amount;
}

export interface CallRef {
  readonly activityId: number;
  readonly callIndex: number;
  /** The claim the call is made under. Absent: any, for those who do not claim. */
  readonly claim?: number;
}

export type Reserved =
  | { readonly kind: "reserved" }
  | {
      readonly kind: "refused";
      readonly budget: Budget;
      readonly code: Extract<LimitCode, "LIMIT_COST" | "LIMIT_TOKENS">;
    };

/** `of`: a run's own goes with the run. */
export async function openBudget(
  database: Database,
  tenant: string,
  id: string,
  cap: Budget["cap"],
  of: "run" | "batch" = "batch",
): Promise<void> {
  await queryDatabase(
    database,
    "Opening a budget",
    `insert into budgets (tenant, id, cap_nanodollars, cap_tokens, for_run) values ($1, $2, $3, $4, $5)
     on conflict (tenant, id) do nothing`,
    [tenant, id, cap.nanodollars, cap.tokens, of === "run"],
  );
}

/** A cap below what is spent refuses every further call and takes nothing back. */
export async function setBudgetCap(database: Database, tenant: string, id: string, cap: Budget["cap"]): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await inTransaction(database.calm, (client) => writeBudgetCap(client, tenant, id, cap));
    } catch (error) {
      if (attempt >= capAttempts || !isContention(error)) throw translate(error, "Changing a budget");
    }
  }
}

/** Who settles several reservations of one budget at once may stand in the way of who counts them in. */
const capAttempts = 5;

/** In the caller's transaction, the newest statement of which sees what others have committed (read committed). B7. */
export async function writeBudgetCap(
  client: Pick<PoolClient, "query">,
  tenant: string,
  id: string,
  cap: Budget["cap"],
): Promise<void> {
  await client.query("insert into budgets (tenant, id) values ($1, $2) on conflict (tenant, id) do nothing", [
    ...[tenant, id],
  ]);
  await client.query("select 1 from budgets where tenant = $1 and id = $2 for update", [tenant, id]);
  if (cap.nanodollars !== null || cap.tokens !== null) {
    // A reservation that is settled at this moment is waited for: it is then gone from here, and its spending is there for the next line.
    await client.query(
      `with counted as (
         update reservations set counted = true where tenant = $1 and budget_id = $2 and not counted returning nanodollars, tokens
       ), sums as (
         select coalesce(sum(nanodollars), 0)::bigint as nanodollars, coalesce(sum(tokens), 0)::bigint as tokens from counted
       ) update budgets b set reserved_nanodollars = b.reserved_nanodollars + s.nanodollars, reserved_tokens = b.reserved_tokens + s.tokens
       from sums s where b.tenant = $1 and b.id = $2`,
      [tenant, id],
    );
    await client.query(
      `with gone as (
         delete from spendings where tenant = $1 and budget_id = $2 returning nanodollars, tokens
       ), sums as (
         select coalesce(sum(nanodollars), 0)::bigint as nanodollars, coalesce(sum(tokens), 0)::bigint as tokens from gone
       ) update budgets b set spent_nanodollars = b.spent_nanodollars + s.nanodollars, spent_tokens = b.spent_tokens + s.tokens
       from sums s where b.tenant = $1 and b.id = $2`,
      [tenant, id],
    );
  }
  await client.query("update budgets set cap_nanodollars = $3, cap_tokens = $4 where tenant = $1 and id = $2", [
    ...[tenant, id, cap.nanodollars, cap.tokens],
  ]);
}

export async function closeBudget(database: Database, tenant: string, id: string): Promise<void> {
  await queryDatabase(database, "Closing a budget", "delete from budgets where tenant = $1 and id = $2", [tenant, id]);
}

export async function getBudget(database: Database, tenant: string, id: string): Promise<Budget | null> {
  const rows = await queryDatabase<BudgetRow>(
    database,
    "Reading a budget",
    `select g.id, g.cap_nanodollars, g.cap_tokens, u.* from budgets g cross join lateral ${spentOrReserved("g")} u
     where g.tenant = $1 and g.id = $2`,
    [tenant, id],
  );
  return rows[0] === undefined ? null : toBudget(rows[0]);
}

/** What the budget of row `g` has spent and reserved in all, by the names that the row has for it (B6). */
export const spentOrReserved = (g: string) => `(
  select ${g}.spent_nanodollars + coalesce(s.nanodollars, 0)::bigint as spent_nanodollars,
    ${g}.spent_tokens + coalesce(s.tokens, 0)::bigint as spent_tokens,
    ${g}.reserved_nanodollars + coalesce(v.nanodollars, 0)::bigint as reserved_nanodollars,
    ${g}.reserved_tokens + coalesce(v.tokens, 0)::bigint as reserved_tokens
  from (select sum(nanodollars) as nanodollars, sum(tokens) as tokens from markmill.spendings
      where tenant = ${g}.tenant and budget_id = ${g}.id) s,
    (select sum(nanodollars) as nanodollars, sum(tokens) as tokens from markmill.reservations
      where tenant = ${g}.tenant and budget_id = ${g}.id and not counted) v)`;

const budgetColumns =
  "id, cap_nanodollars, cap_tokens, spent_nanodollars, spent_tokens, reserved_nanodollars, reserved_tokens";

/**
 * FOR UPDATE returns the newest version of a row it had to wait for; a sum over reservations would be of the older snapshot. A budget that
 * got or lost its cap meanwhile is then among neither the capped nor the free ones, and `whole` is false: nothing was done, and a new
 * statement sees it. The free ones come first: who holds a capped one waits for nobody who sets a cap.
 */
const reserveText = `
with held as (
  select 1 from reservations where activity_id = $1 and call_index = $2 and claim = $8
), free as materialized (
  select id from budgets where tenant = $16 and id = any($3) and cap_nanodollars is null and cap_tokens is null
  order by id for key share
), locked as materialized (
  select ${budgetColumns} from budgets where tenant = $16 and id = any($3) and (cap_nanodollars is not null or cap_tokens is not null)
    and (select count(*) from free) >= 0
  order by id for update
), verdict as (
  select coalesce(bool_and(
      (cap_nanodollars is null or spent_nanodollars + reserved_nanodollars + $4::bigint
        <= cap_nanodollars - case when id = $9 then $6::bigint else 0 end)
      and (cap_tokens is null or spent_tokens + reserved_tokens + $5::bigint
        <= cap_tokens - case when id = $9 then $7::bigint else 0 end)), true) as passes,
    count(*) + (select count(*) from free) = (select count(*) from budgets where tenant = $16 and id = any($3)) as whole
  from locked
), raised as (
  update budgets b set reserved_nanodollars = b.reserved_nanodollars + $4, reserved_tokens = b.reserved_tokens + $5
  from locked l, verdict v where b.tenant = $16 and b.id = l.id and v.passes and v.whole and not exists (select 1 from held)
  returning b.id
), made as (
  insert into reservations (tenant, activity_id, call_index, budget_id, nanodollars, tokens, claim, counted)
  select $16, $1, $2, id, $4, $5, $8, true from raised
  union all
  select $16, $1, $2, f.id, $4, $5, $8, false from free f, verdict v
  where v.passes and v.whole and not exists (select 1 from held)
), opened as (
  insert into charges (tenant, activity_id, call_index, claim, run_id, root_id, model, state,
    prompt_tokens, completion_tokens, characters, nanodollars)
  select $16, $1, $2, $8, $10::text, $11::text, $12::text, 'open', $13::bigint, $14::bigint, $15::bigint, $4 from verdict v
  where $10::text is not null and v.whole and (v.passes or exists (select 1 from held))
  on conflict do nothing
)
select l.*, v.passes or exists (select 1 from held) as passes, v.whole from verdict v left join locked l on true`;

/** So often a budget may get or lose its cap while one call reserves. */
const reserveAttempts = 20;

/**
 * Budgets of the tenant; those that do not exist have no cap. `leave`: what this call must leave of one of them, for handlers. `charge`: its line in the
 * account, at its worst case.
 */
export async function reserve(
  database: Database,
  tenant: string,
  call: CallRef,
  budgets: readonly string[],
  want: Amount,
  leave: Amount & { readonly of: string } = { of: "", nanodollars: 0, tokens: 0 },
  charge: Charge | null = null,
): Promise<Reserved> {
  if (budgets.length === 0 && charge === null) return { kind: "reserved" };
  const values = [
    call.activityId,
    call.callIndex,
    budgets,
    want.nanodollars,
    want.tokens,
    leave.nanodollars,
    leave.tokens,
    call.claim ?? 0,
    leave.of,
    charge?.runId ?? null,
    charge?.rootId ?? null,
    charge?.model ?? null,
    charge?.promptTokens ?? null,
    charge?.completionTokens ?? null,
    charge?.characters ?? null,
    tenant,
  ];
  const query = async () => {
    for (let attempt = 1; attempt <= reserveAttempts; attempt++) {
      const { rows } = await database.hot.query<ReserveRow>({ name: "reserve", text: reserveText, values });
      if (rows.every(({ whole }) => whole)) return rows;
    }
    throw new StoreError("STORE_BUSY", "Reserving a budget: its cap changes all the time.");
  };
  const passes = (rows: readonly ReserveRow[]) => rows.every((row) => row.passes);
  try {
    // A twin of this call may reserve in between: it breaks the key, or takes what this one wanted. The second look finds it.
    const first = await query().catch((error: unknown) => (isDuplicate(error) ? null : Promise.reject(error)));
    const rows = first !== null && passes(first) ? first : await query();
    if (passes(rows)) return { kind: "reserved" };
    const over = rows.map(toBudget).map((budget) => ({ budget, code: overBy(budget, want, leave) }));
    // The run's own first: what it may not spend itself is no matter of others.
    const refusing = over.filter(({ code }) => code !== null);
    const cause = refusing.find(({ budget }) => budget.id === leave.of) ?? refusing[0];
    if (cause?.code == null) return { kind: "reserved" };
    return { kind: "refused", budget: cause.budget, code: cause.code };
  } catch (error) {
    throw translate(error, "Reserving a budget");
  }
}

/**
 * Ends the reservations `where`, in the order of B4, as `ended`. `spent`: expressions over the sums `s` of what each budget had reserved
 * for them.
 */
export const endingReservations = (where: string, spent: { readonly nanodollars: string; readonly tokens: string }) => `
gone as (
  delete from reservations where ${where} returning tenant, budget_id, nanodollars, tokens, counted
), sums as (
  select tenant, budget_id, sum(nanodollars)::bigint as nanodollars, sum(tokens)::bigint as tokens from gone where counted group by 1, 2
), noted as (
  insert into spendings (tenant, budget_id, nanodollars, tokens)
  select s.tenant, s.budget_id, ${spent.nanodollars}, ${spent.tokens} from (
    select tenant, budget_id, sum(nanodollars)::bigint as nanodollars, sum(tokens)::bigint as tokens
    from gone where not counted group by 1, 2) s
  where ${spent.nanodollars} <> 0 or ${spent.tokens} <> 0 returning 1
), locked as materialized (
  select b.tenant, b.id from budgets b where (b.tenant, b.id) in (select tenant, budget_id from sums) order by 1, 2 for update
), ended as (
  update budgets b set
    reserved_nanodollars = b.reserved_nanodollars - s.nanodollars, reserved_tokens = b.reserved_tokens - s.tokens,
    spent_nanodollars = b.spent_nanodollars + ${spent.nanodollars}, spent_tokens = b.spent_tokens + ${spent.tokens}
  from sums s join locked l on l.tenant = s.tenant and l.id = s.budget_id
  where b.tenant = s.tenant and b.id = s.budget_id returning 1
)`;

const allReserved = { nanodollars: "s.nanodollars", tokens: "s.tokens" };
const ofClaim = "activity_id = $1 and call_index = $2 and claim = coalesce($3::integer, claim)";
const ofEarlier = "activity_id = $1 and call_index = $2 and claim <= coalesce($3::integer, claim)";
const settleText = `with ${endingReservations(ofClaim, { nanodollars: "$4::bigint", tokens: "$5::bigint" })}, charged as (
  update charges set state = case when $8 then 'paid' else 'unsure' end, nanodollars = $4::bigint,
    prompt_tokens = coalesce($6::bigint, prompt_tokens), completion_tokens = coalesce($7::bigint, completion_tokens)
  where ${ofClaim} and state = 'open'
) select 1`;
const settleLeftText = `with ${endingReservations(ofEarlier, allReserved)}, charged as (
  update charges set state = 'unsure' where ${ofEarlier} and state = 'open'
  returning prompt_tokens, completion_tokens, characters, nanodollars
) select count(*)::integer as calls, coalesce(sum(prompt_tokens), 0)::bigint as "promptTokens",
  coalesce(sum(completion_tokens), 0)::bigint as "completionTokens", coalesce(sum(characters), 0)::bigint as characters,
  coalesce(sum(nanodollars), 0)::bigint as nanodollars from charged`;
const releaseText = `with ${endingReservations(ofClaim, { nanodollars: "0", tokens: "0" })}, struck as (
  delete from charges where ${ofClaim} and state = 'open'
) select 1`;
const abandoned = (alias: string) => `${alias}.created_at < clock_timestamp() - $1::float8 * interval '1 millisecond'
  and not exists (select 1 from activities a where a.id = ${alias}.activity_id and a.state in ('ready', 'claimed', 'waiting'))`;
const settleAbandonedText = `with ${endingReservations(
  `(activity_id, call_index, budget_id, claim) in (
     select v.activity_id, v.call_index, v.budget_id, v.claim from reservations v
     where ${abandoned("v")} order by v.created_at limit $2 for update of v skip locked)`,
  allReserved,
)} select 1 from ended union all select 1 from noted`;
const chargeAbandonedText = `update charges set state = 'unsure' where id in (
  select c.id from charges c where c.state = 'open' and ${abandoned("c")} order by c.id limit $2 for update of c skip locked)`;

/** What a call really was; `certain` false: the most it can have been. */
export interface Settlement extends Amount, Partial<Pick<CallUsage, "promptTokens" | "completionTokens">> {
  readonly certain?: boolean;
}

/**
 * Turns an open reservation into spending: of what it really was, or of all that this claim or an earlier one left reserved. Returns
 * what was left in the account, which is nothing unless somebody died.
 */
export async function settleReservation(
  database: Database,
  call: CallRef,
  spent: Settlement | "reserved",
): Promise<Spent> {
  if (spent === "reserved") {
    const rows = await queryHot<Spent>(database, "Settling a reservation", "settle-left", settleLeftText, keyOf(call));
    return rows[0] ?? noCalls;
  }
  const { nanodollars, tokens, promptTokens = null, completionTokens = null, certain = true } = spent;
  const values = [...keyOf(call), nanodollars, tokens, promptTokens, completionTokens, certain];
  await queryHot(database, "Settling a reservation", "settle", settleText, values);
  return noCalls;
}

/** The reservation of a call that was never made, or whose price is unknown and counts as nothing. */
export async function releaseReservation(database: Database, call: CallRef): Promise<void> {
  await queryHot(database, "Releasing a reservation", "release", releaseText, keyOf(call));
}

/** Adds spendings to the rows of their budgets; those of budgets that are gone go. Calls do not wait for it. Returns how many budgets. */
export async function gatherSpendings(database: Database): Promise<number> {
  const rows = await queryDatabase(database, "Gathering what was spent", gatherText);
  return rows.length;
}

const gatherText = `
with locked as materialized (
  select b.tenant, b.id from budgets b where (b.tenant, b.id) in (select tenant, budget_id from spendings) order by 1, 2 for no key update
), gone as (
  delete from spendings s where (s.tenant, s.budget_id) in (select tenant, id from locked)
    or not exists (select 1 from budgets b where b.tenant = s.tenant and b.id = s.budget_id)
  returning tenant, budget_id, nanodollars, tokens
)
update budgets b set spent_nanodollars = b.spent_nanodollars + s.nanodollars, spent_tokens = b.spent_tokens + s.tokens
from (
  select tenant, budget_id, sum(nanodollars)::bigint as nanodollars, sum(tokens)::bigint as tokens from gone group by 1, 2
) s join locked l on l.tenant = s.tenant and l.id = s.budget_id
where b.tenant = s.tenant and b.id = s.budget_id returning 1`;

/** Counts as spent what was reserved, so long ago, for activities that are over or gone. Returns how many budgets it changed. */
export async function settleAbandoned(database: Database, olderThanMs: number, limit = 1_000): Promise<number> {
  const doing = "Settling what was abandoned";
  const budgets = await queryDatabase(database, doing, settleAbandonedText, [olderThanMs, limit]);
  // In a statement of its own: what is left open by a kill in between is found by the next look.
  await queryDatabase(database, doing, chargeAbandonedText, [olderThanMs, limit]);
  return budgets.length;
}

const keyOf = (call: CallRef) => [call.activityId, call.callIndex, call.claim ?? null];

interface BudgetRow {
  readonly id: string;
  readonly cap_nanodollars: number | null;
  readonly cap_tokens: number | null;
  readonly spent_nanodollars: number;
  readonly spent_tokens: number;
  readonly reserved_nanodollars: number;
  readonly reserved_tokens: number;
}

/** Without a budget that has a cap, one row with nulls. */
interface ReserveRow extends BudgetRow {
  readonly passes: boolean;
  readonly whole: boolean;
}

function toBudget(row: BudgetRow): Budget {
  return {
    id: row.id,
    cap: { nanodollars: row.cap_nanodollars, tokens: row.cap_tokens },
    spent: { nanodollars: row.spent_nanodollars, tokens: row.spent_tokens },
    reserved: { nanodollars: row.reserved_nanodollars, tokens: row.reserved_tokens },
  };
}

function overBy(
  { id, cap, spent, reserved }: Budget,
  want: Amount,
  leave: Amount & { readonly of: string },
): "LIMIT_COST" | "LIMIT_TOKENS" | null {
  const left = leave.of === id ? leave : { nanodollars: 0, tokens: 0 };
  const money = spent.nanodollars + reserved.nanodollars + want.nanodollars + left.nanodollars;
  if (cap.nanodollars !== null && money > cap.nanodollars) return "LIMIT_COST";
  if (cap.tokens !== null && spent.tokens + reserved.tokens + want.tokens + left.tokens > cap.tokens)
    return "LIMIT_TOKENS";
  return null;
}

function isDuplicate(error: unknown): boolean {
  return typeof error === "object" && error !== null && "code" in error && error.code === "23505";
}
