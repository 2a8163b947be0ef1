/**
 * Saves a batch in one transaction: the batch itself, its students, its submissions, and an attempt for each submission whose gradable
 * content has no attempt yet. The transaction does all of it or nothing, and repeating it changes nothing.
 *
 * V1  Saving, retrying, regrading and starting runs lock the row of the batch first. So a decision about the last attempt of a submission
 *     is still true when it is written.
 * V2  Nothing is deleted: a withdrawn submission stays, and does not count. An attempt that has not begun gets the new content. An attempt
 *     that has begun stays, and a new one is added. If it has no paid reply, it starts again with the batch's current settings
 *     (restart-unpaid.ts).
 * V3  Stored keys stay, whatever keys an upload uses for the same people and submissions (known-keys.ts).
 * V4  A run's id is generated with its attempt: every process that creates the run, however often, creates the same one.
 * V5  Nothing is saved into a batch that is being deleted. Resuming the batch allows it again.
 *
 * kill -9 at any line: the transaction is rolled back, and saving again does it all. Blobs that were stored before it are deleted when they
 * are old and unused.
 */
import { randomBytes } from "node:crypto";
import type { PoolClient } from "pg";
import type { Database } from "../database/database.ts";
import type { DatabaseClock } from "../database/database-clock.ts";
import { neutral, toJson } from "../database/neutral.ts";
import { StoreError, translate } from "../database/store-error.ts";
import { inContendedTransaction } from "../database/transaction.ts";
import { uuidv7 } from "../database/uuidv7.ts";
import type { Definitions } from "../definitions/definitions.ts";
import { type Budget, writeBudgetCap } from "../money/budgets.ts";
import type { BatchMember, KeySpan, NewBatch, NewWork, SavedBatch, WorkStart } from "./batch.ts";
import { type KnownKeys, knownKeys } from "./known-keys.ts";
import { restartUnpaid } from "./restart-unpaid.ts";
import { lookBefore, noteEnd } from "./settle-batch.ts";

export interface BatchParts {
  readonly database: Database;
  readonly definitions: Definitions;
  readonly clock: DatabaseClock;
}

const defaultConcurrency = 16;
const mostConcurrency = 10_000;

export async function saveBatch(parts: BatchParts, tenant: string, request: NewBatch): Promise<SavedBatch> {
  const { database, definitions, clock } = parts;
  const batch = neutral({ ...request, definition: null });
  const { pseudonyms, rubricHash } = await import("@markmill/grading");
  check(batch);
  await definitions.save(tenant, request.definition);
  const definitionHash = request.definition.hash;
  const hash = rubricHash(batch.rubric);
  try {
    return await inContendedTransaction(database.calm, async (client) => {
      const [saved] = await query<{ id: string; created: boolean; secret: string; deleting: boolean }>(
        client,
        batchText,
        [
          ...[uuidv7(clock.now()), tenant, batch.key, batch.name, definitionHash, toJson(batch.rubric)],
          ...[hash, toJson(batch.settings), randomBytes(32).toString("base64url")],
          ...[batch.concurrency ?? null, defaultConcurrency],
        ],
      );
      if (saved === undefined) throw new StoreError("STORE_BUG", "A batch was neither made nor found.");
      const { id, created, secret, deleting } = saved;
      if (deleting) {
        // V5: the deletion would remove the data that is saved now.
        throw new StoreError("STORE_BATCH_REFUSED", "The class is being deleted. Nothing was saved.");
      }
      const before = created ? { over: false, underWay: [] } : await lookBefore(client, id);
      await query(client, rubricText, [id, hash, toJson(batch.rubric)]);
      const named = (keys: readonly string[]) => pseudonyms(keys, secret);
      const known = await knownKeys(client, id, batch);
      const members = await saveMembers(client, id, known.members, named);
      await takeBlobs(client, tenant, batch.works);
      await requireDefinitions(client, tenant, batch.works);
      const works = await nameWorks(client, id, known.works, members, named);
      const rows = works.map((work) => ({
        key: work.key,
        called: work.called === work.key ? null : work.called,
        pseudonym: work.pseudonym,
        members: work.by,
        group_name: work.group,
        attempt: work.attempt,
        counts: work.counts,
        counts_for: work.countsFor ?? null,
        label: work.label,
        sources: work.sources,
        submitted_at: work.submittedAt,
        lateness: work.lateness,
        content: work.content,
        hash: work.content.is === "taken" ? work.content.hash : null,
        run_id: uuidv7(clock.now()),
        definition: startOf(work)?.definition ?? null,
      }));
      // A key of the upload names one submission.
      await query(client, "update batch_works set called = null where batch_id = $1 and called = any($2)", [
        ...[id, works.map(({ called }) => called)],
      ]);
      const [counted] = await query<{ added: number; changed: number }>(client, worksText, [
        ...[id, tenant, toJson(rows), definitionHash, hash],
      ]);
      const begun = created
        ? { restarted: 0, kept: 0 }
        : await restartUnpaid(client, clock, { id, definitionHash, run: batch.settings.run });
      const [other] = await query<{ other: number }>(client, definitionText, [id, definitionHash, hash]);
      const all = batch.whole === true ? works.map(({ called }) => called) : (batch.whole ?? false);
      const dropped =
        all === false
          ? null
          : await query(client, droppedText, [id, all, batch.span?.after ?? null, batch.span?.upTo ?? null]);
      // Do this last: calls of a running class wait while its cap is written.
      await saveBudget(client, tenant, id, batch.budget);
      await noteEnd(client, id, before, { empty: isAll(batch) });
      await query(client, "select pg_notify('markmill_batches', '')", []);
      return {
        id,
        created,
        added: counted?.added ?? 0,
        changed: counted?.changed ?? 0,
        otherDefinition: other?.other ?? 0,
        ...begun,
        ...(dropped === null ? {} : { dropped: dropped.length }),
      };
    });
  } catch (error) {
    throw translate(error, "Saving a batch");
  }
}

/** Whether the list is complete: nothing outside it belongs to the batch. So without submissions the batch is over. */
function isAll({ whole = false, span }: Pick<NewBatch, "whole" | "span">): boolean {
  return whole !== false && (span === undefined || (span.after === null && span.upTo === null));
}

function startOf({ content }: NewWork): WorkStart | null {
  return content.is === "taken" ? (content.start ?? null) : null;
}

/** Checks that the named definitions exist: refusing them now is better than runs that cannot be created later. */
async function requireDefinitions(client: PoolClient, tenant: string, works: readonly NewWork[]): Promise<void> {
  const hashes = [...new Set(works.flatMap((work) => startOf(work)?.definition ?? []))];
  if (hashes.length === 0) return;
  const [missing] = await query<{ hash: string }>(
    client,
    `select hash from unnest($2::text[]) as hash
     where not exists (select 1 from definitions d where d.tenant = $1 and d.hash = hash.hash) limit 1`,
    [tenant, hashes],
  );
  if (missing !== undefined) throw new StoreError("STORE_NOT_FOUND", `There is no definition ${missing.hash}.`);
}

function check({ key, concurrency = 1, members, works, whole, span }: Omit<NewBatch, "definition">): void {
  const refuse = (message: string) => {
    throw new StoreError("STORE_BATCH_REFUSED", message);
  };
  if (key === "") refuse("A batch needs a key.");
  checkConcurrency(concurrency);
  for (const [what, list] of [["member", members] as const, ["work", works] as const]) {
    const seen = new Set<string>();
    for (const { key: one } of list) {
      if (one === "") refuse(`A ${what} needs a key.`);
      if (seen.has(one)) refuse(`There are two ${what}s with the key ${JSON.stringify(one)}.`);
      seen.add(one);
    }
  }
  if (typeof whole !== "object") {
    if (span !== undefined) refuse("A span needs keys, but the request contains none.");
    return;
  }
  const all = new Set(whole);
  // A key outside the span would stop counting, although the sender meant it for another span.
  const strange = whole.find((one) => !isWithin(one, span));
  if (strange !== undefined) refuse(`The key ${JSON.stringify(strange)} is outside the span of the request.`);
  const left = works.find((work) => isWithin(work.key, span) && !all.has(work.key));
  if (left !== undefined)
    refuse(`The work ${JSON.stringify(left.key)} is saved, but is not in the list of all submissions.`);
}

function isWithin(key: string, { after, upTo }: KeySpan = { after: null, upTo: null }): boolean {
  const order = (other: string) => Buffer.compare(Buffer.from(key), Buffer.from(other));
  return (after === null || order(after) > 0) && (upTo === null || order(upTo) <= 0);
}

export function checkConcurrency(runs: number): void {
  if (Number.isInteger(runs) && runs >= 1 && runs <= mostConcurrency) return;
  throw new StoreError(
    "STORE_BATCH_REFUSED",
    `Between 1 and ${mostConcurrency} runs can run at the same time, not ${runs}.`,
  );
}

async function query<Row extends object>(client: PoolClient, text: string, values: readonly unknown[]): Promise<Row[]> {
  return (await client.query<Row>(text, [...values])).rows;
}

/** V1. `xmax`: 0 in a row that was inserted. */
const batchText = `
insert into batches (id, tenant, key, name, definition_hash, rubric, rubric_hash, settings, secret, concurrency)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, coalesce($10::integer, $11::integer))
on conflict (tenant, key) do update set name = excluded.name, definition_hash = excluded.definition_hash, rubric = excluded.rubric,
  rubric_hash = excluded.rubric_hash, settings = excluded.settings, concurrency = coalesce($10::integer, batches.concurrency)
returning id, xmax = 0 as created, secret, deleting_at is not null as deleting`;

/** Marks are compared with the rubric they were given by (grading/final-grade.ts, F5). */
const rubricText = `
insert into batch_rubrics (batch_id, hash, rubric) values ($1, $2, $3) on conflict (batch_id, hash) do nothing`;

/** A batch always has a budget, which stores its spending. If the request sets no cap, the cap stays. */
async function saveBudget(client: PoolClient, tenant: string, id: string, cap: Budget["cap"] | undefined) {
  if (cap !== undefined) return await writeBudgetCap(client, tenant, id, cap);
  await query(client, "insert into budgets (tenant, id) values ($1, $2) on conflict (tenant, id) do nothing", [
    ...[tenant, id],
  ]);
}

type Naming = (keys: readonly string[]) => ReadonlyMap<string, string>;

/** Returns the pseudonyms of all students, by key. */
async function saveMembers(
  client: PoolClient,
  id: string,
  members: KnownKeys["members"],
  named: Naming,
): Promise<ReadonlyMap<string, string>> {
  const known = await namesOf(client, "batch_members", id);
  const names = drawNames(
    known,
    members.map(({ key }) => ({ key, wish: null })),
    named,
  );
  const rows = members.map((person) => ({
    key: person.key,
    pseudonym: names.get(person.key),
    person: plain(person),
    aliases: person.called === person.key ? [] : [person.called],
  }));
  // A key of the upload names one person: it is removed from the person who had it before.
  await query(
    client,
    `with called as materialized (select * from json_to_recordset($2::json) as c(key text, called text)
     ), taken as (
       select m.key, array_agg(c.called) as aliases from batch_members m join called c on c.called = any(m.aliases) and c.key <> m.key
       where m.batch_id = $1 group by m.key
     ) update batch_members m set aliases = array(select unnest(m.aliases) except select unnest(t.aliases))
     from taken t where m.batch_id = $1 and m.key = t.key`,
    [id, toJson(members.map(({ key, called }) => ({ key, called })))],
  );
  await query(
    client,
    `with incoming as (select * from json_to_recordset($2::json) as i(key text, aliases json, pseudonym text, person json)
     ), written as (
       insert into batch_members as m (batch_id, key, aliases, pseudonym, person)
       select $1, key, array(select json_array_elements_text(aliases)), pseudonym, person from incoming
       on conflict (batch_id, key) do update set person = excluded.person,
         aliases = m.aliases || array(select unnest(excluded.aliases) except select unnest(m.aliases))
       where m.person::text <> excluded.person::text or not excluded.aliases <@ m.aliases
       returning 1
     ) update batches set roster = roster + 1 where id = $1 and exists (select 1 from written)`,
    [id, toJson(rows)],
  );
  return names;
}

/** Keeps the data about a person and leaves out the position in a file. */
function plain(person: BatchMember): BatchMember {
  const { key, name, sortableName, id, participant, sisId, login, email, handle } = person;
  const { section, group, language, aiConsent, submittedAt } = person;
  return {
    key,
    name,
    sortableName,
    id,
    participant,
    sisId,
    login,
    email,
    handle,
    section,
    group,
    language,
    aiConsent,
    submittedAt,
  } as BatchMember;
}

/** A submission of one person has that person's pseudonym; that of a group has one of its own. A further submission shows its number. */
async function nameWorks(
  client: PoolClient,
  id: string,
  works: KnownKeys["works"],
  members: ReadonlyMap<string, string>,
  named: Naming,
): Promise<readonly (KnownKeys["works"][number] & { readonly pseudonym: string })[]> {
  const wishes = works.map(({ key, by, attempt }) => {
    const [first] = by;
    const stranger = by.find((one) => !members.has(one));
    if (first === undefined || stranger !== undefined) {
      const who = first === undefined ? "nobody" : `${JSON.stringify(stranger)}, who is not a student of the class`;
      throw new StoreError("STORE_BATCH_REFUSED", `The work ${JSON.stringify(key)} is by ${who}.`);
    }
    const alone = by.length === 1 ? members.get(first) : undefined;
    return { key, wish: alone === undefined ? null : attempt > 1 ? `${alone}-${attempt}` : alone };
  });
  const ofWorks: Naming = (keys) => {
    const drawn = named(keys.map((key) => `work ${key}`));
    return new Map(keys.map((key) => [key, drawn.get(`work ${key}`) ?? "Student"]));
  };
  const names = drawNames(await namesOf(client, "batch_works", id), wishes, ofWorks);
  return works.map((work) => ({ ...work, pseudonym: names.get(work.key) ?? "" }));
}

async function namesOf(client: PoolClient, table: "batch_members" | "batch_works", id: string) {
  const rows = await query<{ key: string; pseudonym: string }>(
    client,
    `select key, pseudonym from ${table} where batch_id = $1`,
    [id],
  );
  return new Map(rows.map(({ key, pseudonym }) => [key, pseudonym]));
}

/** Names that were given stay. Of two equal ones, the later one gets a number. */
function drawNames(
  known: ReadonlyMap<string, string>,
  wanted: readonly { readonly key: string; readonly wish: string | null }[],
  named: Naming,
): ReadonlyMap<string, string> {
  const names = new Map(known);
  const taken = new Set(known.values());
  const missing = wanted.filter(({ key }) => !names.has(key));
  const drawn = named(missing.flatMap(({ key, wish }) => (wish === null ? key : [])));
  for (const { key, wish } of missing) {
    const first = wish ?? drawn.get(key) ?? "Student";
    let name = first;
    for (let number = 2; taken.has(name); number += 1) name = `${first}-${number}`;
    taken.add(name);
    names.set(key, name);
  }
  return names;
}

/** Checks that the named blobs exist, and resets their age (blobs.ts, P3). */
async function takeBlobs(client: PoolClient, tenant: string, works: readonly NewWork[]): Promise<void> {
  const hashes = [...new Set(works.flatMap(({ content }) => (content.is === "taken" ? content.hash : [])))];
  if (hashes.length === 0) return;
  await query(
    client,
    `update blobs set created_at = clock_timestamp()
     where tenant = $1 and hash = any($2) and created_at < clock_timestamp() - interval '1 hour'`,
    [tenant, hashes],
  );
  const [missing] = await query<{ hash: string }>(
    client,
    `select hash from unnest($2::text[]) as hash
     where not exists (select 1 from blobs b where b.tenant = $1 and b.hash = hash.hash) limit 1`,
    [tenant, hashes],
  );
  if (missing !== undefined) throw new StoreError("STORE_NOT_FOUND", `There is no blob ${missing.hash}.`);
}

/** V2. All parts of the statement see the rows as they were before any of them wrote. */
const worksText = `
with incoming as materialized (
  select i.*, row_number() over () as position from json_to_recordset($3::json) as i(key text, called text, pseudonym text, members json, group_name text,
    attempt integer, counts boolean, counts_for json, label text, sources json, submitted_at text, lateness json, content json, hash text, run_id text,
    definition text)
), known as materialized (
  select w.key, w.hash from batch_works w where w.batch_id = $1 and w.key in (select key from incoming)
), written as (
  insert into batch_works as w (batch_id, key, called, tenant, pseudonym, members, group_name, attempt, counts, counts_for, label, sources,
    submitted_at, lateness, hash, content)
  select $1, key, called, $2, pseudonym, array(select json_array_elements_text(members)), group_name, attempt, counts,
    case when json_typeof(counts_for) = 'array' then array(select json_array_elements_text(counts_for)) end, label,
    array(select json_array_elements_text(sources)), submitted_at, lateness, hash, content
  from incoming
  on conflict (batch_id, key) do update set called = excluded.called, members = excluded.members, group_name = excluded.group_name, attempt = excluded.attempt,
    counts = excluded.counts, counts_for = excluded.counts_for, label = excluded.label, sources = excluded.sources, submitted_at = excluded.submitted_at,
    lateness = excluded.lateness, hash = excluded.hash, content = excluded.content
  where (w.called, w.members, w.group_name, w.attempt, w.counts, w.counts_for, w.label, w.sources, w.submitted_at, w.lateness::text, w.hash,
      w.content::text)
    is distinct from (excluded.called, excluded.members, excluded.group_name, excluded.attempt, excluded.counts, excluded.counts_for, excluded.label,
      excluded.sources, excluded.submitted_at, excluded.lateness::text, excluded.hash, excluded.content::text)
), last as materialized (
  select distinct on (t.work) t.work, t.id, t.try, t.hash, t.admitted_at from batch_runs t
  where t.batch_id = $1 and t.work in (select key from incoming) order by t.work, t.try desc
), renewed as (
  update batch_runs t set hash = i.hash, criterion = null from last l join incoming i on i.key = l.work
  where t.id = l.id and l.admitted_at is null and l.hash <> i.hash
), added as (
  insert into batch_runs (batch_id, work, try, run_id, definition_hash, rubric_hash, hash, why)
  select $1, i.key, coalesce(l.try, 0) + 1, i.run_id, coalesce(i.definition, $4), $5, i.hash, case when l.id is null then 'first' else 'content' end
  from incoming i left join last l on l.work = i.key
  where i.hash is not null and i.counts and (l.id is null or (l.admitted_at is not null and l.hash <> i.hash))
  order by i.position
)
select count(*) filter (where k.key is null)::integer as added,
  count(*) filter (where k.key is not null and k.hash is distinct from i.hash)::integer as changed
from incoming i left join known k on k.key = i.key`;

/** V2. A submission that lost its key to another one is no longer identified by that key. */
const droppedText = `
update batch_works set counts = false where batch_id = $1 and counts
  and (coalesce(called, key) <> all($2::text[])
    or called is null and key in (select o.called from batch_works o where o.batch_id = $1 and o.called is not null))
  and ($3::text is null or coalesce(called, key) collate "C" > $3) and ($4::text is null or coalesce(called, key) collate "C" <= $4)
returning 1`;

/** Attempts that have not begun get the definition of the batch, or the one of their submission. */
const definitionText = `
with own as materialized (
  select w.key, coalesce(w.content -> 'start' ->> 'definition', $2) as definition from batch_works w where w.batch_id = $1
), following as (
  update batch_runs t set definition_hash = own.definition, rubric_hash = $3 from own
  where t.batch_id = $1 and own.key = t.work and t.admitted_at is null and t.why <> 'regrade'
    and (t.definition_hash, t.rubric_hash) <> (own.definition, $3)
)
select count(*)::integer as other from (
  select distinct on (t.work) t.work, t.definition_hash, t.admitted_at from batch_runs t where t.batch_id = $1 order by t.work, t.try desc
) last join own on own.key = last.work where last.definition_hash <> own.definition and last.admitted_at is not null`;
