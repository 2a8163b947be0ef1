/**
 * The stored form of a run's state. It leaves out the variables that have rows (kept-variables.ts) and all fields that still have their
 * initial value, which are most of them. Every step writes it. If you change `initialState`, you change the meaning of open runs: raise the
 * form and write an upcaster.
 *
 * K1  A kept state begins with its form, so that the server can read the form without the rest (`formOf`). The first form had no number.
 * K2  An upcaster turns each older form into the next one, step by step, up to the newest. A newer form is refused: its run is left to the
 *     workers that know the form, and it is neither failed nor changed.
 */
import { initialState, type RunState } from "@markmill/engine";
import { StoreError } from "../database/store-error.ts";
import { inState } from "./kept-variables.ts";

export type KeptState = Partial<RunState> & { readonly form?: number };

/**
 * Form 2 added the form number. Its new fields have a usual value (`bounds`, `aside`, `inherited`, `patienceMs`, `idle`). The one exception
 * is the result before the handler began, which form 1 did not store apart.
 */
export const stateForm = 2;

/** A state in its stored form, with all its variables. */
type Upcaster = (kept: KeptState) => KeptState;

/** Keyed by the form they accept. Each returns the next form. */
const upcasters: Readonly<Record<number, Upcaster>> = {
  1: (kept) => {
    const { handler: _, ...rest } = kept as KeptState & { readonly handler?: boolean };
    const { phase, variables = {} } = rest;
    if (phase === undefined) return rest;
    const result = variables.RESULT ?? "";
    const ended = { result, word: null, RESULT: result, ERROR: variables.ERROR ?? null };
    if (phase.is === "handling") return { ...rest, phase: { ...phase, ended } };
    if (phase.is !== "stopped" || phase.was === "doing") return rest;
    return { ...rest, phase: { ...phase, was: { ...phase.was, ended } } };
  },
};

/** SQL: the form of a run `r`'s kept state. */
export const formOf = `coalesce(substring(left(r.kept, 24) from '^\\{"form":([0-9]+)')::integer, 1)`;

const initial = Object.entries(initialState).filter(([name]) => name !== "variables");

export function sparseState(state: RunState): KeptState {
  const kept: Record<string, unknown> = { form: stateForm };
  for (const [name, before] of initial) {
    const value = state[name as keyof RunState];
    if (value !== before && !(isEmpty(value) && isEmpty(before))) kept[name] = value;
  }
  if (state.phase.is !== "ended") {
    const variables = inState(state.variables);
    if (!isEmpty(variables)) kept.variables = variables;
  }
  return kept as KeptState;
}

/** `rows`: the variables that have rows. */
export function fullState(kept: KeptState, rows: RunState["variables"]): RunState {
  const { form: _, ...newest } = upcast({ ...kept, variables: { ...rows, ...kept.variables } });
  return waitingNoMore({ ...initialState, ...newest });
}

/** Some ended runs were stored as if they still waited. */
function waitingNoMore(state: RunState): RunState {
  const { phase, idle } = state;
  return phase.is === "ended" && idle.since !== null ? { ...state, idle: { ...idle, since: null } } : state;
}

/** See K2. */
export function refuseNewer({ form = 1 }: KeptState): void {
  if (form <= stateForm) return;
  const message = `The run's state has form ${form}; this program knows forms up to ${stateForm}.`;
  throw new StoreError("STORE_STATE_NEWER", message);
}

function upcast(kept: KeptState): KeptState {
  refuseNewer(kept);
  let { form = 1 } = kept;
  let known = kept;
  for (; form < stateForm; form += 1) known = upcasters[form]?.(known) ?? known;
  return known;
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  for (const _ in value) return false;
  return true;
}
