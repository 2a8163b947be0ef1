/** Finds submissions with exactly the same files, by key. Pure. Several attempts of the same people are not reported. */
import type { BatchWork } from "@markmill/store";

export function identicalWorks(works: readonly BatchWork[]): readonly (readonly string[])[] {
  const byHash = new Map<string, Map<string, string>>();
  for (const { key, by, content } of works) {
    if (content.is !== "taken" || content.files === 0) continue;
    const people = JSON.stringify([...by].sort());
    const known = byHash.get(content.hash) ?? new Map<string, string>();
    byHash.set(content.hash, known.has(people) ? known : known.set(people, key));
  }
  return [...byHash.values()].filter(({ size }) => size > 1).map((group) => [...group.values()].sort());
}
