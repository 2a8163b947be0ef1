/**
 * Chooses the key that names each student in the class. Pure.
 *
 * K1  A student's key is the first existing one of id, participant number, login, e-mail address, SIS id and name.
 * K2  Keys are unique across kinds. If one student's login is another's id, the id keeps it and the login's owner gets the next kind.
 * K3  The order of rows has no effect, because one kind never has the same text twice (ROSTER_DUPLICATE).
 */
import { plainKey } from "@markmill/grading";
import type { Member } from "./member.ts";

const order = ["id", "participant", "login", "email", "sisId", "name"] as const;

export function memberKeys(people: readonly Omit<Member, "key">[]): readonly string[] {
  const keys = new Map<number, string>();
  const taken = new Set<string>();
  for (const kind of order) {
    const wishes = [...people.entries()].filter(([at, person]) => !keys.has(at) && (person[kind] ?? "") !== "");
    const wanted = new Map<string, number>();
    for (const [, person] of wishes) {
      const text = plainKey(person[kind] ?? "");
      wanted.set(text, (wanted.get(text) ?? 0) + 1);
    }
    for (const [at, person] of wishes) {
      const text = person[kind] ?? "";
      if (taken.has(plainKey(text)) || wanted.get(plainKey(text)) !== 1) continue;
      keys.set(at, text);
    }
    for (const key of keys.values()) taken.add(plainKey(key));
  }
  // Every text of these students is another student's key. A prefix with the kind makes it unique.
  for (const [at, person] of people.entries()) {
    if (keys.has(at)) continue;
    const kind = order.find((one) => (person[one] ?? "") !== "") ?? "name";
    let key = `${kind} ${person[kind] ?? ""}`;
    while (taken.has(plainKey(key))) key = `${kind} ${key}`;
    taken.add(plainKey(key));
    keys.set(at, key);
  }
  return people.map((_, at) => keys.get(at) ?? "");
}
