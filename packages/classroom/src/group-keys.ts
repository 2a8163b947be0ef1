/** A group may be called what a member's key is, and another one what this one is then called: each keeps a work of its own. */
export function keysOfGroups(groups: ReadonlySet<string>, others: ReadonlySet<string>): ReadonlyMap<string, string> {
  const keys = new Map([...groups].filter((group) => !others.has(group)).map((group) => [group, group]));
  const taken = new Set([...others, ...groups]);
  for (const group of [...groups].filter((one) => others.has(one)).sort()) {
    let key = `group ${group}`;
    while (taken.has(key)) key = `group ${key}`;
    taken.add(key);
    keys.set(group, key);
  }
  return keys;
}
