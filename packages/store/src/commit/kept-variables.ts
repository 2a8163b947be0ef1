/**
 * Where a variable is kept.
 *
 * V1  While a run is open its short variables stand in its state, which every step writes anyway; a long one has a row, so that a step
 *     does not write again what it did not change. Counters and marks are short, texts of models and students are long.
 * V2  Once the run has ended every variable has its row, for search, and none stands in the state.
 * V3  Where a variable stands claimsAhead from the variables alone, so that whoever reads a run knows it. In the state goes before a row: a row may
 *     be left from when the variable was longer. Who lowers `longest` or `most` changes where those of open runs are thought to be: migrate
 *     them.
 */
export type Variables = Readonly<Record<string, string>>;

/** Characters of a name and its value. */
const longest = 100;
/** With more variables than this, all have rows: the state stays well below the size from which Postgres compresses it. */
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

/** The rows that have to be written. before, null: of a run that is created. */
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
