import type { Criterion, Rubric } from "./rubric.ts";
import { criterionText } from "./rubric-hash.ts";

/** Ids of the criteria that do not say the same in both: reworded, added or gone. Their order says nothing. */
export function changedCriteria(before: Rubric, after: Rubric): readonly string[] {
  const [old, now] = [byId(before), byId(after)];
  return [...new Set([...now.keys(), ...old.keys()])].filter((id) => old.get(id) !== now.get(id));
}

function byId({ criteria }: Rubric): ReadonlyMap<string, string> {
  return new Map(criteria.map((one: Criterion) => [one.id, criterionText(one)]));
}
