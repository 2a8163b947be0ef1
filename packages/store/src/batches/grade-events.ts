/**
 * What people say of grades: appended, never changed. The database refuses any change, and any deletion but that of a whole batch.
 *
 * E1  Said of a work as it is: an event is appended under the lock of the work's row, and only if nothing was said since its grade was
 *     read; else the grade is read again.
 * E2  An override and a withdrawal need a reason. Points beyond a criterion are refused, not cut.
 * E3  Only what has an outcome of its own is released: graded, or ungradable.
 */
import type { FinalGrade, GradeEvent } from "@markmill/grading";
import type { Database } from "../database.ts";
import { neutral } from "../neutral.ts";
import { queryDatabase } from "../query-database.ts";
import type { PageRequest } from "../read/list-definitions.ts";
import { StoreError, translate } from "../store-error.ts";
import { inTransaction } from "../transaction.ts";
import type { BatchDetail, BatchWork, NewGradeEvent } from "./batch.ts";

/** Of a row `v`, as a `GradeEvent`. */
export const eventJson = `json_build_object('id', v.id, 'work', v.work, 'at', to_char(v.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'by', v.who, 'kind', v.kind, 'criterion', v.criterion, 'from', v.points_from, 'to', v.points_to, 'reason', v.reason,
    'comment', v.comment, 'rubricHash', v.rubric_hash, 'content', v.content, 'try', v.try)`;

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
  for (;;) {
    const batch = await reader.rubric(id);
    if (batch === null) throw new StoreError("STORE_NOT_FOUND", `There is no batch ${id}.`);
    const work = await reader.work(id, said.work);
    if (work === null) throw new StoreError("STORE_NOT_FOUND", `There is no work ${JSON.stringify(said.work)}.`);
    const stands = work.proposal?.try ?? 0;
    if (said.try !== undefined && said.try !== stands) {
      throw refused(`It was said of try ${said.try}, and try ${stands} stands now. Look at the work again.`);
    }
    const { from, to } = checked(batch, work, said);
    const values = [
      ...[id, said.work, said.by, said.kind, said.kind === "override" ? said.criterion : null, from, to],
      ...[said.reason ?? "", said.comment ?? "", batch.rubricHash],
      ...[work.content.is === "taken" ? work.content.hash : null, stands, work.events.at(-1)?.id ?? 0],
    ];
    const appended = await append(database, values);
    if (appended !== null) return appended;
  }
}

/** E1. null: somebody else has said something in between. */
async function append(database: Database, values: readonly unknown[]): Promise<GradeEvent | null> {
  try {
    return await inTransaction(database.calm, async (client) => {
      await client.query("select 1 from batch_works where batch_id = $1 and key = $2 for update", values.slice(0, 2));
      const { rows } = await client.query<{ event: GradeEvent }>(
        `insert into grade_events as v (batch_id, work, who, kind, criterion, points_from, points_to, reason, comment, rubric_hash,
           content, try)
         select $1, $2, $3, $4, $5, $6::float8, $7::float8, $8, $9, $10, $11, $12::integer
         where not exists (select 1 from grade_events later where later.batch_id = $1 and later.work = $2 and later.id > $13::bigint)
         returning ${eventJson} as event`,
        [...values],
      );
      return rows[0]?.event ?? null;
    });
  } catch (error) {
    throw translate(error, "Recording a grade");
  }
}

function checked(
  batch: BatchRubric,
  { grade }: BatchWork,
  said: NewGradeEvent,
): { readonly from: number | null; readonly to: number | null } {
  if (said.by.trim() === "") throw refused("Somebody has to say it.");
  const reason = (said.reason ?? "").trim();
  switch (said.kind) {
    case "override": {
      if (reason === "") throw refused("An override needs a reason.");
      return overridden(batch, grade, said);
    }
    case "reviewed":
      if (grade === null) throw refused("The work is not graded yet: there is nothing to review.");
      return { from: null, to: null };
    case "released": {
      const is = grade?.outcome.is;
      if (grade === null || (is !== "graded" && is !== "ungradable"))
        throw refused(`The work is ${is ?? "not graded yet"}: only what is graded or ungradable is released.`);
      return { from: null, to: grade.total };
    }
    case "withdrawn":
      if (reason === "") throw refused("Withdrawing a grade needs a reason.");
      if (grade?.released == null) throw refused("The grade is not released.");
      return { from: grade.released.total, to: null };
  }
}

/** E2. */
function overridden({ rubric }: BatchRubric, grade: FinalGrade | null, { criterion: id, points }: NewGradeEvent) {
  const criterion = rubric.criteria.find((one) => one.id === id);
  if (criterion === undefined) {
    const known = rubric.criteria.map((one) => one.id).join(", ");
    throw refused(`The rubric has no criterion ${JSON.stringify(id ?? "")}; it has ${known}.`);
  }
  if (points === undefined) throw refused("An override says how many points.");
  if (points === null && !grade?.overrides.some((one) => one.criterion === id))
    throw refused(`Nobody has overridden ${criterion.id}.`);
  const [least, most] = criterion.points < 0 ? [criterion.points, 0] : [0, criterion.points];
  if (points !== null && !(points >= least && points <= most))
    throw refused(`${criterion.id} has ${least} to ${most} points, not ${points}.`);
  const before = grade?.criteria.find((one) => one.id === id);
  return {
    from: before?.is === "scored" ? before.points : null,
    to: points === null ? null : Math.round(points * 1000) / 1000,
  };
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
