/**
 * A run's state as it is kept: without its variables, which have rows of their own, and without what is as it was when the run was made,
 * which is most of it. It is written with every step. Who changes `initialState` changes what open runs are: migrate them.
 */
import { initialState, type RunState } from "@markmill/engine";

export type KeptState = Partial<Omit<RunState, "variables">>;

const initial = Object.entries(initialState).filter(([name]) => name !== "variables");

export function sparseState(state: RunState): KeptState {
  const kept: Record<string, unknown> = {};
  for (const [name, before] of initial) {
    const value = state[name as keyof RunState];
    if (value !== before && !(isEmpty(value) && isEmpty(before))) kept[name] = value;
  }
  return kept as KeptState;
}

export function fullState(kept: KeptState, variables: RunState["variables"]): RunState {
  return { ...initialState, ...kept, variables };
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  for (const _ in value) return false;
  return true;
}
