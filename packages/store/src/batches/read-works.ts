/** The submissions of a batch, page by page: status, current grade, events of people, and cost. */
import type { Failure } from "@markmill/engine";
import type { Grade, GradeEvent, Rubric, WorkSituation } from "@markmill/grading";
import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";
import { noCalls, type Spent, sumOf } from "../money/charges.ts";
import type { PageRequest } from "../read/list-definitions.ts";
import {
  type BatchSettings,
  type BatchWork,
  contentHash,
  type NewWork,
  type WorkContent,
  type WorkFilter,
  type WorkLateness,
  type WorkPage,
  type WorkStanding,
  type WorkTry,
} from "./batch.ts";
import { eventJson } from "./grade-events.ts";
import { gradeTag } from "./grade-tag.ts";
import { gradeOfTree, proposalOfWork, standing, tryStanding, worksWithRuns } from "./standing-sql.ts";

interface WorkRow {
  readonly key: string;
  readonly pseudonym: string;
  readonly members: string[];
  readonly groupName: string | null;
  readonly attempt: number;
  readonly counts: boolean;
  readonly countsFor: string[] | null;
  readonly label: string;
  readonly sources: string[];
  readonly submittedAt: string | null;
  readonly lateness: WorkLateness;
  readonly hash: string | null;
  readonly content: WorkContent;
  readonly standing: WorkStanding["is"];
  readonly wait: WaitJson | null;
  readonly status: string | null;
  readonly failure: Failure | null;
  readonly refusal: Refusal | null;
  readonly lastTry: TryJson | null;
  readonly tries: number;
  readonly proposal: { readonly grade: Grade; readonly try: number; readonly rubricHash: string } | null;
  readonly events: readonly GradeEvent[];
  readonly spent: Spent | null;
}

interface TryJson {
  readonly try: number;
  readonly runId: string;
  readonly definitionHash: string;
  readonly why: WorkTry["why"];
  readonly startedAt: string | null;
  readonly endedAt: string | null;
}

interface WaitJson {
  readonly runId: string;
  readonly node: string;
  readonly parked: never;
  readonly nextTry: string | null;
}

interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** The wait of an open run `r`. */
const wait = `case when r.id is not null and r.ended_at is null then (
    select json_build_object('runId', a.run_id, 'node', a.node, 'parked', a.trouble, 'nextTry', a.not_before)
    from activities a where a.root_id = r.id and a.trouble is not null and a.state in ('ready', 'claimed', 'waiting')
    order by (a.trouble ->> 'since')::float8, a.id limit 1) end`;

const text = `
select w.key, w.pseudonym, w.members, w.group_name as "groupName", w.attempt, w.counts, w.counts_for as "countsFor", w.label, w.sources, w.submitted_at as "submittedAt",
  w.lateness, w.hash, w.content, ${standing} as standing, ${wait} as wait, r.status, r.reason as failure, l.refusal,
  case when l.id is not null then json_build_object('try', l.try, 'runId', l.run_id, 'definitionHash', l.definition_hash, 'why', l.why,
    'startedAt', r.created_at, 'endedAt', r.ended_at) end as "lastTry",
  coalesce(l.try, 0) as tries,
  (select row_to_json(p) from (${proposalOfWork}) p) as proposal,
  (select coalesce(json_agg(${eventJson} order by v.id), '[]') from grade_events v where v.batch_id = w.batch_id and v.work = w.key) as events,
  ${sumOf("c.root_id in (select t.run_id from markmill.batch_runs t where t.batch_id = w.batch_id and t.work = w.key)")} as spent
from ${worksWithRuns}
where w.batch_id = $1 and ($2::text is null or w.key > $2) and ($3::text[] is null or w.key = any($3))
  and ($4::text[] is null or ${standing} = any($4)) and ($5::boolean is null or w.counts = $5)
order by w.key limit $6`;

/** The data for computing the grades of a batch. null: there is none. */
export interface BatchFacts {
  readonly rubric: Rubric;
  readonly rubricHash: string;
  /** Earlier rubrics, by their hashes. */
  readonly rubrics: ReadonlyMap<string, Rubric>;
  readonly settings: BatchSettings;
}

type FactsRow = Omit<BatchFacts, "rubrics"> & {
  readonly earlier: readonly { readonly hash: string; readonly rubric: Rubric }[];
};

export async function factsOf(database: Database, tenant: string, id: string): Promise<BatchFacts | null> {
  const [found] = await queryDatabase<FactsRow>(
    database,
    "Reading a batch",
    `select b.rubric, b.rubric_hash as "rubricHash", b.settings,
       (select coalesce(json_agg(json_build_object('hash', o.hash, 'rubric', o.rubric)), '[]') from batch_rubrics o
        where o.batch_id = b.id and o.hash <> b.rubric_hash) as earlier
     from batches b where b.tenant = $1 and b.id = $2`,
    [tenant, id],
  );
  if (found === undefined) return null;
  const { isHashOf } = await import("@markmill/grading");
  const { earlier, ...facts } = found;
  const known = earlier.filter(({ hash, rubric }) => isHashOf(rubric, hash));
  return { ...facts, rubrics: new Map(known.map(({ hash, rubric }) => [hash, rubric])) };
}

const defaultLimit = 50;
const mostLimit = 200;

export async function listWorks(
  database: Database,
  tenant: string,
  id: string,
  filter: WorkFilter = {},
  page: PageRequest = {},
): Promise<WorkPage> {
  const limit = Math.max(1, Math.min(page.limit ?? defaultLimit, mostLimit));
  const facts = await factsOf(database, tenant, id);
  if (facts === null) return { works: [], next: null };
  const { keys = null, standing: wanted = null, counts = null, outcome, released } = filter;
  const works: BatchWork[] = [];
  for (let after = page.after ?? null; ; ) {
    const values = [id, after, keys, wanted, counts, limit + 1];
    const rows = await queryDatabase<WorkRow>(database, "Listing works", text, values);
    for (const row of rows.slice(0, limit)) {
      const work = await toWork(row, facts);
      after = work.key;
      // A grade is computed from several rows, so the filter must run here.
      if (outcome !== undefined && !(work.grade !== null && outcome.includes(work.grade.outcome.is))) continue;
      if (released !== undefined && (work.grade?.released != null) !== released) continue;
      works.push(work);
      if (works.length === limit) return { works, next: row === rows.at(-1) ? null : after };
    }
    if (rows.length <= limit) return { works, next: null };
  }
}

export async function getWork(database: Database, tenant: string, id: string, key: string): Promise<BatchWork | null> {
  return (await listWorks(database, tenant, id, { keys: [key] }, { limit: 1 })).works[0] ?? null;
}

async function toWork(row: WorkRow, { rubric, rubricHash, rubrics, settings }: BatchFacts): Promise<BatchWork> {
  const { finalGrade, latePenalty, mostPoints, personMarks } = await import("@markmill/grading");
  const work: NewWork = {
    key: row.key,
    by: row.members,
    group: row.groupName,
    attempt: row.attempt,
    counts: row.counts,
    ...(row.countsFor === null ? {} : { countsFor: row.countsFor }),
    label: row.label,
    sources: row.sources,
    submittedAt: row.submittedAt,
    lateness: row.lateness,
    content: row.content,
  };
  const stands = standingOf(row);
  const content = contentHash(row.content);
  const late = row.lateness.is === "late" ? row.lateness.byMs : null;
  const { lastTry, proposal, events } = row;
  return {
    ...work,
    pseudonym: row.pseudonym,
    standing: stands,
    try: lastTry === null ? null : { ...lastTry, startedAt: date(lastTry.startedAt), endedAt: date(lastTry.endedAt) },
    tries: row.tries,
    proposal: proposal === null ? null : { grade: proposal.grade, try: proposal.try },
    grade: finalGrade({
      rubric,
      rubricHash,
      rubrics,
      situation: situationOf(stands, row.content),
      content,
      proposal,
      events,
      penalty: settings.late === null ? null : latePenalty(mostPoints(rubric), settings.late, late),
    }),
    events,
    marks: personMarks({ rubric, content, events }),
    etag: gradeTag({ content, try: proposal?.try ?? 0, id: events.at(-1)?.id ?? 0, rubricHash }),
    spent: row.spent ?? noCalls,
  };
}

const date = (text: string | null) => (text === null ? null : new Date(text));

function standingOf(row: WorkRow): WorkStanding {
  if (row.standing === "ungradable") return { is: "ungradable", why: whyUngradable(row.content) };
  if (row.standing === "not counted") return { is: "not counted" };
  return toTryStanding(row.standing, row);
}

interface RunColumns {
  readonly wait: WaitJson | null;
  readonly status: string | null;
  readonly failure: Failure | null;
  readonly refusal: Refusal | null;
}

function toTryStanding(is: WorkTry["standing"]["is"], row: RunColumns): WorkTry["standing"] {
  switch (is) {
    case "running": {
      const { wait: waits } = row;
      return { is, wait: waits === null ? null : { ...waits, nextTry: date(waits.nextTry) } };
    }
    case "failed":
      return { is, status: row.status === "cancelled" ? "cancelled" : "failed", failure: row.failure };
    case "refused":
      return { is, code: row.refusal?.code ?? "", message: row.refusal?.message ?? "" };
    default:
      return { is };
  }
}

function whyUngradable(content: WorkContent): string {
  switch (content.is) {
    case "refused":
    case "incomplete":
    case "undecided":
      return content.message;
    case "empty":
      return "The submission contains nothing that can be graded.";
    case "taken":
      return "";
  }
}

function situationOf(stands: WorkStanding, content: WorkContent): WorkSituation {
  if (content.is === "undecided") return { is: "undecided", why: content.message };
  switch (stands.is) {
    case "ungradable":
      return { is: "ungradable", why: stands.why };
    case "waiting":
    case "running":
    case "not counted":
      return { is: "open" };
    case "succeeded":
      return { is: "done" };
    case "failed":
      return { is: "failed", why: stands.failure?.message ?? `the run was ${stands.status}` };
    case "refused":
      return { is: "failed", why: stands.message };
    case "deleted":
      return { is: "failed", why: "the run was deleted" };
  }
}

interface TryRow extends RunColumns, Omit<WorkTry, "standing" | "spent"> {
  readonly standing: WorkTry["standing"]["is"];
  readonly spent: Spent | null;
}

export async function listTries(
  database: Database,
  tenant: string,
  id: string,
  key: string,
): Promise<readonly WorkTry[]> {
  const rows = await queryDatabase<TryRow>(
    database,
    "Listing tries",
    `select l.try, l.run_id as "runId", l.definition_hash as "definitionHash", l.hash as content, l.why, ${tryStanding} as standing,
       (select g.grade from (${gradeOfTree("l.run_id")}) g) as grade, ${wait} as wait, r.status, r.reason as failure, l.refusal,
       r.created_at as "startedAt", r.ended_at as "endedAt", ${sumOf("c.root_id = l.run_id")} as spent
     from batches b join batch_runs l on l.batch_id = b.id left join runs r on r.id = l.run_id
     where b.tenant = $1 and b.id = $2 and l.work = $3 order by l.try`,
    [tenant, id, key],
  );
  return rows.map(({ standing: is, wait: waits, status, failure, refusal, spent, ...row }) => ({
    ...row,
    standing: toTryStanding(is, { wait: waits, status, failure, refusal }),
    spent: spent ?? noCalls,
  }));
}
