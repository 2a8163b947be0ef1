/**
 * A model's rate limit, shared by all workers: two token buckets (requests and tokens per minute) in one row. Whoever asks is served in
 * the order of asking: the bucket goes below zero and the answer says how long to wait before calling.
 */
import { askDatabase } from "./ask-database.ts";
import type { Database } from "./database.ts";

export interface Rate {
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
}

const text = `
insert into rates as r (model, requests, tokens, filled_at)
values ($1, coalesce($2::float8, 0) - 1, coalesce($3::float8, 0) - $4::float8, clock_timestamp())
on conflict (model) do update set
  requests = least(coalesce($2::float8, 0), r.requests + coalesce($2::float8, 0) * extract(epoch from clock_timestamp() - r.filled_at)::float8 / 60) - 1,
  tokens = least(coalesce($3::float8, 0), r.tokens + coalesce($3::float8, 0) * extract(epoch from clock_timestamp() - r.filled_at)::float8 / 60) - $4::float8,
  filled_at = clock_timestamp()
returning ceil(1000 * greatest(0,
  case when $2::float8 is null then 0 else -r.requests / $2::float8 * 60 end,
  case when $3::float8 is null then 0 else -r.tokens / $3::float8 * 60 end,
  extract(epoch from r.paused_until - clock_timestamp())::float8))::float8 as wait_ms`;

/** Takes one request of so many tokens. Returns the milliseconds to wait before it may be made. */
export async function takeRate(database: Database, model: string, rate: Rate, tokens: number): Promise<number> {
  const rows = await askDatabase<{ wait_ms: number }>(database, "Asking a rate limit", text, [
    model,
    rate.requestsPerMinute,
    rate.tokensPerMinute,
    tokens,
  ]);
  return rows[0]?.wait_ms ?? 0;
}

/** The model said "not before": every worker waits. */
export async function pauseRate(database: Database, model: string, ms: number): Promise<void> {
  await askDatabase(
    database,
    "Pausing a rate limit",
    `insert into rates as r (model, requests, tokens, filled_at, paused_until)
     values ($1, 0, 0, clock_timestamp(), clock_timestamp() + $2::float8 * interval '1 millisecond')
     on conflict (model) do update set paused_until = greatest(r.paused_until, excluded.paused_until)`,
    [model, ms],
  );
}
