/**
 * A run's state as it is kept: without the variables that have rows (kept-variables.ts), and without what is as it was when the run was
 * made, which is most of it. It is written with every step. Who changes `initialState` changes what open runs are: raise the form and
 * write an upcaster.
 *
 * K1  A kept state says its form, first of all, so that the server can read it without reading the rest (`formOf`). The first form said
 *     none.
 * K2  An older form is made to the newest one step at a time, by its upcaster. A newer one is refused: its run is left to the workers
 *     that know it, and is neither failed nor changed.
 */
import { initialState, type RunState } from "@markmill/engine";
import { StoreError } from "../database/store-error.ts";
import { inState } from "./kept-variables.ts";

export type KeptState = Partial<RunState> & { readonly form?: number };

/**
 * 2: states say their form. What is new in it has a usual value (`bounds`, `aside`, `inherited`, `patienceMs`, `idle`), except for what a
 * run came to before its handler began, which was not kept apart.
 */
export const stateForm = 2;

/** A state as far as it is kept, with all its variables. */
type Upcaster = (kept: KeptState) => KeptState;

/** By the form they take; what they give is the next one. */
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

/** `rows`: of the variables that have one. */
export function fullState(kept: KeptState, rows: RunState["variables"]): RunState {
  const { form: _, ...newest } = upcast({ ...kept, variables: { ...rows, ...kept.variables } });
  return waitingNoMore({ ...initialState, ...newest });
}

/** Some runs were kept as if they went on waiting after their end. */
function waitingNoMore(state: RunState): RunState {
  const { phase, idle } = state;
  return phase.is === "ended" && idle.since !== null ? { ...state, idle: { ...idle, since: null } } : state;
}

/** K2. */
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
