/** SQL: ids of open runs in which a variable has a value. Only this folder knows where a variable is stored (kept-variables.ts). */
import { toJson } from "../database/neutral.ts";

const open = "r.status in ('created', 'doing', 'stopped')";

/**
 * Parses a state only if it contains the text of the value. With 200,000 open runs this avoids nearly all of the work. Our states are
 * written with the same text. `p` adds a value to the statement's parameters.
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
