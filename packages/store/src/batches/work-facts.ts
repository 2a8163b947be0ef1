/**
 * The facts of a class for code that calls a model for a run of a batch. The model itself must not see them. The run's options name its
 * submission; runs that were created from it have the same options. The students are read once per process and batch, and again when the
 * roster has changed.
 *
 * A run whose batch is gone gets an error: names can be removed from requests only if they are known. So does a run for one criterion if
 * the other marks are no longer valid (standing-marks.ts): it must never become a grade of the whole submission.
 */
import type { AiConsent, Grade, Person, WorkFacts } from "@markmill/grading";
import type { Database } from "../database/database.ts";
import { queryDatabase, queryHot } from "../database/query-database.ts";
import { StoreError } from "../database/store-error.ts";
import type { Definitions } from "../definitions/definitions.ts";
import { gathered, promptLingerMs } from "../throughput/gathered.ts";
import type { BatchMember, BatchSettings } from "./batch.ts";
import { type GradedBy, hasMarks, isReworded, withoutMark } from "./standing-marks.ts";
import { gradeOfTree } from "./standing-sql.ts";

/** null: the run belongs to no class. */
export type ReadWorkFacts = (rootId: string) => Promise<WorkFacts | null>;

interface Roster {
  readonly version: number;
  readonly members: ReadonlyMap<string, BatchMember>;
  readonly people: readonly Person[];
  readonly pseudonyms: ReadonlyMap<string, string>;
}

interface FactsRow {
  readonly id: string;
  readonly batch: string | null;
  readonly tenant: string;
  readonly found: true | null;
  readonly roster: number;
  readonly settings: BatchSettings;
  readonly own: readonly string[] | null;
  readonly criterion: string | null;
}

/** A submission's marks from the last attempt that graded the same content. */
interface StandingRow {
  readonly grade: Grade;
  readonly before: GradedBy;
  readonly now: GradedBy;
}

/** Rosters in memory, for classes that are graded at the same time. A new roster replaces one that was not read lately. */
const rostersHeld = 50;
const unusedMs = 10_000;
const gradedBy = (of: string) =>
  `json_build_object('rubricHash', ${of}.rubric_hash, 'definitionHash', ${of}.definition_hash)`;

export function createWorkFacts(database: Database, definitions: Pick<Definitions, "find">): ReadWorkFacts {
  /** In the order of their last use. */
  const rosters = new Map<string, { readonly roster: Roster; readonly usedAt: number }>();

  function keep(batch: string, roster: Roster): Roster {
    const now = performance.now();
    rosters.delete(batch);
    rosters.set(batch, { roster, usedAt: now });
    for (const [oldest, { usedAt }] of rosters) {
      if (rosters.size <= rostersHeld && now - usedAt < unusedMs) break;
      rosters.delete(oldest);
    }
    return roster;
  }

  async function rosterOf(batch: string, version: number): Promise<Roster> {
    const known = rosters.get(batch)?.roster;
    if (known?.version === version) return keep(batch, known);
    const rows = await queryDatabase<{ pseudonym: string; person: BatchMember }>(
      database,
      "Reading a roster",
      "select pseudonym, person from batch_members where batch_id = $1 order by key",
      [batch],
    );
    const roster: Roster = {
      version,
      members: new Map(rows.map(({ person }) => [person.key, person])),
      people: rows.map(({ person: { key, name, id, participant, sisId, login, email, handle } }) => ({
        key,
        name,
        ...(id === undefined ? {} : { id }),
        ...(participant === undefined ? {} : { participant }),
        ...(sisId === undefined ? {} : { sisId }),
        ...(login === undefined ? {} : { login }),
        ...(email === undefined ? {} : { email }),
        ...(handle === undefined ? {} : { handle }),
      })),
      pseudonyms: new Map(rows.map(({ pseudonym, person }) => [person.key, pseudonym])),
    };
    return keep(batch, roster);
  }

  async function besides(
    criterion: string,
    tenant: string,
    rootId: string,
  ): Promise<NonNullable<WorkFacts["regrade"]>> {
    const [standing] = await queryDatabase<StandingRow>(
      database,
      "Reading the marks beside a criterion",
      `select g.grade, ${gradedBy("t")} as before, ${gradedBy("now")} as now
       from runs r join batch_works w
           on w.batch_id = r.options -> 'grading' ->> 'batch' and w.pseudonym = r.options -> 'grading' ->> 'work'
         join batch_runs now
           on now.batch_id = w.batch_id and now.work = w.key and now.try = (r.options -> 'grading' ->> 'try')::integer
         join batch_runs t on t.batch_id = now.batch_id and t.work = now.work and t.try < now.try and t.hash = now.hash
         join runs k on k.id = t.run_id and k.ended_at is not null
         cross join lateral (${gradeOfTree("t.run_id")}) g
       where r.id = $1 and g.grade is not null
       order by t.try desc limit 1`,
      [rootId],
    );
    const grade = standing?.grade ?? null;
    if (standing === undefined || !hasMarks(grade)) {
      throw new StoreError(
        "STORE_BATCH_REFUSED",
        `Run ${rootId} is for ${criterion} alone, but the submission has no marks that could be kept. Regrade the whole submission.`,
      );
    }
    const read = (hash: string) => definitions.find({ tenant, hash });
    const reworded = await isReworded(criterion, standing.before, standing.now, read);
    return { criterion, standing: reworded ? withoutMark(grade, criterion) : grade };
  }

  /** One query for the runs that are read together. */
  const rowOf = gathered(
    async (rootIds: readonly string[]) => {
      const rows = await queryHot<FactsRow>(
        database,
        "Reading what a run is of",
        "work-facts",
        `select r.id, o.batch, r.tenant, b.found, b.roster, b.settings, w.members as own, o.criterion
       from unnest($1::text[]) as asked(id)
         cross join lateral (select id, tenant, options from runs where id = asked.id offset 0) r
         cross join lateral json_to_record(r.options -> 'grading') as o(batch text, work text, criterion text)
         left join lateral (
           select true as found, roster, settings from batches where id = o.batch and tenant || '' = r.tenant offset 0) b on true
         left join lateral (
           select members from batch_works where batch_id = o.batch and pseudonym = o.work offset 0) w on b.found`,
        [[...new Set(rootIds)]],
      );
      const byId = new Map(rows.map((row) => [row.id, row]));
      return rootIds.map((rootId) => byId.get(rootId));
    },
    { lingerMs: promptLingerMs, plain: database.plain },
  );

  return async (rootId) => {
    const row = await rowOf(rootId);
    if (row === undefined || row.batch === null) return null;
    if (row.found === null || row.own === null) {
      throw new StoreError("STORE_NOT_FOUND", `The class that run ${rootId} belongs to no longer exists.`);
    }
    const { settings, own } = row;
    const { members, people, pseudonyms } = await rosterOf(row.batch, row.roster);
    const owners = own.flatMap((key) => members.get(key) ?? []);
    const languages = new Set(owners.map(({ language }) => language ?? settings.language));
    const [language = settings.language] = languages.size === 1 ? languages : [];
    return {
      people,
      pseudonyms,
      own,
      language,
      ...(row.criterion === null ? {} : { regrade: await besides(row.criterion, row.tenant, rootId) }),
      consent: strictest(owners.map(({ aiConsent }) => aiConsent ?? settings.aiConsent)) ?? settings.aiConsent,
    };
  };
}

/** The strictest consent of a group decides: a model that one student does not allow never sees the submission. */
function strictest(consents: readonly AiConsent[]): AiConsent | undefined {
  return (["none", "local", "any"] as const).find((consent) => consents.includes(consent));
}
