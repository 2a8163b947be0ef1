/**
 * Maps the keys of an upload to the stored keys of the same people and submissions. Stored keys never change: marks, releases and runs
 * refer to them. Everything here happens in the transaction of saveBatch, under the lock of the batch.
 *
 * K1  A student is the stored student with the same identity (samePeople of packages/grading). If that is unsure, nothing is saved.
 * K2  A new student gets the key of the upload, or a similar one if another person has it.
 * K3  A later piece of the same upload uses the keys of the upload for students and submissions: they are stored as `aliases` and `called`.
 * K4  A submission keeps its row if its key is known and at least one of its people is the same. A submission with an unknown key is
 *     compared with the submissions of the same people only in two cases: a key of these people changed, or the upload declares that its
 *     list is complete.
 */
import type { IdentityQuestion, KeyedWork } from "@markmill/grading";
import type { PoolClient } from "pg";
import { StoreError } from "../database/store-error.ts";
import { type BatchMember, contentHash, type NewBatch, type NewMember, type NewWork } from "./batch.ts";

type Upload = Pick<NewBatch, "members" | "works" | "whole" | "span">;

export interface KnownKeys {
  readonly members: readonly (BatchMember & { readonly called: string })[];
  readonly works: readonly (NewWork & { readonly called: string })[];
}

interface MemberRow {
  readonly key: string;
  readonly aliases: readonly string[];
  readonly person: BatchMember;
  readonly hasWork: boolean;
}

interface WorkRow extends KeyedWork {
  readonly called: string | null;
}

export async function knownKeys(client: PoolClient, id: string, upload: Upload): Promise<KnownKeys> {
  const stored = await storedMembers(client, id, upload.members.length > 0);
  const members = await knownMembers(stored, upload.members);
  const keyOf = new Map(stored.map(({ key }) => [key, key]));
  for (const { key, aliases } of stored) for (const alias of aliases) keyOf.set(alias, key);
  for (const { key, called } of members) keyOf.set(called, key);
  const named = upload.works.map((work) => {
    const stable = (key: string) => keyOf.get(key) ?? key;
    return {
      ...work,
      called: work.key,
      by: work.by.map(stable),
      isRenamed: work.by.some((key) => stable(key) !== key),
      ...(work.countsFor === undefined ? {} : { countsFor: work.countsFor.map(stable) }),
    };
  });
  const works = await knownWorks(client, id, named, upload);
  return { members, works };
}

async function storedMembers(client: PoolClient, id: string, whole: boolean): Promise<readonly MemberRow[]> {
  const { rows } = await client.query<MemberRow>(
    whole
      ? `select m.key, m.aliases, m.person, m.key in (select unnest(w.members) from batch_works w where w.batch_id = $1) as "hasWork"
         from batch_members m where m.batch_id = $1`
      : "select m.key, m.aliases from batch_members m where m.batch_id = $1",
    [id],
  );
  return rows;
}

/** See K1 and K2. */
async function knownMembers(
  stored: readonly MemberRow[],
  incoming: readonly NewMember[],
): Promise<KnownKeys["members"]> {
  const { samePeople } = await import("@markmill/grading");
  const before = stored.map(({ key, aliases, person, hasWork }) => ({ ...person, key, aliases, hasWork }));
  const { known, questions } = samePeople(incoming.length === 0 ? [] : before, incoming);
  if (questions.length > 0) throw new StoreError("STORE_BATCH_REFUSED", askedAs(questions));
  const taken = new Set(stored.map(({ key }) => key));
  return incoming.map(({ was: _, ...person }) => {
    const key = known.get(person.key) ?? freeKey(person.key, taken);
    taken.add(key);
    return { ...person, key, called: person.key };
  });
}

const mostAsked = 20;

function askedAs(questions: readonly IdentityQuestion[]): string {
  const asked = questions.slice(0, mostAsked).map(({ incoming, stored, why }) => {
    const could = stored.map(({ name, key }) => `${name} (${key})`).join(" or ");
    return stored.length === 0
      ? `${incoming.name} (${incoming.key}): ${why}`
      : `${incoming.name} (${incoming.key}) could be ${could}, who is a stored student: ${why}`;
  });
  const more = questions.length > mostAsked ? ` And ${questions.length - mostAsked} more.` : "";
  return `${asked.join(". ")}.${more} Nothing was saved. For each student, send the stored key, or null for a new student.`;
}

function freeKey(wanted: string, taken: ReadonlySet<string>): string {
  let key = wanted;
  for (let count = 2; taken.has(key); count += 1) key = `${wanted} (${count})`;
  return key;
}

type NamedWork = NewWork & { readonly called: string; readonly isRenamed: boolean };

/** See K4. */
async function knownWorks(
  client: PoolClient,
  id: string,
  incoming: readonly NamedWork[],
  { whole = false, span }: Upload,
): Promise<KnownKeys["works"]> {
  if (incoming.length === 0) return [];
  const { rows: stored } = await client.query<WorkRow>(
    `select key, called, members as by, attempt, coalesce(hash, content ->> 'hash') as hash from batch_works where batch_id = $1`,
    [id],
  );
  const byKey = new Map(stored.map((row) => [row.key, row]));
  const byName = new Map(stored.flatMap((row) => (row.called === null ? [] : [[row.called, row] as const])));
  const keys = new Map<string, string>();
  const claimed = new Set<string>();
  for (const rows of [byName, byKey]) {
    for (const { called, by } of incoming) {
      const row = keys.has(called) ? undefined : rows.get(called);
      if (row === undefined || claimed.has(row.key) || !row.by.some((key) => by.includes(key))) continue;
      keys.set(called, row.key);
      claimed.add(row.key);
    }
  }
  const isWhole = whole !== false && span === undefined;
  const listed = new Set(typeof whole === "object" ? whole : incoming.map(({ called }) => called));
  const free = stored.filter(({ key, called }) => !claimed.has(key) && !listed.has(called ?? key));
  const unknown = incoming.filter(
    ({ called, isRenamed, content }) =>
      !keys.has(called) && (isRenamed || isWhole) && !(content.is === "taken" && content.start !== undefined),
  );
  if (unknown.length > 0 && free.length > 0) {
    const { sameWorks } = await import("@markmill/grading");
    for (const [called, key] of sameWorks(free, unknown.map(keyedWork))) keys.set(called, key);
  }
  const taken = new Set(stored.map(({ key }) => key));
  return incoming.map(({ isRenamed: _, ...work }) => {
    const key = keys.get(work.called) ?? freeKey(work.called, taken);
    taken.add(key);
    return { ...work, key };
  });
}

function keyedWork({ called, by, attempt, content }: NamedWork): KeyedWork {
  return { key: called, by, attempt, hash: contentHash(content) };
}
