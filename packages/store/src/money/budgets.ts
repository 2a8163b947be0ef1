/**
 * Budgets of money, tokens and characters. A call reserves its worst case before it is made and settles what it cost when the reply is stored, so
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
 * B8  Every run whose own limit is lower than its callers' has a budget, to any depth. A call reserves from the budgets of its run and of all
 *     its callers in one statement. Each budget keeps what its run and the runs below it set aside for handlers: the `leave` of the call
 *     without the `outer` part, which the callers above set aside from their own budgets.
 * B9  Of characters a call reserves those it sends. How long the reply is nobody knows before: it is counted when it is stored. So replies
 *     that are on their way may go beyond a cap on characters.
 *
 * kill -9 while a cap is set: the transaction is gone, and the budget has none. The supervisor adds spendings to their rows (`gatherSpendings`)
 * in one statement, so that they do not pile up; killed there, they are as they were.
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
  /** Absent: they have no cap. */
  readonly characters?: { readonly cap: number; readonly spent: number; readonly reserved: number };
}

export interface CallRef {
  readonly activityId: number;
  readonly callIndex: number;
  /** The claim the call is made under. Absent: any, for those who do not claim. */
  readonly claim?: number;
}

/** The budget of one run: it goes with the run. `outer`: B8. */
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
  try {
    await inContendedTransaction(database.calm, (client) => writeBudgetCap(client, tenant, id, cap));
  } catch (error) {
    throw translate(error, "Changing a budget");
  }
}

/**
 * In the caller's transaction, the newest statement of which sees what others have committed (read committed). B7. Who settles several
 * reservations of one budget at once may stand in the way of who counts them in: the caller's transaction is one that is begun anew.
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
    `select g.id, g.cap_nanodollars, g.cap_tokens, g.cap_characters, g.spent_characters, g.reserved_characters, u.* from budgets g cross join lateral ${spentOrReserved("g")} u
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

/**
 * Ends `those` reservations `v`, in the order of B4, as `ended`. `spent`: expressions over `s`, what one call had reserved of one budget.
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

export interface BudgetRow {
  readonly id: string;
  readonly cap_nanodollars: number | null;
  readonly cap_tokens: number | null;
  readonly spent_nanodollars: number;
  readonly spent_tokens: number;
  readonly reserved_nanodollars: number;
  readonly reserved_tokens: number;
  /** null, or absent: without a cap. */
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
