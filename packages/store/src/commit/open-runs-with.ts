/** SQL: ids of open runs in which a variable has a value. Where it stands is the matter of this folder (kept-variables.ts). */
import { toJson } from "../database/neutral.ts";

const open = "r.status in ('created', 'doing', 'stopped')";

/**
 * A state is parsed only where the value's text occurs in it: of 200,000 open runs that takes away nearly all of the work. The text is the
 * one our states are written with. `p` gives a value its place among the statement's parameters.
 */
export function openRunsWith(p: (value: unknown) => string, name: string, value: string): string {
  const [named, wanted] = [`${p(name)}::text`, `${p(value)}::text`];
  return `select r.id from runs r
    where ${open} and strpos(r.kept, ${p(toJson(value))}::text) > 0 and r.kept::json -> 'variables' ->> ${named} = ${wanted}
  union all
  select v.run_id from variables v join runs r on r.id = v.run_id
    where ${open} and v.name = ${named} and v.value = ${wanted}
      and case when strpos(r.kept, '"variables":') > 0 then r.kept::json -> 'variables' -> v.name is null else true end`;
}
