import type { Criterion, Rubric } from "./rubric.ts";
import { criterionText } from "./rubric-hash.ts";

/** Returns the ids of criteria that differ between two rubrics: changed, added or removed. The order of criteria does not count. */
export function changedCriteria(before: Rubric, after: Rubric): readonly string[] {
  const [old, now] = [byId(before), byId(after)];
  return [...new Set([...now.keys(), ...old.keys()])].filter((id) => old.get(id) !== now.get(id));
}

function byId({ criteria }: Rubric): ReadonlyMap<string, string> {
  return new Map(criteria.map((one: Criterion) => [one.id, criterionText(one)]));
}
