/**
 * A run's state as it is kept: without the variables that have rows (kept-variables.ts), and without what is as it was when the run was
 * made, which is most of it. It is written with every step. Who changes `initialState` changes what open runs are: migrate them.
 */
import { initialState, type RunState } from "@markmill/engine";
import { inState } from "./kept-variables.ts";

export type KeptState = Partial<RunState>;

const initial = Object.entries(initialState).filter(([name]) => name !== "variables");

export function sparseState(state: RunState): KeptState {
  const kept: Record<string, unknown> = {};
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
  return { ...initialState, ...kept, variables: { ...rows, ...kept.variables } };
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  for (const _ in value) return false;
  return true;
}
