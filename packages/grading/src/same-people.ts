/**
 * Matches the students of an upload with the stored students. The keys of a roster can change: a new column, another platform, a corrected
 * number. Pure.
 *
 * I1  Each kind of key has its own namespace: an id is compared with ids only.
 * I2  One equal kind of key is enough if nothing contradicts it. An equal name or a larger number of equal kinds outweighs a contradiction.
 * I3  A name alone is enough if it is unique on both sides and no kind of key contradicts it.
 * I4  An unsure match is a question with both names, never a guess. A student without a submission has nothing to lose and causes no
 *     question.
 * I5  A person's decision comes first: `was` names the stored student. null means that the student is new. Then only a stored student whom
 *     nothing contradicts is the same, so that an upload sent twice does not store a student twice.
 */
import { type Identifiable, plainKey, spellingsOf } from "./match-people.ts";
import { commonLetters, nameWords } from "./person-name.ts";

export interface StoredPerson extends Identifiable {
  /** Other keys that an upload gave to the same person. */
  readonly aliases?: readonly string[];
  readonly hasWork: boolean;
}

export interface IncomingPerson extends Identifiable {
  /** A person's decision. Absent: there is none. */
  readonly was?: string | null;
}

export interface SamePeople {
  /** Stored keys by incoming key. An incoming student who is missing here is new. */
  readonly known: ReadonlyMap<string, string>;
  readonly questions: readonly IdentityQuestion[];
}

export interface IdentityQuestion {
  readonly incoming: Identifiable;
  /** The stored students it could be. Empty: the decision names a student who is not stored. */
  readonly stored: readonly Identifiable[];
  readonly why: string;
}

const kinds = ["id", "participant", "sisId", "login", "email", "handle"] as const;

interface Pair {
  readonly incoming: IncomingPerson;
  readonly stored: StoredPerson;
  readonly tier: number;
  readonly why: string;
}

/** Up to this tier, nothing contradicts the match. */
const sure = 2;
const unsure = 5;

export function samePeople(stored: readonly StoredPerson[], incoming: readonly IncomingPerson[]): SamePeople {
  const known = new Map<string, string>();
  const questions: IdentityQuestion[] = [];
  const free = new Map(stored.map((person) => [person.key, person]));
  const waiting = new Set<IncomingPerson>();
  for (const person of incoming) {
    if (person.was === undefined || person.was === null) {
      waiting.add(person);
      continue;
    }
    if (free.delete(person.was)) known.set(person.key, person.was);
    else
      questions.push({
        incoming: person,
        stored: [],
        why: `no stored student has the key ${JSON.stringify(person.was)}`,
      });
  }
  const pairs = pairsOf([...free.values()], [...waiting]);
  for (const tier of [1, 2, 3, 4, unsure]) {
    const open = pairs.filter(
      (pair) =>
        pair.tier === tier &&
        (pair.incoming.was === undefined || tier <= sure) &&
        waiting.has(pair.incoming) &&
        free.has(pair.stored.key),
    );
    const ofIncoming = Map.groupBy(open, (pair) => pair.incoming);
    const ofStored = Map.groupBy(open, (pair) => pair.stored.key);
    for (const [person, own] of ofIncoming) {
      waiting.delete(person);
      const [only, ...more] = own;
      if (only === undefined) continue;
      const rivals = ofStored.get(only.stored.key) ?? [];
      if (tier < unsure && more.length === 0 && rivals.length === 1) {
        known.set(person.key, only.stored.key);
        continue;
      }
      if (person.was === null) continue;
      const also =
        rivals.length > 1
          ? `; this also fits ${rivals
              .filter((one) => one !== only)
              .map((one) => one.incoming.name)
              .join(", ")}`
          : "";
      questions.push({ incoming: person, stored: own.map((pair) => pair.stored), why: `${only.why}${also}` });
    }
    for (const { stored: one } of open) free.delete(one.key);
  }
  return { known, questions };
}

/** Pairs with anything in common, each with its certainty. */
function pairsOf(stored: readonly StoredPerson[], incoming: readonly IncomingPerson[]): readonly Pair[] {
  const index = new Map<string, StoredPerson[]>();
  for (const person of stored)
    for (const mark of marksOf(person)) index.set(mark, [...(index.get(mark) ?? []), person]);
  return incoming.flatMap((person) => {
    const found = new Set(marksOf(person).flatMap((mark) => index.get(mark) ?? []));
    return [...found].flatMap((one) => pairOf(one, person) ?? []);
  });
}

function marksOf(person: Identifiable & { readonly aliases?: readonly string[] }): readonly string[] {
  const keyed = [person.key, ...(person.aliases ?? [])].map((key) => `key ${key}`);
  const kinded = kinds.flatMap((kind) => (person[kind] === undefined ? [] : `${kind} ${plainKey(person[kind])}`));
  return [...new Set([...keyed, ...kinded, ...[...spellingsOf(person)].map((name) => `name ${name}`)])];
}

/** An earlier version stored Moodle's participant number as the id. */
function withParticipant(stored: StoredPerson, { participant }: IncomingPerson): StoredPerson {
  const { id, ...rest } = stored;
  return id !== undefined && stored.participant === undefined && id === participant ? { ...rest, participant } : stored;
}

function pairOf(found: StoredPerson, incoming: IncomingPerson): Pair | null {
  const stored = withParticipant(found, incoming);
  const both = kinds.flatMap((kind) => {
    const [one, other] = [stored[kind], incoming[kind]];
    return one === undefined || other === undefined ? [] : { kind, same: plainKey(one) === plainKey(other) };
  });
  const agree = both.filter(({ same }) => same).map(({ kind }) => kind);
  const differ = both.filter(({ same }) => !same).map(({ kind }) => kind);
  const names = compareNames(stored, incoming);
  const keyed = stored.key === incoming.key || (stored.aliases ?? []).includes(incoming.key);
  // A key that is no id, login or address was chosen by the sender of the class. It counts as a separate kind.
  const chosen = keyed && !isKind(stored) && !isKind(incoming);
  const evidence = agree.length + (chosen ? 1 : 0);
  const same = [...agree, ...(keyed && agree.length === 0 ? ["key"] : []), ...(names === "equal" ? ["name"] : [])];
  const other = [...differ, ...(names === "different" ? ["name"] : [])];
  const why = `same ${same.join(", ")}${other.length === 0 ? "" : `, but different ${other.join(", ")}`}`;
  const pair = (tier: number): Pair => ({ stored, incoming, tier, why });
  const isFree = !stored.hasWork && incoming.was === undefined;
  if (keyed && ((chosen && both.length === 0) || isFree || (differ.length === 0 && names !== "different")))
    return pair(1);
  if (agree.length > 0 && differ.length === 0 && names !== "different") return pair(2);
  if (evidence > 0 && (names === "equal" || (evidence > 1 && evidence > differ.length))) return pair(3);
  if (names === "equal" && differ.length === 0) return pair(4);
  if (!stored.hasWork) return null;
  return agree.length > 0 || keyed || names === "equal" ? pair(unsure) : null;
}

/** Whether the key only repeats the value of another kind. */
function isKind(person: Identifiable): boolean {
  return kinds.some((kind) => person[kind] === person.key);
}

type Names = "equal" | "close" | "different" | "unknown";

function compareNames(one: Identifiable, other: Identifiable): Names {
  const names = spellingsOf(other);
  if ([...spellingsOf(one)].some((name) => names.has(name))) return "equal";
  const common = isPlaceholder(one) || isPlaceholder(other) ? null : commonLetters(one.name, other.name);
  return common === null ? "unknown" : common > 0 ? "close" : "different";
}

/** A platform's placeholder for a name contains the number or the login: `Participant 4102`, `anon_Qq9`. */
function isPlaceholder(person: Identifiable): boolean {
  const words = nameWords(person.name).map(plainKey);
  const values = [person.key, ...kinds.map((kind) => person[kind])].flatMap((value) => value ?? []);
  return values.some((value) => {
    const own = nameWords(value).map(plainKey);
    return own.length > 0 && own.every((word) => words.includes(word)) && !/\s/.test(value.trim());
  });
}
