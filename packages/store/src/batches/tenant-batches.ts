import type { GradeEvent } from "@markmill/grading";
import { type Budget, setBudgetCap } from "../money/budgets.ts";
import type { PageRequest } from "../read/list-definitions.ts";
import type { Outside } from "../runs/apply-event.ts";
import type { Resumed } from "../runs/resume-run.ts";
import type {
  BatchDetail,
  BatchFilter,
  BatchPage,
  BatchSettings,
  BatchSummary,
  BatchWork,
  MemberPage,
  NewBatch,
  NewGradeEvent,
  RegradeRequest,
  Retried,
  SavedBatch,
  WorkFilter,
  WorkPage,
  WorkTry,
} from "./batch.ts";
import { cancelBatch, pauseBatch, resumeBatch, setConcurrency, setRun, tryAgain } from "./change-batch.ts";
import { deleteBatch } from "./delete-batch.ts";
import { listGradeEvents, recordGrade } from "./grade-events.ts";
import { batchSummary, getBatch, listBatches, listMembers, requireBatch } from "./read-batches.ts";
import { factsOf, getWork, listTries, listWorks } from "./read-works.ts";
import type { Restarted } from "./restart-unpaid.ts";
import { saveBatch } from "./save-batch.ts";

/** Batches of a tenant. Of one that is not there nothing is read (null, an empty page) and nothing is changed (STORE_NOT_FOUND). */
export interface TenantBatches {
  /**
   * Twice is once. A work whose content changed gets one new try, all others stay as they are; nothing is deleted. Works that are not
   * among the `whole` no longer count. What is saved of the
   * batch itself (name, definition, rubric, settings) counts for tries that have not begun. A batch that is paused stays paused.
   */
  save(batch: NewBatch): Promise<SavedBatch>;
  get(id: string): Promise<BatchDetail | null>;
  /** How it stands, and nothing else of it. */
  summary(id: string): Promise<BatchSummary | null>;
  /** Newest first. */
  list(filter?: BatchFilter, page?: PageRequest): Promise<BatchPage>;
  /** By key. */
  works(id: string, filter?: WorkFilter, page?: PageRequest): Promise<WorkPage>;
  work(id: string, key: string): Promise<BatchWork | null>;
  /** Of one work, the oldest first, each with its own grade. */
  tries(id: string, key: string): Promise<readonly WorkTry[]>;
  /** Who they are. By key. */
  members(id: string, page?: PageRequest): Promise<MemberPage>;
  /** Nothing new begins; what runs goes on to its end. */
  pause(id: string, reason: string): Promise<void>;
  /** Opens a paused one, and goes on with runs of it that are stopped or in trouble. `runs`: how many works that were. */
  resume(id: string): Promise<Resumed>;
  /** Ends its open runs, and begins none again until it is resumed. Grades stand. Returns how many were ended. */
  cancel(id: string, reason: string): Promise<number>;
  /** A new try of those whose last try failed; of `filter` only those. Grades that stand are not repeated. */
  retry(id: string, filter?: Pick<WorkFilter, "keys">): Promise<Retried>;
  /** A new try of these, whatever came of the last one; those that wait or run are left out. A definition with another rubric than the
   * batch's is refused (STORE_BATCH_REFUSED). */
  regrade(id: string, request: RegradeRequest): Promise<Retried>;
  /** Appends what a person says of a work's grade. */
  record(id: string, event: NewGradeEvent): Promise<GradeEvent>;
  /** The oldest first; of one work, or of all. */
  events(
    id: string,
    work?: string,
    page?: PageRequest,
  ): Promise<{ readonly events: readonly GradeEvent[]; readonly next: string | null }>;
  /** How runs begin from now on. Works without a paid reply that were begun otherwise begin again, as by `save`. */
  setRun(id: string, run: BatchSettings["run"]): Promise<Restarted>;
  setBudget(id: string, cap: Budget["cap"]): Promise<void>;
  setConcurrency(id: string, runs: number): Promise<void>;
  /** With its members, works, runs and events. One with open runs is refused (STORE_RUN_OPEN): cancel it first. false: there is none. */
  delete(id: string): Promise<boolean>;
}

export function tenantBatches(parts: Outside, tenant: string): TenantBatches {
  const { database, definitions } = parts;
  const work = (id: string, key: string) => getWork(database, tenant, id, key);
  return {
    save: (batch) => saveBatch(parts, tenant, batch),
    get: (id) => getBatch(database, tenant, id),
    summary: (id) => batchSummary(database, tenant, id),
    list: (filter, page) => listBatches(database, tenant, filter, page),
    works: (id, filter, page) => listWorks(database, tenant, id, filter, page),
    work,
    tries: (id, key) => listTries(database, tenant, id, key),
    members: (id, page) => listMembers(database, tenant, id, page),
    pause: (id, reason) => pauseBatch(database, tenant, id, reason),
    resume: (id) => resumeBatch(parts, tenant, id),
    cancel: (id, reason) => cancelBatch(parts, tenant, id, reason),
    retry: (id, filter) => tryAgain(parts, tenant, id, { keys: filter?.keys ?? null, why: "retry" }),
    async regrade(id, { keys, definition, criterion }) {
      if (definition !== undefined) {
        await requireBatch(database, tenant, id);
        await definitions.save(tenant, definition);
      }
      return await tryAgain(
        parts,
        tenant,
        id,
        { keys, why: "regrade", ...(criterion === undefined ? {} : { criterion }) },
        definition ?? null,
      );
    },
    record: (id, event) => recordGrade(database, { rubric: (of) => factsOf(database, tenant, of), work }, id, event),
    events: (id, key, page) => listGradeEvents(database, tenant, id, key ?? null, page),
    setRun: (id, run) => setRun(parts, tenant, id, run),
    async setBudget(id, cap) {
      await requireBatch(database, tenant, id);
      await setBudgetCap(database, tenant, id, cap);
    },
    setConcurrency: (id, runs) => setConcurrency(database, tenant, id, runs),
    delete: (id) => deleteBatch(database, tenant, id),
  };
}
