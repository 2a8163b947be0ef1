/**
 * Limits of a run. A limit is reached when the next action would exceed it; finished work is kept. A part of money, tokens and characters
 * is reserved inside the limit for the handlers. Handlers get extra steps and time, so that a run stopped by a limit can still write its
 * report. The consumption of a called workflow also counts for its caller.
 */
import type { CallStart } from "./activity.ts";
import { hasCalls } from "./calls-in-flight.ts";
import type { Aside } from "./event.ts";
import { type Failure, failure } from "./failure.ts";
import type { Limits, Program } from "./program.ts";
import type { RunState } from "./state.ts";

/**
 * The limits that variables, parameters or the environment may set. They apply to the workflow that declares them and are never returned to
 * the caller.
 */
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

/** MAX_COST is in dollars and MAX_DURATION in seconds. The others are counts. */
const unit: Partial<Record<keyof Limits, number>> = { nanodollars: 1e9, timeMs: 1000 };
/** Ten years. */
export const longestMs = 10 * 365 * 86_400_000;
const decimal = /^[ \t]*[0-9]+(\.[0-9]+)?[ \t]*$/;

export type Settled =
  | { readonly ok: true; readonly limits: Limits }
  | { readonly ok: false; readonly failure: Failure };

/** The program's limits, replaced by the values of variables, and bounded by the caps of the request or caller. */
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

/** The steps and time that a handler may use beyond the run's limits. A run that a limit stopped can therefore still write its report. */
export function handlerAllowance(limits: Limits): Pick<Limits, "steps" | "timeMs"> {
  return { steps: 20, timeMs: limits.timeMs === null ? null : Math.ceil(limits.timeMs / 10) + 60_000 };
}

/**
 * The part of money, tokens and characters that is reserved for the program's handlers: a tenth plus a base, at most a quarter. It lies
 * inside the limit, so the run and its handlers together stay within the limit.
 */
function setAside(program: Program, limits: Limits): Required<Aside> {
  const { success, failed } = program.handlers;
  const of = (limit: number | null, base: number) =>
    limit === null || (success === null && failed === null) ? 0 : Math.floor(Math.min(limit / 4, limit / 10 + base));
  return {
    nanodollars: of(limits.nanodollars, 50_000_000),
    tokens: of(limits.tokens, 20_000),
    characters: of(limits.characters, 50_000),
  };
}

/**
 * The part of the budget that the run's next call, or the workflow it calls, must leave: the callers' reserved parts and, until its handler
 * runs, the run's own part.
 */
export function asideOf(program: Program, state: RunState): Aside {
  const { aside, phase, limits } = state;
  if (phase.is === "handling") return aside;
  const own = setAside(program, limits);
  const characters = (aside.characters ?? 0) + own.characters;
  return {
    nanodollars: aside.nanodollars + own.nanodollars,
    tokens: aside.tokens + own.tokens,
    ...(characters === 0 ? {} : { characters }),
  };
}

/** Limits from which calls reserve an amount before they start. */
export type ReservedLimits = Pick<Limits, "nanodollars" | "tokens" | "characters">;

/**
 * The limits of a run that are lower than its given caps, or null if none is lower. The budget of the caller or the request already
 * enforces a given cap. A lower limit needs a budget of its own.
 */
export function ownReserved(limits: ReservedLimits, given: Partial<ReservedLimits>): ReservedLimits | null {
  const lower = (limit: keyof ReservedLimits) => {
    const own = limits[limit];
    const cap = given[limit] ?? null;
    return own !== null && (cap === null || own < cap) ? own : null;
  };
  const own = { nanodollars: lower("nanodollars"), tokens: lower("tokens"), characters: lower("characters") };
  return Object.values(own).every((limit) => limit === null) ? null : own;
}

/**
 * Returns why the next activity may not begin, or null. `counts`: the activity counts as a step. `room`: how many more steps may begin now;
 * null means that only the run's limit applies.
 */
export function exceeded(
  program: Program,
  state: RunState,
  at: number,
  { counts, room }: { readonly counts: boolean; readonly room: number | null },
): Failure | null {
  const { limits, spent } = state;
  const handler = state.phase.is === "handling" ? state.phase : null;
  const aside = handler === null ? setAside(program, limits) : nothingAside;
  const over = (limit: "nanodollars" | "tokens" | "characters", used: number) => {
    const cap = limits[limit];
    return cap !== null && used > cap - aside[limit];
  };
  if (counts && spent.steps >= stepLimit(state)) {
    return failure("LIMIT_STEPS", `The run reached its limit of ${limits.steps} activities.`);
  }
  if (counts && room !== null && room <= 0) {
    return failure(
      "LIMIT_STEPS",
      "This workflow and the parallel workflows of its tree have reached their limit of activities.",
    );
  }
  if (over("nanodollars", spent.nanodollars)) {
    return failure("LIMIT_COST", `The budget of $${(limits.nanodollars ?? 0) / 1e9} is spent.`);
  }
  if (over("tokens", tokensOf(spent)))
    return failure("LIMIT_TOKENS", `The run reached its limit of ${limits.tokens} tokens.`);
  if (over("characters", spent.characters)) {
    return failure(
      "LIMIT_CHARACTERS",
      `The run reached its limit of ${limits.characters} sent and received characters.`,
    );
  }
  const deadline = deadlineOf(state);
  // The waiting time of a called run is known only when it returns. Until then the supervisor decides, because it can read the called run.
  if (handler === null && deadline !== null && at > deadline && !hasCalls(program, state)) {
    return failure("LIMIT_TIME", `The run took longer than ${(limits.timeMs ?? 0) / 1000} s.`);
  }
  return null;
}

/** How many steps the run and its callees may take in the current phase. */
export function stepLimit({ limits, phase }: RunState): number {
  const handler = phase.is === "stopped" && phase.was !== "doing" ? phase.was : phase;
  return handler.is === "handling" ? handler.from.steps + handlerAllowance(limits).steps : limits.steps;
}

/** Returns why a node may not begin for the `hits`-th time, or null. */
export function tooManyHits({ limits }: RunState, node: string, hits: number): Failure | null {
  return hits > limits.hits ? failure("LIMIT_HITS", `'${node}' reached its limit of ${limits.hits} visits.`) : null;
}

/** Returns why no workflow may be called from here, or null. */
export function tooDeep({ depth, limits }: RunState): Failure | null {
  return depth + 1 > limits.depth
    ? failure("LIMIT_DEPTH", `Workflows call each other more than ${limits.depth} levels deep.`)
    : null;
}

const nothingAside = { nanodollars: 0, tokens: 0, characters: 0 };

/** The time by which the run, or its handler, must end. Time in which it only waited does not count. */
export function deadlineOf({ phase, limits, startedAt, idle }: RunState): number | null {
  if (phase.is === "handling") return phase.until;
  if (phase.is === "stopped" && phase.was !== "doing") return phase.was.until;
  return limits.timeMs === null ? null : startedAt + idle.ms + limits.timeMs;
}

function tokensOf(spent: { promptTokens: number; completionTokens: number }): number {
  return spent.promptTokens + spent.completionTokens;
}

/** The remaining limits for a callee. A callee of a handler gets the rest of the handler's allowance. */
export function remainingCaps(program: Program, state: RunState, at: number): CallStart["caps"] {
  const { limits, spent, phase } = state;
  const handling = phase.is === "handling";
  const aside = handling ? nothingAside : setAside(program, limits);
  const left = (limit: number | null, used: number) => (limit === null ? null : Math.max(0, limit - used));
  const deadline = deadlineOf(state);
  return {
    steps: Math.max(0, stepLimit(state) - spent.steps),
    depth: limits.depth,
    nanodollars: left(limits.nanodollars, spent.nanodollars + aside.nanodollars),
    tokens: left(limits.tokens, tokensOf(spent) + aside.tokens),
    characters: left(limits.characters, spent.characters + aside.characters),
    timeMs: deadline === null ? null : Math.max(0, deadline - at),
  };
}
