/** Writes the decisions, all of them or none (commit-statement.ts). */
import type { Event } from "@markmill/engine";
import type { Pool, PoolClient } from "pg";
import { toJson } from "../database/neutral.ts";
import { inTransaction } from "../database/transaction.ts";
import { addRows } from "./add-rows.ts";
import { withIds } from "./advance.ts";
import type { CommitAnswer } from "./commit-answer.ts";
import { commitStatement, type Statement } from "./commit-statement.ts";
import type { CommitterParts } from "./committer.ts";
import { type Decided, type Decision, decideEvent } from "./decide.ts";
import { lockOrphans, lockTree } from "./load-runs.ts";
import { noRows } from "./rows.ts";

export interface Written {
  readonly answers: readonly CommitAnswer[];
  /** Decisions for the called runs that this event cancels (G3). */
  readonly callees: readonly Decision[];
}

/** Gives ids to inline activities, which have no row to get an id from. */
export async function numbered(parts: CommitterParts, group: readonly Decided[]): Promise<readonly Decided[]> {
  const wanted = group.reduce((sum, { advance }) => sum + advance.opened.length, 0);
  if (wanted === 0) return group;
  const drawn = await parts.ids.draw(wanted);
  let used = 0;
  return group.map((decided) => {
    const from = used;
    used += decided.advance.opened.length;
    return { ...decided, advance: withIds(decided.advance, drawn.slice(from, used)) };
  });
}

export async function writeDecided(parts: CommitterParts, group: readonly Decided[]): Promise<Written> {
  const { database } = parts;
  if (!group.some(({ advance }) => advance.withdraws)) {
    return { answers: await writeOn(parts, database.hot, group), callees: [] };
  }
  return await inTransaction(database.hot, (client) => writeWithCallees(parts, client, group));
}

/** Uses the transaction of the caller. */
export async function writeWithin(parts: CommitterParts, client: PoolClient, one: Decided): Promise<Written> {
  if (one.advance.withdraws) return await writeWithCallees(parts, client, [one]);
  return { answers: await writeOn(parts, client, [one]), callees: [] };
}

async function writeOn(
  { worker, leaseMs }: CommitterParts,
  on: Pool | PoolClient,
  decisions: readonly (Decision | Decided)[],
): Promise<readonly CommitAnswer[]> {
  const rows = noRows();
  for (const decision of decisions.toSorted(byRun)) {
    const queue = "request" in decision ? decision.request.claimsAhead : null;
    addRows(rows, toJson, decision.advance, decision.body, queue === null ? null : { queue, worker, leaseMs });
  }
  return (await on.query<CommitAnswer>(mutable(commitStatement(rows, toJson)))).rows;
}

/**
 * See G3. A run that is called meanwhile is either found here, or its creation finds the calling activity void (load-runs.ts, creations).
 */
async function writeWithCallees(
  parts: CommitterParts,
  client: PoolClient,
  first: readonly Decided[],
): Promise<Written> {
  const { cache, clock, definitions } = parts;
  const answers: CommitAnswer[] = [];
  const callees: Decision[] = [];
  await lockTree(
    client,
    first.map(({ advance }) => advance.run.id),
  );
  for (let wave: readonly (Decision | Decided)[] = first; wave.length > 0; ) {
    const written = await writeOn(parts, client, wave);
    answers.push(...written);
    const moved = new Set(written.flatMap((row) => (row.what === "moved" ? [row.run_id] : [])));
    for (const { advance } of wave) {
      const { run, state } = advance;
      if (!moved.has(run.id)) continue;
      cache.delete(run.id);
      const over = state.phase.is === "ended" || state.phase.is === "handling";
      const announced = JSON.stringify({ runId: run.id, epoch: state.epoch, over });
      await client.query("select pg_notify('markmill_control', $1)", [announced]);
    }
    const orphans = await lockOrphans(client, definitions, [...moved]);
    wave = [...orphans.values()].flatMap((child) => {
      const message = "The calling run continued without this run.";
      const event: Event = { type: "run.cancelled", at: clock.now(), seed: 0, message };
      return decideEvent(child, event, null) ?? [];
    });
    callees.push(...wave);
  }
  return { answers, callees };
}

const byRun = (a: Decision, b: Decision): number => (a.advance.run.id < b.advance.run.id ? -1 : 1);

/** The types of pg expect mutable values. */
function mutable(statement: Statement) {
  return { ...statement, values: [...statement.values] };
}
