/**
 * Matches incoming submissions with stored ones. The key of a submission consists of the keys of its people and can change with them. Pure.
 *
 * W1  The same people are the same owner, whatever the name of their group. Among an owner's submissions, equal content is the same
 *     submission, then an equal key, then an equal attempt. Marks, releases and paid replies stay with the content.
 * W2  If people joined or left, equal content with at least one person in common is the same submission, if there is only one such pair.
 * W3  A stored submission matches at most one incoming submission.
 */
export interface KeyedWork {
  readonly key: string;
  /** Stored keys of the students. */
  readonly by: readonly string[];
  readonly attempt: number;
  /** Hash of the content. null: there is none. */
  readonly hash: string | null;
}

/** Stored keys by incoming key. A submission that is missing here is new. */
export function sameWorks(stored: readonly KeyedWork[], incoming: readonly KeyedWork[]): ReadonlyMap<string, string> {
  const known = new Map<string, string>();
  const free = new Set(stored);
  const waiting = new Set(incoming);
  const take = (one: KeyedWork, other: KeyedWork) => {
    known.set(other.key, one.key);
    free.delete(one);
    waiting.delete(other);
  };
  /** Matches pairs that share this property if it is unique on both sides. */
  const match = (propertyOf: (work: KeyedWork) => string | null) => {
    const [left, right] = [grouped(free, propertyOf), grouped(waiting, propertyOf)];
    for (const [property, [one, ...more]] of left) {
      const [other, ...others] = right.get(property) ?? [];
      if (one !== undefined && other !== undefined && more.length + others.length === 0) take(one, other);
    }
  };
  const content = (work: KeyedWork, also: string | number = "") =>
    work.hash === null ? null : `${people(work)} ${work.hash} ${also}`;
  match((work) => content(work, work.key));
  match((work) => content(work, work.attempt));
  match((work) => content(work));
  match((work) => `${people(work)} ${JSON.stringify(work.key)}`);
  match((work) => `${people(work)} ${work.attempt}`);
  // See W2 in the file header.
  const byHash = grouped(free, ({ hash }) => hash);
  const pairs = [...waiting].flatMap((other) =>
    (other.hash === null ? [] : (byHash.get(other.hash) ?? []))
      .filter((one) => one.by.some((key) => other.by.includes(key)))
      .map((one) => ({ one, other })),
  );
  const ofStored = Map.groupBy(pairs, ({ one }) => one);
  const ofIncoming = Map.groupBy(pairs, ({ other }) => other);
  for (const { one, other } of pairs)
    if (ofStored.get(one)?.length === 1 && ofIncoming.get(other)?.length === 1) take(one, other);
  return known;
}

const people = ({ by }: KeyedWork) => JSON.stringify([...by].sort());

function grouped(works: Iterable<KeyedWork>, propertyOf: (work: KeyedWork) => string | null) {
  const found = new Map<string, KeyedWork[]>();
  for (const work of works) {
    const property = propertyOf(work);
    if (property !== null) found.set(property, [...(found.get(property) ?? []), work]);
  }
  return found;
}
