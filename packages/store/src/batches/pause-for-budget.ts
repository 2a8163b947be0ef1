/**
 * Handles a call that a batch's budget refuses. The spending of other students never ends a student's run. If calls under way only reserve
 * the money, the run waits for them. If the money is spent, the run is held and the batch is paused, with the reason.
 *
 * The pause is written only while the budget still refuses the amount: a cap that was raised in between causes no pause.
 */

import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";
import type { Amount, Budget } from "../money/budgets.ts";

/** none: no batch has this budget. */
export type Refused = "none" | "reserved" | "spent";

export async function pauseForBudget(
  database: Database,
  tenant: string,
  budget: Budget,
  want: Amount,
  reason: string,
): Promise<Refused> {
  const { cap, spent } = budget;
  const over = (most: number | null, used: number) => most !== null && used > most;
  const isSpent =
    over(cap.nanodollars, spent.nanodollars + want.nanodollars) || over(cap.tokens, spent.tokens + want.tokens);
  const rows = await queryDatabase(
    database,
    "Pausing a batch",
    `with paused as (
       update batches b set state = 'paused', paused_by = 'budget', reason = $3
       where b.tenant = $1 and b.id = $2 and b.state = 'open' and $6 and exists (
         select 1 from budgets g where g.tenant = $1 and g.id = $2
           and (g.spent_nanodollars + $4::bigint > g.cap_nanodollars or g.spent_tokens + $5::bigint > g.cap_tokens))
     ) select 1 from batches where tenant = $1 and id = $2`,
    [tenant, budget.id, reason, want.nanodollars, want.tokens, isSpent],
  );
  if (rows.length === 0) return "none";
  return isSpent ? "spent" : "reserved";
}
