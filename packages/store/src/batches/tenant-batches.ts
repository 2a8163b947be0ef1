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

/** Batches of a tenant. For an unknown batch, reads return nothing (null, an empty page), and changes fail with STORE_NOT_FOUND. */
export interface TenantBatches {
  /**
   * Saves a batch; repeating it changes nothing. A submission whose content changed gets one new attempt, all others stay as they are, and
   * nothing is deleted. Submissions that are missing from `whole` no longer count. The settings of the batch (name, definition, rubric,
   * options) apply to attempts that have not begun. A paused batch stays paused.
   */
  save(batch: NewBatch): Promise<SavedBatch>;
  get(id: string): Promise<BatchDetail | null>;
  /** Its status only. */
  summary(id: string): Promise<BatchSummary | null>;
  /** Newest first. */
  list(filter?: BatchFilter, page?: PageRequest): Promise<BatchPage>;
  /** Sorted by key. */
  works(id: string, filter?: WorkFilter, page?: PageRequest): Promise<WorkPage>;
  work(id: string, key: string): Promise<BatchWork | null>;
  /** The attempts of one submission, oldest first, each with its own grade. */
  tries(id: string, key: string): Promise<readonly WorkTry[]>;
  /** The students, by key. */
  members(id: string, page?: PageRequest): Promise<MemberPage>;
  /** Starts no new submissions. Running ones continue to their end. */
  pause(id: string, reason: string): Promise<void>;
  /** Opens a paused batch, and resumes its runs that are stopped or in trouble. `runs`: the number of those submissions. */
  resume(id: string): Promise<Resumed>;
  /** Ends its open runs, and starts none until it is resumed. Grades stay. Returns the number of ended runs. */
  cancel(id: string, reason: string): Promise<number>;
  /**
   * Adds a new attempt for submissions whose last attempt failed, only for those of `filter` if given. Existing grades are not repeated.
   */
  retry(id: string, filter?: Pick<WorkFilter, "keys">): Promise<Retried>;
  /**
   * Adds a new attempt for these submissions, whatever the last one's result. Waiting and running ones are left out. A definition with
   * another rubric than the batch's is refused (STORE_BATCH_REFUSED).
   */
  regrade(id: string, request: RegradeRequest): Promise<Retried>;
  /** Appends a person's decision about a submission's grade. */
  record(id: string, event: NewGradeEvent): Promise<GradeEvent>;
  /** Oldest first, of one submission or of all. */
  events(
    id: string,
    work?: string,
    page?: PageRequest,
  ): Promise<{ readonly events: readonly GradeEvent[]; readonly next: string | null }>;
  /** Changes how runs start from now on. Submissions without a paid reply that started with other settings start again, as by `save`. */
  setRun(id: string, run: BatchSettings["run"]): Promise<Restarted>;
  setBudget(id: string, cap: Budget["cap"]): Promise<void>;
  setConcurrency(id: string, runs: number): Promise<void>;
  /**
   * Deletes the batch with its students, submissions, runs and events. A batch with open runs is refused (STORE_RUN_OPEN): cancel it first.
   * false: it does not exist.
   */
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
