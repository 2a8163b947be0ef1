/**
 * Where a variable is stored.
 *
 * V1  While a run is open, its short variables are in its state, which every step writes anyway. A long variable has a row, so that a step
 *     writes it only when it changes. Counters and marks are short. Texts of models and students are long.
 * V2  Once the run has ended, every variable has its row, for search, and the state holds none.
 * V3  The variables alone decide where each one is stored, so every reader can compute it. The state wins over a row: a row may be left
 *     from when the variable was longer. If you lower `longest` or `most`, readers look for variables of open runs in other places than
 *     before. Add a migration for them.
 */
export type Variables = Readonly<Record<string, string>>;

/** Characters of a name and its value together. */
const longest = 100;
/** With more variables than this, all of them have rows. The state then stays well below the size at which Postgres compresses it. */
const most = 20;

type Standing = (name: string, value: string) => boolean;

function standing(variables: Variables): Standing {
  const few = Object.keys(variables).length <= most;
  return (name, value) => few && name.length + value.length <= longest;
}

export function inState(variables: Variables): Variables {
  const stands = standing(variables);
  return Object.fromEntries(Object.entries(variables).filter(([name, value]) => stands(name, value)));
}

export interface VariableWrite {
  readonly name: string;
  /** null: no longer set. */
  readonly value: string | null;
}

/** The rows to write. `before` is null for a run that is created. */
export function variableWrites(before: Variables | null, after: Variables, ended: boolean): VariableWrite[] {
  const writes: VariableWrite[] = [];
  if (before === after && !ended) return writes;
  const stood = standing(before ?? {});
  const stands = standing(after);
  for (const [name, value] of Object.entries(after)) {
    if (!ended && stands(name, value)) continue;
    const known = before !== null && Object.hasOwn(before, name) ? before[name] : undefined;
    const row = known === undefined || stood(name, known) ? undefined : known;
    if (row !== value) writes.push({ name, value });
  }
  for (const name of Object.keys(before ?? {})) {
    if (!Object.hasOwn(after, name)) writes.push({ name, value: null });
  }
  return writes;
}
