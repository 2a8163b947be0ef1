/**
 * What people say of grades: appended, never changed. The database refuses any change, and any deletion but that of a whole batch.
 *
 * E1  Said of a work as it is: an event is appended under the locks of the batch's row and the work's row, and only if rubric, content
 *     and events are those that the decision was made on; else the grade is read again and decided again.
 * E2  An override and a withdrawal need a reason. Points beyond a criterion are refused, not cut.
 * E3  Only what has an outcome of its own is released: graded, or ungradable.
 * E4  A mark of another person is replaced or taken back only by somebody who says which state of the work they saw. An undo takes back
 *     one mark: the named one, or else the last one of the same person.
 * E5  Nothing is appended to a batch that is being deleted or is gone.
 * E6  A request with an idempotency key appends at most one event. It is looked for first, so a repeated request gets the same answer
 *     whatever has happened since.
 *
 * kill -9 before the commit: nothing was said. After it: the event is there, and the repeated request finds it by its key.
 */
import { createHash } from "node:crypto";
import type { FinalGrade, GradeEvent, PersonMark } from "@markmill/grading";
import type { Database } from "../database.ts";
import { neutral } from "../neutral.ts";
import { queryDatabase } from "../query-database.ts";
import type { PageRequest } from "../read/list-definitions.ts";
import { isDuplicate, StoreError, translate } from "../store-error.ts";
import { inTransaction } from "../transaction.ts";
import type { BatchDetail, BatchWork, NewGradeEvent } from "./batch.ts";
import { noBatch } from "./read-batches.ts";

/** Of a row `v`, as a `GradeEvent`. */
export const eventJson = `json_build_object('id', v.id, 'work', v.work, 'at', to_char(v.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'by', v.who, 'kind', v.kind, 'criterion', v.criterion, 'from', v.points_from, 'to', v.points_to, 'reason', v.reason,
    'comment', v.comment, 'rubricHash', v.rubric_hash, 'content', v.content, 'try', v.try, 'takesBack', v.takes_back)`;

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
  const request = said.idempotencyKey === undefined ? null : { key: said.idempotencyKey, hash: requestHash(said) };
  for (;;) {
    const batch = await reader.rubric(id);
    if (batch === null) throw noBatch(id);
    const before = request === null ? null : await eventOfKey(database, id, request);
    if (before !== null) return before;
    const work = await reader.work(id, said.work);
    if (work === null) throw new StoreError("STORE_NOT_FOUND", `There is no work ${JSON.stringify(said.work)}.`);
    const stands = work.proposal?.try ?? 0;
    if (said.try !== undefined && said.try !== stands) {
      throw refused(`It was said of try ${said.try}, and try ${stands} stands now. Look at the work again.`);
    }
    if (said.seen !== undefined && said.seen !== "any" && !said.seen.includes(work.etag)) {
      throw new StoreError("STORE_GRADE_CHANGED", "The grade of the work has changed since it was read.");
    }
    const appended = await append(database, id, {
      ...{ said, rubricHash: batch.rubricHash, try: stands, after: work.events.at(-1)?.id ?? 0, request },
      content: work.content.is === "taken" ? work.content.hash : null,
      ...checked(batch, work, said),
    });
    if (appended !== null) return appended;
  }
}

interface Request {
  readonly key: string;
  readonly hash: string;
}

/** Of all that is asked for. How it is asked for (key, precondition) is no part of it. */
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
}: NewGradeEvent): string {
  const asked = JSON.stringify(
    [work, kind, by, criterion, points, takesBack, reason, comment, seen].map((one) => [one]),
  );
  return createHash("sha256").update(asked).digest("hex");
}

/** E6. */
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

interface Decided extends Change {
  readonly said: NewGradeEvent;
  readonly rubricHash: string;
  readonly content: string | null;
  readonly try: number;
  /** Id of the last event that was read. */
  readonly after: number;
  readonly request: Request | null;
}

/** E1, E5. null: the work is not as it was when this was decided. */
async function append(database: Database, id: string, decided: Decided): Promise<GradeEvent | null> {
  const { said, rubricHash, content, request } = decided;
  try {
    return await inTransaction(database.calm, async (client) => {
      const { rows: batches } = await client.query<{ rubric_hash: string; deleting: boolean }>(
        "select rubric_hash, deleting_at is not null as deleting from batches where id = $1 for share",
        [id],
      );
      const [batch] = batches;
      if (batch === undefined) throw noBatch(id);
      if (batch.deleting) throw refused("The class is being deleted, so nothing more is said of its grades.");
      const { rows: works } = await client.query<{ hash: string | null }>(
        "select hash from batch_works where batch_id = $1 and key = $2 for update",
        [id, said.work],
      );
      if (batch.rubric_hash !== rubricHash || works[0]?.hash !== content) return null;
      const { rows } = await client.query<{ event: GradeEvent }>(
        `insert into grade_events as v (batch_id, work, who, kind, criterion, points_from, points_to, reason, comment, rubric_hash,
           content, try, takes_back, idempotency_key, request_hash)
         select $1, $2, $3, $4, $5, $6::float8, $7::float8, $8, $9, $10, $11, $12::integer, $13::bigint, $14, $15
         where not exists (select 1 from grade_events later where later.batch_id = $1 and later.work = $2 and later.id > $16::bigint)
         returning ${eventJson} as event`,
        [
          ...[id, said.work, said.by, said.kind, decided.criterion, decided.from, decided.to],
          ...[said.reason ?? "", said.comment ?? "", rubricHash, content, decided.try, decided.takesBack],
          ...[request?.key ?? null, request?.hash ?? null, decided.after],
        ],
      );
      return rows[0]?.event ?? null;
    });
  } catch (error) {
    // Another request with the same key was quicker, with another work.
    if (request !== null && isDuplicate(error)) return null;
    throw translate(error, "Recording a grade");
  }
}

interface Change {
  readonly criterion: string | null;
  readonly from: number | null;
  readonly to: number | null;
  readonly takesBack: number | null;
}

function checked(batch: BatchRubric, { grade, marks }: BatchWork, said: NewGradeEvent): Change {
  if (said.by.trim() === "") throw refused("Somebody has to say it.");
  const reason = (said.reason ?? "").trim();
  const none = { criterion: null, takesBack: null };
  switch (said.kind) {
    case "override": {
      if (reason === "") throw refused("An override needs a reason.");
      return said.points === null ? undone(grade, marks, said) : overridden(batch, grade, marks, said);
    }
    case "reviewed":
      if (grade === null) throw refused("The work is not graded yet: there is nothing to review.");
      return { ...none, from: null, to: null };
    case "released": {
      const is = grade?.outcome.is;
      if (grade === null || (is !== "graded" && is !== "ungradable"))
        throw refused(`The work is ${is ?? "not graded yet"}: only what is graded or ungradable is released.`);
      return { ...none, from: null, to: grade.total };
    }
    case "withdrawn":
      if (reason === "") throw refused("Withdrawing a grade needs a reason.");
      if (grade?.released == null) throw refused("The grade is not released.");
      return { ...none, from: grade.released.total, to: null };
  }
}

/** E2, E4. */
function overridden(
  { rubric }: BatchRubric,
  grade: FinalGrade | null,
  marks: readonly PersonMark[],
  said: NewGradeEvent,
): Change {
  const { criterion: id, points } = said;
  const criterion = rubric.criteria.find((one) => one.id === id);
  if (criterion === undefined) {
    const known = rubric.criteria.map((one) => one.id).join(", ");
    throw refused(`The rubric has no criterion ${JSON.stringify(id ?? "")}; it has ${known}.`);
  }
  if (said.takesBack !== undefined) throw refused("An override that takes back a mark has no points (null).");
  if (points === undefined || points === null) throw refused("An override says how many points.");
  const [least, most] = criterion.points < 0 ? [criterion.points, 0] : [0, criterion.points];
  if (!(points >= least && points <= most))
    throw refused(`${criterion.id} has ${least} to ${most} points, not ${points}.`);
  const standing = marks.find((mark) => mark.criterion === id && mark.fate.is === "stands");
  if (standing !== undefined) requireSeen(standing, said);
  return {
    ...{ criterion: criterion.id, takesBack: null, to: Math.round(points * 1000) / 1000 },
    from: pointsOf(grade, criterion.id),
  };
}

/** E4. */
function undone(grade: FinalGrade | null, all: readonly PersonMark[], said: NewGradeEvent): Change {
  const { criterion, takesBack, by } = said;
  const marks = all.filter(({ fate }) => fate.is === "stands" || fate.is === "replaced");
  const mark =
    takesBack === undefined
      ? marks.findLast((one) => one.criterion === criterion && one.by === by)
      : marks.find((one) => one.id === takesBack && (criterion === undefined || one.criterion === criterion));
  if (mark === undefined) {
    if (takesBack !== undefined) throw refused(`There is no mark ${takesBack} of this work that could be taken back.`);
    const other = marks.findLast((one) => one.criterion === criterion);
    if (other === undefined) throw refused(`Nobody has overridden ${criterion ?? "it"}.`);
    throw refused(`${by} has not overridden ${criterion}. ${tellMark(other)} To take that one back, name its id.`);
  }
  requireSeen(mark, said);
  return { criterion: mark.criterion, takesBack: mark.id, to: null, from: pointsOf(grade, mark.criterion) };
}

/** E4. */
function requireSeen(mark: PersonMark, { by, seen }: NewGradeEvent): void {
  if (mark.by === by || seen !== undefined) return;
  throw new StoreError("STORE_GRADE_UNSEEN", `Another person's mark would be replaced. ${tellMark(mark)}`);
}

function tellMark({ id, by, at, points, criterion, reason }: PersonMark): string {
  return `Mark ${id}: ${by} gave ${criterion} ${points} points at ${at} (${reason}).`;
}

function pointsOf(grade: FinalGrade | null, criterion: string): number | null {
  const before = grade?.criteria.find((one) => one.id === criterion);
  return before?.is === "scored" ? before.points : null;
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
    throw new StoreError("STORE_PAGE_KEY", `${JSON.stringify(after)} is no key of a page here.`);
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
