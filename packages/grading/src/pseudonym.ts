import { createHmac } from "node:crypto";

/** Excludes vowels and letters that look alike, so that pseudonyms form no words and are not misread. */
const letters = "23456789BCDFGHJKMNPQRSTVWXYZ";

/**
 * Creates a name for each student that has no meaning outside the batch. It is the same in every run of the batch and different in every
 * other batch. Only a person who has the batch's secret can find the student, by trying the roster.
 */
export function pseudonyms(keys: readonly string[], secret: string): ReadonlyMap<string, string> {
  if (secret.length < 16) throw new RangeError("a secret of less than 16 characters can be guessed");
  const taken = new Set<string>();
  const found = new Map<string, string>();
  // Keys are sorted, so that a clash is resolved in the same way each time.
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
