/**
 * Replaces the keys of an intake by those under which the same people and submissions are already stored. Marks, releases and paid replies
 * belong to stored keys, so they survive a renamed group, a new column in the roster and renumbered attempts. Pure.
 *
 * If an identity is unsure, nothing is changed, and the teacher is asked: --same OLD=NEW, or --new KEY.
 */
import type { ClassIntake } from "@markmill/classroom";
import type { Finding, Place } from "@markmill/definition";
import { type IdentityQuestion, type KeyedWork, samePeople, sameWorks } from "@markmill/grading";
import type { BatchMember, BatchWork, NewMember, NewWork } from "@markmill/store";

export interface StoredClass {
  readonly members: readonly BatchMember[];
  readonly works: readonly Pick<BatchWork, "key" | "by" | "attempt" | "content">[];
}

/** Maps a key in the roster to the stored key of the same person, or to null for a new person. */
export type Decisions = ReadonlyMap<string, string | null>;

export type KeyedClass =
  | {
      readonly is: "known";
      readonly members: readonly (ClassIntake["members"][number] & Pick<NewMember, "was">)[];
      readonly submissions: ClassIntake["submissions"];
      readonly unfetched: ClassIntake["unfetched"];
      /** The stored or new key of a submission, by its key in the intake. */
      readonly keyOf: ReadonlyMap<string, string>;
      /** The stored or new key of a student, by the key in the intake. */
      readonly memberKeys: ReadonlyMap<string, string>;
      /** Names of students whose key changed since the class was last stored. */
      readonly renamed: readonly string[];
    }
  | { readonly is: "unsure"; readonly findings: readonly Finding[] };

const longestKey = 400;

export function withStoredKeys(
  intake: Pick<ClassIntake, "members" | "submissions" | "unfetched">,
  stored: StoredClass,
  decisions: Decisions,
  at: Place,
): KeyedClass {
  const owners = new Set(stored.works.flatMap(({ by }) => by));
  const incoming = intake.members.map((member) => {
    const was = decisions.get(member.key);
    return was === undefined ? member : { ...member, was };
  });
  const { known, questions } = samePeople(
    stored.members.map((member) => ({ ...member, hasWork: owners.has(member.key) })),
    incoming,
  );
  const unheard = [...decisions.keys()].filter((key) => !intake.members.some((member) => member.key === key));
  if (questions.length + unheard.length > 0) {
    const places = new Map(intake.members.map((member) => [member.key, member.at ?? at]));
    return {
      is: "unsure",
      findings: [
        ...questions.map((question) => askedAs(question, places.get(question.incoming.key) ?? at)),
        ...unheard.map((key) => finding(`No student in the class has the key ${key} from --same or --new.`, at)),
      ],
    };
  }
  const taken = new Set(stored.members.map(({ key }) => key));
  const memberKeys = new Map(incoming.map(({ key }) => [key, known.get(key) ?? claimKey(key, taken)] as const));
  const stable = (key: string) => memberKeys.get(key) ?? key;
  const named = [
    ...intake.submissions.map((one) => ({ ...keyed(one), by: one.by.map(stable) })),
    ...intake.unfetched.map(({ key, by }) => ({ key, by: by.map(stable), attempt: attemptIn(key), hash: null })),
  ];
  const same = sameWorks(stored.works.map(keyed), named);
  const takenWorks = new Set(stored.works.map(({ key }) => key));
  const keyOf = new Map(
    named.map(({ key, by, attempt }) => {
      const own = `${[...by].sort().join("+")}#${attempt}`;
      return [key, same.get(key) ?? claimKey(own.length > longestKey ? key : own, takenWorks)] as const;
    }),
  );
  const keyedAs = (key: string) => keyOf.get(key) ?? key;
  return {
    is: "known",
    members: incoming.map((member) => {
      // All identities are decided here, because a part of the upload does not show the people in the other parts.
      return { ...member, key: stable(member.key), was: known.get(member.key) ?? null };
    }),
    submissions: intake.submissions.map((one) => ({
      ...one,
      key: keyedAs(one.key),
      by: one.by.map(stable),
      countsFor: one.countsFor.map(stable),
    })),
    unfetched: intake.unfetched.map((one) => ({ ...one, key: keyedAs(one.key), by: one.by.map(stable) })),
    keyOf,
    memberKeys,
    renamed: incoming.flatMap((member) =>
      isNewlyKeyed(member, stored.members, known.get(member.key)) ? member.name : [],
    ),
  };
}

/** The person's key differs from the stored one, and the stored roster did not have the new key yet. */
function isNewlyKeyed(member: BatchMember, stored: readonly BatchMember[], was: string | undefined): boolean {
  const before = stored.find(({ key }) => key === was);
  if (before === undefined || before.key === member.key) return false;
  return (["name", "id", "participant", "sisId", "login", "email"] as const).some(
    (kind) => before[kind] !== member[kind],
  );
}

function keyed({ key, by, attempt, content }: Pick<NewWork, "key" | "by" | "attempt" | "content">): KeyedWork {
  return { key, by, attempt, hash: content.is === "taken" || content.is === "undecided" ? content.hash : null };
}

const attemptIn = (key: string) => Number(/#(\d+)$/.exec(key)?.[1] ?? 1);

function claimKey(wanted: string, taken: Set<string>): string {
  let key = wanted;
  for (let count = 2; taken.has(key); count += 1) key = `${wanted} (${count})`;
  taken.add(key);
  return key;
}

function askedAs({ incoming, stored, why }: IdentityQuestion, at: Place): Finding {
  const could = stored.map(({ name, key }) => `${name} (${key})`).join(" or ");
  const [first] = stored;
  if (first === undefined) return finding(`${incoming.name} (${incoming.key}): ${why}.`, at);
  return {
    ...finding(
      `${incoming.name} (${incoming.key}) could be the stored student ${could}: ${why}. Nothing was changed.`,
      at,
    ),
    fix: `If it is the same person, add --same '${first.key}=${incoming.key}'. If it is another person, add --new '${incoming.key}'.`,
  };
}

function finding(message: string, at: Place): Finding {
  const fix = "Compare the keys in the roster and in `markmill show`, and correct --same or --new.";
  return { severity: "error", code: "CLASS_IDENTITY", message, fix, at };
}

/** Reads OLD=NEW, given several times. null: a value does not have this form. */
export function readDecisions(same: readonly string[], fresh: readonly string[]): Decisions | null {
  const decisions = new Map<string, string | null>(fresh.map((key) => [key, null]));
  for (const text of same) {
    const [, old = "", now = ""] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
    if (old === "" || decisions.has(now)) return null;
    decisions.set(now, old);
  }
  return decisions;
}
