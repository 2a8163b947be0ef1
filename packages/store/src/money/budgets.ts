/**
 * Budgets of money, tokens and characters. A call reserves its worst case before it is sent, and its real cost is booked when the reply is
 * stored. So a cap holds with any number of workers.
 *
 * B1  A reservation is made only if spent + reserved + wanted <= cap - `leave`. One statement on locked rows checks and reserves. Only the
 *     cost of a call beyond its worst case can exceed the cap.
 * B2  A reservation is made once per (activity, call index, claim), and repeating it changes nothing. It reserves from all budgets or from
 *     none.
 * B3  A reservation ends by settling (calls.ts, together with the reply) or by release, each only under the claim that made it. The
 *     reservation of a lost worker is settled as spent: by the next worker of the activity, or by the supervisor when the activity is over.
 * B4  A transaction that locks several budgets locks them in the order of their tenants and ids.
 * B5  The same statements open, settle and delete the request's line in the account (charges.ts). So the shown figures equal the booked
 *     ones, whatever crashes.
 * B6  A budget without a cap has nothing to check, so calls do not change its row: otherwise a class would pass through it one commit at a
 *     time. Its reservations are not `counted` in the row, and its spending is kept as rows in `spendings`. The total of a budget is always
 *     the row plus both (`spentOrReserved`).
 * B7  A reservation locks the row of a budget without a cap (KEY SHARE, which any number of others may hold as well). A transaction that
 *     sets a cap waits for them. It then adds all that is reserved and spent to the row before the cap becomes visible. The reservation
 *     itself stores how it must end: one that was added to the row meanwhile is subtracted from the row.
 * B8  Every run whose own limit is lower than its callers' has a budget, at any depth. A call reserves from the budgets of its run and of
 *     all its callers in one statement. Each budget keeps the share that its run and the runs below it set aside for handlers. That share
 *     is the call's `leave` minus `outer`, the part that the callers above set aside from their own budgets.
 * B9  A call reserves the characters that it sends. The length of the reply is unknown before it arrives, so it is counted when the reply
 *     is stored. So replies on their way may exceed a cap on characters.
 *
 * kill -9 while a cap is set: the transaction is rolled back, and the budget has no cap. The supervisor adds spendings to the rows of their
 * budgets (`gatherSpendings`) in one statement, so that they do not pile up. After kill -9 there, they are unchanged.
 */
import type { ReservedLimits } from "@markmill/engine";
import type { PoolClient } from "pg";
import type { Database } from "../database/database.ts";
import { queryDatabase, queryHot } from "../database/query-database.ts";
import { translate } from "../database/store-error.ts";
import { inContendedTransaction } from "../database/transaction.ts";
import { type CallUsage, noCalls, type Spent } from "./charges.ts";

export interface Amount {
  readonly nanodollars: number;
  readonly tokens: number;
  /** Absent: none. */
  readonly characters?: number;
}

export interface Budget {
  readonly id: string;
  readonly cap: { readonly nanodollars: number | null; readonly tokens: number | null };
  readonly spent: Amount;
  readonly reserved: Amount;
  /** Absent: no cap on characters. */
  readonly characters?: { readonly cap: number; readonly spent: number; readonly reserved: number };
}

export interface CallRef {
  readonly activityId: number;
  readonly callIndex: number;
  /** The claim under which the call is made. Absent: any, for callers that do not claim. */
  readonly claim?: number;
}

/** The budget of one run, deleted with the run. `outer`: see B8. */
export async function openRunBudget(
  database: Database,
  tenant: string,
  runId: string,
  cap: ReservedLimits,
  outer: Amount = nothing,
): Promise<void> {
  await queryDatabase(
    database,
    "Opening a budget",
    `insert into budgets (tenant, id, cap_nanodollars, cap_tokens, cap_characters, outer_nanodollars, outer_tokens, outer_characters, for_run)
     values ($1, $2, $3, $4, $5, $6, $7, $8, true) on conflict (tenant, id) do nothing`,
    [
      ...[tenant, runId, cap.nanodollars, cap.tokens, cap.characters],
      ...[outer.nanodollars, outer.tokens, outer.characters ?? 0],
    ],
  );
}

const nothing: Amount = { nanodollars: 0, tokens: 0 };

/** `of`: the run that owns the budget, which is deleted with it. */
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

/** A cap below the spent amount refuses every further call and takes nothing back. */
export async function setBudgetCap(database: Database, tenant: string, id: string, cap: Budget["cap"]): Promise<void> {
  try {
    await inContendedTransaction(database.calm, (client) => writeBudgetCap(client, tenant, id, cap));
  } catch (error) {
    throw translate(error, "Changing a budget");
  }
}

/**
 * Runs in the caller's transaction, with read committed: its newest statement sees what others have committed. See B7. A transaction that
 * settles several reservations of one budget may deadlock with this one, so the caller must be ready to start its transaction again.
 */
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
    // Wait for a reservation that is settled at this moment: afterwards it is gone from here, and the next statement finds its spending.
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
    `select g.id, g.cap_nanodollars, g.cap_tokens, g.cap_characters, g.spent_characters, g.reserved_characters, u.* from budgets g cross join lateral ${spentOrReserved("g")} u
     where g.tenant = $1 and g.id = $2`,
    [tenant, id],
  );
  return rows[0] === undefined ? null : toBudget(rows[0]);
}

/** The total that the budget of row `g` has spent and reserved, in the columns of the row (B6). */
export const spentOrReserved = (g: string) => `(
  select ${g}.spent_nanodollars + coalesce(s.nanodollars, 0)::bigint as spent_nanodollars,
    ${g}.spent_tokens + coalesce(s.tokens, 0)::bigint as spent_tokens,
    ${g}.reserved_nanodollars + coalesce(v.nanodollars, 0)::bigint as reserved_nanodollars,
    ${g}.reserved_tokens + coalesce(v.tokens, 0)::bigint as reserved_tokens
  from (select sum(nanodollars) as nanodollars, sum(tokens) as tokens from markmill.spendings
      where tenant = ${g}.tenant and budget_id = ${g}.id) s,
    (select sum(nanodollars) as nanodollars, sum(tokens) as tokens from markmill.reservations
      where tenant = ${g}.tenant and budget_id = ${g}.id and not counted) v)`;

/**
 * Ends the reservations `v` of `those`, in the order of B4, as `ended`. `spent`: expressions over `s`, the reservation of one call in one
 * budget.
 */
export const endingReservations = (
  those: string,
  spent: { readonly nanodollars: string; readonly tokens: string; readonly characters: string },
) => `
gone as (
  delete from reservations v ${those} returning v.*
), each as (
  select s.tenant, s.budget_id, s.counted, s.nanodollars, s.tokens, s.characters,
    ${spent.nanodollars} as spent_nanodollars, ${spent.tokens} as spent_tokens, ${spent.characters} as spent_characters
  from (
    select tenant, budget_id, counted, activity_id, call_index, sum(nanodollars) as nanodollars, sum(tokens) as tokens,
      sum(characters) as characters
    from gone group by 1, 2, 3, 4, 5) s
), sums as materialized (
  select tenant, budget_id, counted, sum(nanodollars)::bigint as nanodollars, sum(tokens)::bigint as tokens,
    sum(characters)::bigint as characters, sum(spent_nanodollars)::bigint as spent_nanodollars,
    sum(spent_tokens)::bigint as spent_tokens, sum(spent_characters)::bigint as spent_characters
  from each group by 1, 2, 3
), noted as (
  insert into spendings (tenant, budget_id, nanodollars, tokens)
  select tenant, budget_id, spent_nanodollars, spent_tokens from sums
  where not counted and (spent_nanodollars <> 0 or spent_tokens <> 0) returning 1
), locked as materialized (
  select b.tenant, b.id from budgets b where (b.tenant, b.id) in (select tenant, budget_id from sums where counted) order by 1, 2 for update
), ended as (
  update budgets b set
    reserved_nanodollars = b.reserved_nanodollars - s.nanodollars, reserved_tokens = b.reserved_tokens - s.tokens,
    spent_nanodollars = b.spent_nanodollars + s.spent_nanodollars, spent_tokens = b.spent_tokens + s.spent_tokens,
    reserved_characters = b.reserved_characters - s.characters, spent_characters = b.spent_characters + s.spent_characters
  from sums s join locked l on l.tenant = s.tenant and l.id = s.budget_id
  where s.counted and b.tenant = s.tenant and b.id = s.budget_id returning 1
)`;

const allReserved = { nanodollars: "s.nanodollars", tokens: "s.tokens", characters: "s.characters" };
const ofClaim = "activity_id = $1 and call_index = $2 and claim = coalesce($3::integer, claim)";
const ofEarlier = "activity_id = $1 and call_index = $2 and claim <= coalesce($3::integer, claim)";
const settleText = `with ${endingReservations(`where ${ofClaim}`, { nanodollars: "$4::bigint", tokens: "$5::bigint", characters: "s.characters" })}, charged as (
  update charges set state = case when $8 then 'paid' else 'unsure' end, nanodollars = $4::bigint,
    prompt_tokens = coalesce($6::bigint, prompt_tokens), completion_tokens = coalesce($7::bigint, completion_tokens)
  where ${ofClaim} and state = 'open'
) select 1`;
const settleLeftText = `with ${endingReservations(`where ${ofEarlier}`, allReserved)}, charged as (
  update charges set state = 'unsure' where ${ofEarlier} and state = 'open'
  returning prompt_tokens, completion_tokens, characters, nanodollars
) select count(*)::integer as calls, coalesce(sum(prompt_tokens), 0)::bigint as "promptTokens",
  coalesce(sum(completion_tokens), 0)::bigint as "completionTokens", coalesce(sum(characters), 0)::bigint as characters,
  coalesce(sum(nanodollars), 0)::bigint as nanodollars from charged`;
const releaseText = `with ${endingReservations(`where ${ofClaim}`, { nanodollars: "0", tokens: "0", characters: "0" })}, struck as (
  delete from charges where ${ofClaim} and state = 'open'
) select 1`;
const abandoned = (alias: string) => `${alias}.created_at < clock_timestamp() - $1::float8 * interval '1 millisecond'
  and not exists (select 1 from activities a where a.id = ${alias}.activity_id and a.state in ('ready', 'claimed', 'waiting'))`;
const settleAbandonedText = `with ${endingReservations(
  `where (activity_id, call_index, budget_id, claim) in (
     select v.activity_id, v.call_index, v.budget_id, v.claim from reservations v
     where ${abandoned("v")} order by v.created_at limit $2 for update of v skip locked)`,
  allReserved,
)} select 1 from ended union all select 1 from noted`;
const chargeAbandonedText = `update charges set state = 'unsure' where id in (
  select c.id from charges c where c.state = 'open' and ${abandoned("c")} order by c.id limit $2 for update of c skip locked)`;

/** The real cost of a call. `certain` false: the highest possible cost. */
export interface Settlement extends Amount, Partial<Pick<CallUsage, "promptTokens" | "completionTokens">> {
  readonly certain?: boolean;
}

/**
 * Turns an open reservation into spending: the real cost, or everything that this claim or an earlier one left reserved. Returns the amount
 * that was left reserved, which is zero unless a worker crashed.
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

/** Ends the reservation of a call that was never sent, or whose price is unknown and counts as zero. */
export async function releaseReservation(database: Database, call: CallRef): Promise<void> {
  await queryHot(database, "Releasing a reservation", "release", releaseText, keyOf(call));
}

/**
 * Adds spendings to the rows of their budgets, and deletes those of deleted budgets. Calls do not wait for it. Returns the number of
 * budgets.
 */
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

/** Counts old reservations of finished or deleted activities as spent. Returns the number of changed budgets. */
export async function settleAbandoned(database: Database, olderThanMs: number, limit = 1_000): Promise<number> {
  const doing = "Settling what was abandoned";
  const budgets = await queryDatabase(database, doing, settleAbandonedText, [olderThanMs, limit]);
  // A statement of its own: after a kill in between, the next cycle finds the open lines.
  await queryDatabase(database, doing, chargeAbandonedText, [olderThanMs, limit]);
  return budgets.length;
}

const keyOf = (call: CallRef) => [call.activityId, call.callIndex, call.claim ?? null];

export interface BudgetRow {
  readonly id: string;
  readonly cap_nanodollars: number | null;
  readonly cap_tokens: number | null;
  readonly spent_nanodollars: number;
  readonly spent_tokens: number;
  readonly reserved_nanodollars: number;
  readonly reserved_tokens: number;
  /** null or absent: no cap. */
  readonly cap_characters?: number | null;
  readonly spent_characters?: number;
  readonly reserved_characters?: number;
}

export function toBudget(row: BudgetRow): Budget {
  return {
    id: row.id,
    cap: { nanodollars: row.cap_nanodollars, tokens: row.cap_tokens },
    spent: { nanodollars: row.spent_nanodollars, tokens: row.spent_tokens },
    reserved: { nanodollars: row.reserved_nanodollars, tokens: row.reserved_tokens },
    ...(row.cap_characters == null
      ? {}
      : {
          characters: {
            cap: row.cap_characters,
            spent: row.spent_characters ?? 0,
            reserved: row.reserved_characters ?? 0,
          },
        }),
  };
}
