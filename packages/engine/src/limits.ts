/**
 * Limits. A limit is reached when the next thing would go beyond it; what was done stays done. A handler has an allowance of its
 * own above what the run had spent when it began, so that a run stopped by a limit can still write its report.
 */
import type { CallStart } from "./activity.ts";
import { type Failure, failure } from "./failure.ts";
import type { Limits, Program } from "./program.ts";
import type { RunState, Spent } from "./state.ts";

/** Settings by variable, parameter or environment: they count for the workflow that declares them and never travel back. */
const limitSettings = {
  MAX_ACTIVITY_HITS: "hits",
  MAX_STEPS: "steps",
  MAX_CALL_DEPTH: "depth",
  MAX_COST: "nanodollars",
  MAX_TOKENS: "tokens",
  MAX_CHARACTERS: "characters",
  MAX_DURATION: "timeMs",
} as const satisfies Record<string, keyof Limits>;

export const limitSettingNames: readonly string[] = Object.keys(limitSettings);

export function isSetting(name: string): boolean {
  return Object.hasOwn(limitSettings, name) || name.startsWith("AI_");
}

/** MAX_COST is dollars, MAX_DURATION seconds; the rest are counts. */
const unit: Partial<Record<keyof Limits, number>> = { nanodollars: 1e9, timeMs: 1000 };
/** Ten years. */
const longestMs = 10 * 365 * 86_400_000;
const decimal = /^[ \t]*[0-9]+(\.[0-9]+)?[ \t]*$/;

export type Settled =
  | { readonly ok: true; readonly limits: Limits }
  | { readonly ok: false; readonly failure: Failure };

/** The program's limits, what variables say in their place, under the caps of the request or caller. */
export function settleLimits(
  program: Program,
  settings: Readonly<Record<string, string>>,
  caps: Partial<Limits>,
): Settled {
  const limits: Record<string, number | null> = { ...program.limits };
  for (const [name, limit] of Object.entries(limitSettings)) {
    const value = settings[name];
    if (value === undefined) continue;
    if (!decimal.test(value)) {
      return {
        ok: false,
        failure: failure("SETTING_INVALID", `${name} must be a number, but it is '${value.slice(0, 40)}'.`),
      };
    }
    const amount = Math.floor(Number(value) * (unit[limit] ?? 1));
    if (amount > (limit === "timeMs" ? longestMs : Number.MAX_SAFE_INTEGER)) {
      return { ok: false, failure: failure("SETTING_INVALID", `${name} is too large: '${value.slice(0, 40)}'.`) };
    }
    limits[limit] = amount;
  }
  for (const [limit, cap] of Object.entries(caps)) {
    if (cap === null || cap === undefined) continue;
    const own = limits[limit];
    limits[limit] = own === null || own === undefined ? cap : Math.min(own, cap);
  }
  return { ok: true, limits: limits as unknown as Limits };
}

/** What a handler may spend on top. Money in nanodollars. */
export function handlerAllowance(limits: Limits): Omit<Limits, "hits" | "depth"> {
  const above = (limit: number | null, base: number) => (limit === null ? null : Math.ceil(limit / 10) + base);
  return {
    steps: 20,
    nanodollars: above(limits.nanodollars, 50_000_000),
    tokens: above(limits.tokens, 20_000),
    characters: above(limits.characters, 50_000),
    timeMs: above(limits.timeMs, 60_000),
  };
}

/** Why the next activity may not begin, or null. */
export function exceeded(state: RunState, at: number): Failure | null {
  const { limits, spent } = state;
  const handler = state.phase.is === "handling" ? state.phase : null;
  const allowance = handler === null ? null : handlerAllowance(limits);
  const cap = (limit: "nanodollars" | "tokens" | "characters", used: (spent: Spent) => number) =>
    handler === null || allowance === null
      ? limits[limit]
      : allowance[limit] === null
        ? null
        : used(handler.from) + (allowance[limit] ?? 0);
  const over = (limit: number | null, used: number) => limit !== null && used > limit;

  const steps = allowance === null || handler === null ? limits.steps : handler.from.steps + allowance.steps;
  if (spent.steps >= steps) return failure("LIMIT_STEPS", `More than ${limits.steps} activities in one run.`);
  if (
    over(
      cap("nanodollars", (of) => of.nanodollars),
      spent.nanodollars,
    )
  ) {
    return failure("LIMIT_COST", `The budget of $${(limits.nanodollars ?? 0) / 1e9} is spent.`);
  }
  if (over(cap("tokens", tokensOf), tokensOf(spent)))
    return failure("LIMIT_TOKENS", `More than ${limits.tokens} tokens used.`);
  if (
    over(
      cap("characters", (of) => of.characters),
      spent.characters,
    )
  ) {
    return failure("LIMIT_CHARACTERS", `More than ${limits.characters} characters sent and received.`);
  }
  if (handler === null && limits.timeMs !== null && at > state.startedAt + limits.timeMs) {
    return failure("LIMIT_TIME", `The run took longer than ${limits.timeMs / 1000} s.`);
  }
  return null;
}

export function tokensOf(spent: { promptTokens: number; completionTokens: number }): number {
  return spent.promptTokens + spent.completionTokens;
}

/** What is left for a callee; to one that a handler calls, of the handler's allowance. */
export function remainingCaps(state: RunState, at: number): CallStart["caps"] {
  const { limits, spent, phase } = state;
  const left = (limit: number | null, used: number) => (limit === null ? null : Math.max(0, limit - used));
  if (phase.is === "handling") {
    const allowance = handlerAllowance(limits);
    return {
      steps: Math.max(0, allowance.steps - (spent.steps - phase.from.steps)),
      depth: limits.depth,
      nanodollars: left(allowance.nanodollars, spent.nanodollars - phase.from.nanodollars),
      tokens: left(allowance.tokens, tokensOf(spent) - tokensOf(phase.from)),
      characters: left(allowance.characters, spent.characters - phase.from.characters),
      timeMs: phase.until === null ? null : Math.max(0, phase.until - at),
    };
  }
  return {
    steps: limits.steps,
    depth: limits.depth,
    nanodollars: left(limits.nanodollars, spent.nanodollars),
    tokens: left(limits.tokens, tokensOf(spent)),
    characters: left(limits.characters, spent.characters),
    timeMs: left(limits.timeMs, at - state.startedAt),
  };
}
