import { createHmac } from "node:crypto";

/** No letters that are mistaken for others or make words. */
const letters = "23456789BCDFGHJKMNPQRSTVWXYZ";

/**
 * A name per member that means nothing outside the batch: the same in each run of it, another in each other batch. Only who has the
 * batch's secret can tell who it is, by trying the roster.
 */
export function pseudonyms(keys: readonly string[], secret: string): ReadonlyMap<string, string> {
  if (secret.length < 16) throw new RangeError("a secret of less than 16 characters can be guessed");
  const taken = new Set<string>();
  const found = new Map<string, string>();
  // In the order of the keys, so that a clash is settled the same way each time.
  for (const key of [...new Set(keys)].sort()) {
    const digest = createHmac("sha256", secret).update(key).digest();
    let name = "";
    for (let length = 6; name === "" || taken.has(name); length += 1) {
      name = `Student-${[...digest.subarray(0, length)].map((byte) => letters[byte % letters.length]).join("")}`;
    }
    taken.add(name);
    found.set(key, name);
  }
  return found;
}
