/**
 * Grade events: decisions of people about grades, appended and never changed. The database refuses every change, and every deletion except
 * that of a whole batch.
 *
 * E1  An event applies to a submission in a certain state. It is appended under the locks of the batch's row and the submission's row.
 *     Rubric, content and events must be the same as when the decision was made. Otherwise the grade is read and decided again.
 * E2  grading/decide-grade.ts decides which events are accepted and what they change. A request may name the state of the submission that
 *     its person saw. It is refused if the state has changed by now (STORE_GRADE_CHANGED).
 * E3  No event is appended to a batch that is being deleted or is gone.
 * E4  A request with an idempotency key appends at most one event. The key is looked up first, so a repeated request gets the same answer,
 *     whatever has happened since.
 *
 * kill -9 before the commit: no event exists. After it: the event exists, and the repeated request finds it by its key.
 */
import { createHash } from "node:crypto";
import type { decideGrade as Decide, GradeDecision, GradeEvent } from "@markmill/grading";
import type { Database } from "../database/database.ts";
import { neutral } from "../database/neutral.ts";
import { queryDatabase } from "../database/query-database.ts";
import { isDuplicate, StoreError, translate } from "../database/store-error.ts";
import { inTransaction } from "../database/transaction.ts";
import type { PageRequest } from "../read/list-definitions.ts";
import { type BatchDetail, type BatchWork, contentHash, type NewGradeEvent } from "./batch.ts";
import { noBatch } from "./read-batches.ts";

/** A row `v`, as a `GradeEvent`. */
export const eventJson = `json_build_object('id', v.id, 'work', v.work, 'at', to_char(v.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'by', v.who, 'kind', v.kind, 'criterion', v.criterion, 'from', v.points_from, 'to', v.points_to, 'reason', v.reason,
    'comment', v.comment, 'rubricHash', v.rubric_hash, 'content', v.content, 'try', v.try, 'takesBack', v.takes_back, 'students', v.students)`;

type BatchRubric = Pick<BatchDetail, "rubric" | "rubricHash">;

export interface GradeReader {
  rubric(id: string): Promise<BatchRubric | null>;
  work(id: string, key: string): Promise<BatchWork | null>;
}

export async function recordGrade(
  database: Database,
  reader: GradeReader,
  id: string,
  asked: NewGradeEvent,
): Promise<GradeEvent> {
  const said = neutral(asked);
  const { decideGrade } = await import("@markmill/grading");
  const request = said.idempotencyKey === undefined ? null : { key: said.idempotencyKey, hash: requestHash(said) };
  for (;;) {
    const batch = await reader.rubric(id);
    if (batch === null) throw noBatch(id);
    const before = request === null ? null : await eventOfKey(database, id, request);
    if (before !== null) return before;
    const work = await reader.work(id, said.work);
    if (work === null) throw new StoreError("STORE_NOT_FOUND", `There is no submission ${JSON.stringify(said.work)}.`);
    const stands = work.proposal?.try ?? 0;
    if (said.try !== undefined && said.try !== stands) {
      throw refused(
        `You have read grading attempt ${said.try}, but grading attempt ${stands} is the current one. Read the submission again.`,
      );
    }
    if (said.seen !== undefined && said.seen !== "any" && !said.seen.includes(work.etag)) {
      throw new StoreError("STORE_GRADE_CHANGED", "The grade of the submission has changed since it was read.");
    }
    const appended = await append(database, id, {
      said,
      rubricHash: batch.rubricHash,
      try: stands,
      after: work.events.at(-1)?.id ?? 0,
      request,
      content: contentHash(work.content),
      students: studentsOf(work, said),
      ...decided(decideGrade, batch, work, said),
    });
    if (appended !== null) return appended;
  }
}

/** The students of a release. Default: all students for whom the submission counts now, without those who join it later. */
function studentsOf({ by, countsFor }: BatchWork, { kind, students }: NewGradeEvent): readonly string[] | null {
  if (kind !== "released") {
    if (students === undefined) return null;
    throw new StoreError("STORE_GRADE_INVALID", "Only a release can name students.");
  }
  const stranger = students?.find((key) => !by.includes(key));
  if (stranger !== undefined) throw refused(`${JSON.stringify(stranger)} did not hand in this submission.`);
  return students ?? countsFor ?? by;
}

interface Request {
  readonly key: string;
  readonly hash: string;
}

/** Hash of the request's content. The way of asking (key, precondition) is not part of it. */
function requestHash({
  work,
  kind,
  by,
  criterion,
  points,
  takesBack,
  reason,
  comment,
  try: seen,
  students,
}: NewGradeEvent): string {
  const asked = JSON.stringify(
    [
      work,
      kind,
      by,
      criterion,
      points,
      takesBack,
      reason,
      comment,
      seen,
      ...(students === undefined ? [] : [students]),
    ].map((one) => [one]),
  );
  return createHash("sha256").update(asked).digest("hex");
}

/** See E4. */
async function eventOfKey(database: Database, id: string, { key, hash }: Request): Promise<GradeEvent | null> {
  const [found] = await queryDatabase<{ event: GradeEvent; same: boolean }>(
    database,
    "Looking for a key",
    `select ${eventJson} as event, v.request_hash = $3 as same from grade_events v where v.batch_id = $1 and v.idempotency_key = $2`,
    [id, key, hash],
  );
  if (found === undefined) return null;
  if (!found.same) throw new StoreError("STORE_KEY_REUSED", `The key ${key} was used for another request.`);
  return found.event;
}

type Change = Extract<GradeDecision, { readonly is: "taken" }>;

interface Decided extends Change {
  readonly said: NewGradeEvent;
  readonly rubricHash: string;
  readonly content: string | null;
  readonly try: number;
  /** Id of the last event that was read. */
  readonly after: number;
  /** For a release. */
  readonly students: readonly string[] | null;
  readonly request: Request | null;
}

/** See E1 and E3. null: the submission has changed since the decision. */
async function append(database: Database, id: string, decision: Decided): Promise<GradeEvent | null> {
  const { said, rubricHash, content, request } = decision;
  try {
    return await inTransaction(database.calm, async (client) => {
      const { rows: batches } = await client.query<{ rubric_hash: string; deleting: boolean }>(
        "select rubric_hash, deleting_at is not null as deleting from batches where id = $1 for share",
        [id],
      );
      const [batch] = batches;
      if (batch === undefined) throw noBatch(id);
      if (batch.deleting) throw refused("The class is being deleted, so its grades cannot be changed.");
      const { rows: works } = await client.query<{ hash: string | null }>(
        "select coalesce(hash, content ->> 'hash') as hash from batch_works where batch_id = $1 and key = $2 for update",
        [id, said.work],
      );
      if (batch.rubric_hash !== rubricHash || works[0]?.hash !== content) return null;
      const { rows } = await client.query<{ event: GradeEvent }>(
        `insert into grade_events as v (batch_id, work, who, kind, criterion, points_from, points_to, reason, comment, rubric_hash,
           content, try, takes_back, idempotency_key, request_hash, students)
         select $1, $2, $3, $4, $5, $6::float8, $7::float8, $8, $9, $10, $11, $12::integer, $13::bigint, $14, $15, $17::text[]
         where not exists (select 1 from grade_events later where later.batch_id = $1 and later.work = $2 and later.id > $16::bigint)
         returning ${eventJson} as event`,
        [
          ...[id, said.work, said.by, said.kind, decision.criterion, decision.from, decision.to],
          ...[said.reason ?? "", said.comment ?? "", rubricHash, content, decision.try, decision.takesBack],
          ...[request?.key ?? null, request?.hash ?? null, decision.after, decision.students],
        ],
      );
      return rows[0]?.event ?? null;
    });
  } catch (error) {
    // Another request with the same key was faster, for another submission.
    if (request !== null && isDuplicate(error)) return null;
    throw translate(error, "Recording a grade");
  }
}

function decided(
  decideGrade: typeof Decide,
  { rubric }: BatchRubric,
  { grade, marks, content }: BatchWork,
  said: NewGradeEvent,
): Change {
  const decision = decideGrade(
    { rubric, grade, marks, undecided: content.is === "undecided" },
    { ...said, seen: said.seen !== undefined },
  );
  switch (decision.is) {
    case "taken":
      return decision;
    case "unseen":
      throw new StoreError("STORE_GRADE_UNSEEN", decision.why);
    case "invalid":
      throw new StoreError("STORE_GRADE_INVALID", decision.why);
    case "refused":
      throw refused(decision.why);
  }
}

const refused = (message: string) => new StoreError("STORE_GRADE_REFUSED", message);

export async function listGradeEvents(
  database: Database,
  tenant: string,
  id: string,
  work: string | null,
  page: PageRequest = {},
): Promise<{ readonly events: readonly GradeEvent[]; readonly next: string | null }> {
  const limit = Math.max(1, Math.min(page.limit ?? 200, 1_000));
  const after = page.after ?? "0";
  if (!/^\d{1,15}$/.test(after))
    throw new StoreError("STORE_PAGE_KEY", `${JSON.stringify(after)} is not a page key of this list.`);
  const rows = await queryDatabase<{ event: GradeEvent }>(
    database,
    "Listing grade events",
    `select ${eventJson} as event from batches b join grade_events v on v.batch_id = b.id
     where b.tenant = $1 and b.id = $2 and ($3::text is null or v.work = $3) and v.id > $4::bigint order by v.id limit $5`,
    [tenant, id, work, after, limit + 1],
  );
  const events = rows.slice(0, limit).map(({ event }) => event);
  return { events, next: rows.length > limit ? String(events.at(-1)?.id) : null };
}
