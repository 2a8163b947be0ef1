/**
 * The store as one tenant sees it: everything that requests of its people read and write, and no data of other tenants.
 *
 * O1  An id of another tenant is treated as one that does not exist: the same answer, the same error, and nothing
 *     changes.
 * O2  No method takes a tenant as an argument: `store.as(tenant)` sets it once.
 * O3  `jobs` in an answer are jobs that the caller must enqueue. The supervisor enqueues lost ones.
 */

import type { Ownership } from "./access/ownership.ts";
import { isTenantId } from "./access/tenant-ids.ts";
import { type TenantBatches, tenantBatches } from "./batches/tenant-batches.ts";
import type { BlobContent } from "./blobs/blob-port.ts";
import type { BlobInfo, BlobPart, Blobs } from "./blobs/blobs.ts";
import { type Ask, answerAsk, type FoundAsk, findAsk, openAsks, openAsksBelow } from "./calls/asks.ts";
import { callsOfRun, type StoredCall } from "./calls/calls.ts";
import { type StoredToolCall, toolCallsOfRun } from "./calls/tool-calls.ts";
import type { Committed } from "./commit/committer.ts";
import { StoreError } from "./database/store-error.ts";
import type { Definition } from "./definitions/definitions.ts";
import { type Budget, getBudget, openBudget, setBudgetCap } from "./money/budgets.ts";
import { type ChargeLine, chargesOf, noCalls, type Spent, spentOf } from "./money/charges.ts";
import { currentPauses, type Pause } from "./money/rates-and-pauses.ts";
import { type EventPage, type EventsRequest, eventsAfter } from "./read/events-after.ts";
import { getHistory, type History, type HistoryActivity, openActivities } from "./read/get-history.ts";
import { getMessages, getThreads, type Thread, type ThreadMessage } from "./read/get-messages.ts";
import { childRuns, getRun, type RunDetail, type RunSummary, submissionOf } from "./read/get-run.ts";
import {
  type DefinitionFilter,
  type DefinitionPage,
  type DefinitionSummary,
  listDefinitions,
  type PageRequest,
  versionsOf,
} from "./read/list-definitions.ts";
import { listRuns, type RunFilter, type RunPage } from "./read/list-runs.ts";
import { deleteScope, type MemoryScope, passagePage, type StoredPassage, scopePage } from "./read/memory-scopes.ts";
import { activityPage, callPage, messagePage, type Page, type TalkMessage, toolCallPage } from "./read/pages.ts";
import { type Replay, replayRun } from "./read/replay-run.ts";
import { type UsageBy, type UsageFilter, type UsageLine, type UsagePage, usageBy } from "./read/usage.ts";
import { type Wait, waitsOf } from "./read/waits-of.ts";
import { cancelRun, type Outside, stopRun } from "./runs/apply-event.ts";
import { type CreatedRun, createRun, type NewRun, type RunCreator } from "./runs/create-run.ts";
import { deleteRun } from "./runs/delete-runs.ts";
import { type ForkedRun, type ForkRequest, forkRun } from "./runs/fork-run.ts";
import { type RestartRequest, restartRun } from "./runs/restart-run.ts";
import { type Resumed, resumeTree } from "./runs/resume-run.ts";
import type { Movements } from "./watch/movements.ts";

export interface TenantStore {
  readonly tenant: string;
  readonly definitions: TenantDefinitions;
  readonly runs: TenantRuns;
  readonly asks: TenantAsks;
  readonly blobs: TenantBlobs;
  readonly budgets: TenantBudgets;
  readonly usage: TenantUsage;
  readonly models: TenantModels;
  readonly batches: TenantBatches;
  readonly memory: TenantMemory;
}

interface TenantDefinitions {
  /** A repeated save changes nothing: a definition is immutable under its hash. */
  /** `current`: a person uploads it, so it becomes the current version of its name. */
  save(definition: Definition, options?: { readonly current?: boolean }): Promise<void>;
  find(hash: string): Promise<Definition | null>;
  /** The latest version of each name, by name. */
  list(filter?: DefinitionFilter, page?: PageRequest): Promise<DefinitionPage>;
  /** The versions of one name, latest first. */
  versions(name: string): Promise<readonly DefinitionSummary[]>;
  /** Its files by path. */
  source(hash: string): Promise<Readonly<Record<string, string>> | null>;
}

export interface TenantRuns {
  create(request: NewRun): Promise<CreatedRun>;
  get(id: string): Promise<RunDetail | null>;
  /** Newest first. */
  list(filter?: RunFilter, page?: PageRequest): Promise<RunPage>;
  /** The runs it called, in the order of the calls. */
  children(id: string): Promise<readonly RunSummary[]>;
  /** With `after`: only newer events. */
  history(id: string, after?: number): Promise<History>;
  events(id: string, request?: EventsRequest): Promise<EventPage | null>;
  activities(id: string): Promise<readonly HistoryActivity[]>;
  /** The open activities, without their content. */
  doing(id: string): Promise<readonly Omit<HistoryActivity, "work">[]>;
  calls(id: string): Promise<readonly StoredCall[]>;
  /** The tool calls of its activities. */
  toolCalls(id: string): Promise<readonly StoredToolCall[]>;
  threads(id: string): Promise<readonly Thread[]>;
  /** The messages of a thread. A thread of more than `mostBytes` is refused before it is read. */
  messages(thread: string, mostBytes?: number): Promise<readonly ThreadMessage[]>;
  // A page of more than `mostBytes` is cut short.
  activityPage(id: string, page?: PageRequest, mostBytes?: number): Promise<Page<HistoryActivity>>;
  callPage(id: string, page?: PageRequest, mostBytes?: number): Promise<Page<StoredCall>>;
  toolCallPage(id: string, page?: PageRequest): Promise<Page<StoredToolCall>>;
  /** The messages of all its threads. */
  messagePage(id: string, page?: PageRequest, mostBytes?: number): Promise<Page<TalkMessage>>;
  variables(id: string): Promise<Readonly<Record<string, string>> | null>;
  hits(id: string): Promise<Readonly<Record<string, number>> | null>;
  /** The endpoints in trouble, or the resume, that whole trees wait for, by their roots. */
  waits(rootIds: readonly string[]): Promise<readonly Wait[]>;
  replay(id: string): Promise<Omit<Replay, "state">>;
  /** The hash of the submission's blob. */
  submission(rootId: string): Promise<string | null>;
  /** The spending of a whole tree of runs. */
  spent(rootId: string): Promise<Spent>;
  charges(rootId: string): Promise<readonly ChargeLine[]>;
  cancel(id: string, message: string): Promise<Committed>;
  stop(id: string): Promise<Committed>;
  /** Resumes the whole tree. */
  resume(rootId: string): Promise<Resumed>;
  /** Creates a run that copies another one up to a point. */
  fork(request: ForkRequest): Promise<ForkedRun>;
  /** Creates a run that starts like another one. */
  restart(request: RestartRequest): Promise<CreatedRun>;
  /** Deletes an ended root run with all its data. false: it does not exist. */
  delete(id: string): Promise<boolean>;
}

interface TenantAsks {
  /** Open questions of one tree, or of all; oldest first. */
  /** `after`: only questions that are newer than this one. */
  list(rootId?: string | null, limit?: number, after?: number): Promise<readonly Ask[]>;
  /** Open questions of one run and all runs below it; oldest first. */
  below(runId: string): Promise<readonly Ask[]>;
  /** Open or closed. */
  find(activityId: number): Promise<FoundAsk | null>;
  /** dropped: it does not exist, or was answered, expired or withdrawn before. */
  answer(activityId: number, text: string, by: string | null): Promise<Committed>;
}

interface TenantBlobs {
  /** Content of more than `mostBytes` is refused while it is read, and nothing of it is stored. */
  save(content: BlobContent, mostBytes?: number): Promise<BlobInfo>;
  find(hash: string): Promise<BlobInfo | null>;
  /** The whole blob, in memory. */
  load(hash: string): Promise<Buffer | null>;
  /** Piece by piece. `from`, `to`: bytes; `from` is included, `to` is not. */
  stream(hash: string, part?: BlobPart): Promise<AsyncIterable<Uint8Array> | null>;
}

interface TenantBudgets {
  /** An existing budget stays as it is. */
  open(id: string, cap: Budget["cap"]): Promise<void>;
  get(id: string): Promise<Budget | null>;
  /** A cap below the spent amount refuses every further call and takes nothing back. */
  setCap(id: string, cap: Budget["cap"]): Promise<void>;
}

interface TenantUsage {
  by(what: UsageBy, filter?: UsageFilter, page?: UsagePage): Promise<readonly UsageLine[]>;
}

interface TenantModels {
  /** Endpoints that are paused now, and why. */
  pauses(): Promise<readonly Pause[]>;
}

/** Named scopes. A run's own passages belong to the run. */
export interface TenantMemory {
  scopes(page?: PageRequest): Promise<Page<MemoryScope>>;
  passages(name: string, page?: PageRequest): Promise<Page<StoredPassage>>;
  /** false: the scope does not exist. */
  delete(name: string): Promise<boolean>;
}

export interface TenantParts extends Outside, RunCreator {
  readonly movements: Movements;
  readonly ownership: Ownership;
  readonly blobs: Blobs;
}

export function createTenantStore(parts: TenantParts, tenant: string): TenantStore {
  if (!isTenantId(tenant))
    throw new StoreError("STORE_TENANT_ID", `${JSON.stringify(tenant)} is not an id of a tenant.`);
  const { database, blobs, ownership } = parts;
  return {
    tenant,
    definitions: tenantDefinitions(parts, tenant),
    runs: tenantRuns(parts, tenant),
    asks: {
      list: (rootId, limit, after) => openAsks(database, tenant, rootId, limit, after),
      below: (runId) => openAsksBelow(database, tenant, runId),
      find: async (activityId) =>
        (await ownership.ownsActivity(tenant, activityId)) ? findAsk(database, activityId) : null,
      answer: async (activityId, text, by) =>
        (await ownership.ownsActivity(tenant, activityId)) ? answerAsk(parts, activityId, text, by) : dropped,
    },
    blobs: {
      save: (content, mostBytes) => blobs.save(tenant, content, mostBytes),
      find: (hash) => blobs.find(tenant, hash),
      load: (hash) => blobs.load(tenant, hash),
      stream: (hash, part) => blobs.stream(tenant, hash, part),
    },
    budgets: {
      open: (id, cap) => openBudget(database, tenant, id, cap),
      get: (id) => getBudget(database, tenant, id),
      setCap: (id, cap) => setBudgetCap(database, tenant, id, cap),
    },
    usage: { by: (what, filter, page) => usageBy(database, tenant, what, filter, page) },
    models: { pauses: () => currentPauses(database, tenant) },
    batches: tenantBatches(parts, tenant),
    memory: {
      scopes: (page) => scopePage(database, tenant, page),
      passages: (name, page) => passagePage(database, tenant, name, page),
      delete: (name) => deleteScope(database, tenant, name),
    },
  };
}

const dropped: Committed = { kind: "dropped", jobs: [] };

function tenantDefinitions({ database, definitions }: TenantParts, tenant: string): TenantDefinitions {
  const find = (hash: string) => definitions.find({ tenant, hash });
  return {
    save: (definition, options) => definitions.save(tenant, definition, options),
    find,
    list: (filter, page) => listDefinitions(database, tenant, filter, page),
    versions: (name) => versionsOf(database, tenant, name),
    source: async (hash) => (await find(hash))?.files ?? null,
  };
}

function tenantRuns(parts: TenantParts, tenant: string): TenantRuns {
  const { database, definitions, movements, ownership } = parts;
  /** O1 for reads: a run that does not exist is answered with `none`. */
  const read = async <Answer>(id: string, none: Answer, answer: () => Promise<Answer>): Promise<Answer> =>
    (await ownership.owns(tenant, id)) ? answer() : none;
  /** O1 for changes: a run that does not exist cannot be changed. */
  const act = async <Answer>(id: string, change: () => Promise<Answer>): Promise<Answer> => {
    if (await ownership.owns(tenant, id)) return change();
    throw new StoreError("STORE_NOT_FOUND", `There is no run ${id}.`);
  };
  const get = (id: string) => read(id, null, () => getRun(database, id));
  const history = (id: string, after?: number) => read(id, noHistory, () => getHistory(database, id, after));
  return {
    create: async (request) => {
      const created = await createRun(parts, tenant, request);
      ownership.remember(tenant, created.runId);
      return created;
    },
    get,
    list: (filter, page) => listRuns(database, tenant, filter, page),
    children: (id) => read(id, [], () => childRuns(database, id)),
    history,
    events: (id, request) => read(id, null, () => eventsAfter(database, movements, id, request)),
    activities: async (id) => (await history(id)).activities,
    doing: (id) => read(id, [], () => openActivities(database, id)),
    calls: (id) => read(id, [], () => callsOfRun(database, id)),
    toolCalls: (id) => read(id, [], () => toolCallsOfRun(database, id)),
    threads: (id) => read(id, [], () => getThreads(database, id)),
    messages: async (thread, mostBytes) =>
      (await ownership.ownsThread(tenant, thread)) ? getMessages(database, thread, mostBytes) : [],
    activityPage: (id, page, mostBytes) => read(id, noPage, () => activityPage(database, id, page, mostBytes)),
    callPage: (id, page, mostBytes) => read(id, noPage, () => callPage(database, id, page, mostBytes)),
    toolCallPage: (id, page) => read(id, noPage, () => toolCallPage(database, id, page)),
    messagePage: (id, page, mostBytes) => read(id, noPage, () => messagePage(database, id, page, mostBytes)),
    variables: async (id) => (await get(id))?.variables ?? null,
    hits: async (id) => (await get(id))?.hits ?? null,
    waits: async (rootIds) => waitsOf(database, await ownership.ownedOf(tenant, rootIds)),
    replay: (id) => act(id, () => replayRun(database, definitions, id)),
    submission: (rootId) => read(rootId, null, () => submissionOf(database, rootId)),
    spent: (rootId) => read(rootId, noCalls, () => spentOf(database, rootId)),
    charges: (rootId) => read(rootId, [], () => chargesOf(database, rootId)),
    cancel: (id, message) => act(id, () => cancelRun(parts, id, message)),
    stop: (id) => act(id, () => stopRun(parts, id)),
    resume: (rootId) => read(rootId, { runs: 0, jobs: [] }, () => resumeTree(parts, rootId)),
    fork: (request) => act(request.of, () => forkRun(parts, tenant, request)),
    restart: (request) =>
      act(request.of, async () => {
        const created = await restartRun(parts, tenant, request);
        ownership.remember(tenant, created.runId);
        return created;
      }),
    delete: (id) => read(id, false, () => deleteRun(database, id)),
  };
}

const noPage: Page<never> = { items: [], next: null };
const noHistory: History = { entries: [], activities: [] };
