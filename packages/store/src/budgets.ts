/**
 * Budgets of money and tokens. A call reserves its worst case before it is made and settles what it cost when the reply is stored, so
 * a cap is never overspent however many workers call at once.
 *
 * B1  spent + reserved <= cap, always: the check and the change are one statement on locked rows.
 * B2  A reservation is made once per (activity, call index); repeating it changes nothing. It is all budgets or none.
 * B3  A reservation ends by settling (calls.ts, together with the reply) or by release.
 */
import type { LimitCode } from "@markmill/engine";
import { askDatabase } from "./ask-database.ts";
import type { Database } from "./database.ts";
import { translate } from "./store-error.ts";

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
}

export type Reserved =
  | { readonly kind: "reserved" }
  | {
      readonly kind: "refused";
      readonly budget: Budget;
      readonly code: Extract<LimitCode, "LIMIT_COST" | "LIMIT_TOKENS">;
    };

export async function openBudget(database: Database, id: string, cap: Budget["cap"]): Promise<void> {
  await askDatabase(
    database,
    "Opening a budget",
    "insert into budgets (id, cap_nanodollars, cap_tokens) values ($1, $2, $3) on conflict (id) do nothing",
    [id, cap.nanodollars, cap.tokens],
  );
}

/** A cap below what is spent refuses every further call and takes nothing back. */
export async function setBudgetCap(database: Database, id: string, cap: Budget["cap"]): Promise<void> {
  await askDatabase(
    database,
    "Changing a budget",
    "insert into budgets (id, cap_nanodollars, cap_tokens) values ($1, $2, $3) on conflict (id) do update set cap_nanodollars = excluded.cap_nanodollars, cap_tokens = excluded.cap_tokens",
    [id, cap.nanodollars, cap.tokens],
  );
}

export async function closeBudget(database: Database, id: string): Promise<void> {
  await askDatabase(database, "Closing a budget", "delete from budgets where id = $1", [id]);
}

export async function getBudget(database: Database, id: string): Promise<Budget | null> {
  const rows = await askDatabase<BudgetRow>(database, "Reading a budget", "select * from budgets where id = $1", [id]);
  return rows[0] === undefined ? null : toBudget(rows[0]);
}

/** FOR UPDATE returns the newest version of a row it had to wait for; a sum over reservations would be of the older snapshot. */
const reserveText = `
with held as (
  select 1 from reservations where activity_id = $1 and call_index = $2
), locked as materialized (
  select * from budgets where id = any($3) order by id for update
), verdict as (
  select coalesce(bool_and(
      (cap_nanodollars is null or spent_nanodollars + reserved_nanodollars + $4::bigint <= cap_nanodollars + $6::bigint)
      and (cap_tokens is null or spent_tokens + reserved_tokens + $5::bigint <= cap_tokens + $7::bigint)), true) as passes
  from locked
), raised as (
  update budgets b set reserved_nanodollars = b.reserved_nanodollars + $4, reserved_tokens = b.reserved_tokens + $5
  from locked l, verdict v where b.id = l.id and v.passes and not exists (select 1 from held)
  returning b.id
), made as (
  insert into reservations (activity_id, call_index, budget_id, nanodollars, tokens) select $1, $2, id, $4, $5 from raised
)
select l.*, v.passes or exists (select 1 from held) as passes from locked l, verdict v`;

/** Budgets that do not exist have no cap. `above`: what this call may go beyond the caps (a handler's allowance). */
export async function reserve(
  database: Database,
  call: CallRef,
  budgets: readonly string[],
  want: Amount,
  above: Amount = { nanodollars: 0, tokens: 0 },
): Promise<Reserved> {
  if (budgets.length === 0) return { kind: "reserved" };
  const values = [
    call.activityId,
    call.callIndex,
    budgets,
    want.nanodollars,
    want.tokens,
    above.nanodollars,
    above.tokens,
  ];
  const query = () =>
    database.hot.query<BudgetRow & { passes: boolean }>({ name: "reserve", text: reserveText, values });
  try {
    // A twin of this call may reserve in between: it breaks the key, or takes what this one wanted. The second look finds it.
    const first = await query().catch((error: unknown) => (isDuplicate(error) ? null : Promise.reject(error)));
    const { rows } = first?.rows.every((row) => row.passes) ? first : await query();
    if (rows.every((row) => row.passes)) return { kind: "reserved" };
    const over = rows.map(toBudget).map((budget) => ({ budget, code: overBy(budget, want) }));
    const cause = over.find(({ code }) => code !== null);
    if (cause?.code == null) return { kind: "reserved" };
    return { kind: "refused", budget: cause.budget, code: cause.code };
  } catch (error) {
    throw translate(error, "Reserving a budget");
  }
}

/** Turns an open reservation into spending: of what it really was, or of all that was reserved. None open: changes nothing. */
export async function settleReservation(database: Database, call: CallRef, spent: Amount | "reserved"): Promise<void> {
  const known = spent === "reserved" ? null : spent;
  await askDatabase(
    database,
    "Settling a reservation",
    `with gone as (delete from reservations where activity_id = $1 and call_index = $2 returning *)
     update budgets b set reserved_nanodollars = b.reserved_nanodollars - g.nanodollars, reserved_tokens = b.reserved_tokens - g.tokens,
       spent_nanodollars = b.spent_nanodollars + coalesce($3::bigint, g.nanodollars), spent_tokens = b.spent_tokens + coalesce($4::bigint, g.tokens)
     from gone g where b.id = g.budget_id`,
    [call.activityId, call.callIndex, known?.nanodollars ?? null, known?.tokens ?? null],
  );
}

/** The reservation of a call that was never made, or whose price is unknown and counts as nothing. */
export async function releaseReservation(database: Database, call: CallRef): Promise<void> {
  await askDatabase(
    database,
    "Releasing a reservation",
    `with gone as (delete from reservations where activity_id = $1 and call_index = $2 returning *)
     update budgets b set reserved_nanodollars = b.reserved_nanodollars - g.nanodollars, reserved_tokens = b.reserved_tokens - g.tokens
     from gone g where b.id = g.budget_id`,
    [call.activityId, call.callIndex],
  );
}

interface BudgetRow {
  readonly id: string;
  readonly cap_nanodollars: number | null;
  readonly cap_tokens: number | null;
  readonly spent_nanodollars: number;
  readonly spent_tokens: number;
  readonly reserved_nanodollars: number;
  readonly reserved_tokens: number;
}

function toBudget(row: BudgetRow): Budget {
  return {
    id: row.id,
    cap: { nanodollars: row.cap_nanodollars, tokens: row.cap_tokens },
    spent: { nanodollars: row.spent_nanodollars, tokens: row.spent_tokens },
    reserved: { nanodollars: row.reserved_nanodollars, tokens: row.reserved_tokens },
  };
}

function overBy({ cap, spent, reserved }: Budget, want: Amount): "LIMIT_COST" | "LIMIT_TOKENS" | null {
  if (cap.nanodollars !== null && spent.nanodollars + reserved.nanodollars + want.nanodollars > cap.nanodollars) {
    return "LIMIT_COST";
  }
  if (cap.tokens !== null && spent.tokens + reserved.tokens + want.tokens > cap.tokens) return "LIMIT_TOKENS";
  return null;
}

function isDuplicate(error: unknown): boolean {
  return typeof error === "object" && error !== null && "code" in error && error.code === "23505";
}
