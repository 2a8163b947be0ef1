/**
 * Shows a job on the board: a job of the queue, an activity in Postgres, or both. It is named by its node and its run, and contains ids
 * only. Jobs that the queue no longer has are read-only.
 */
import type { JobState, QueueJob, QueueJobJson } from "@bull-board/api/typings/app";
import { failureCodes } from "@markmill/engine";
import { modelFailureCodes } from "@markmill/llm";
import { type JobData, queueErrorCodeOf, queueErrorCodes, type WatchedQueue } from "@markmill/queue";
import { workFailureCodes } from "@markmill/stack";
import { type BoardActivity, type BoardRun, storeErrorCodes } from "@markmill/store";
import { notFound } from "../refusal.ts";

type QueuedJob = NonNullable<Awaited<ReturnType<WatchedQueue["getJob"]>>>;

interface Parts {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  /** The run at the top of its tree. null: this run is the top. */
  readonly rootId: string | null;
  readonly json: Omit<QueueJobJson, "id" | "name">;
  readonly state: () => Promise<JobState>;
  readonly queued: QueuedJob | null;
}

/** The members that Bull Board reads, for the job and for its place in a flow. */
export class BoardJob implements QueueJob {
  readonly id: string;
  readonly name: string;
  readonly queueName: string;
  readonly queueQualifiedName: string;
  readonly progress = 0;
  /** Bull Board follows `parent` to the top of the tree, which is the run. */
  readonly opts: { readonly delay?: number; readonly parent?: { readonly id: string; readonly queue: string } };
  readonly getState: () => Promise<JobState>;
  /** The numbers of finished and open children in a flow. */
  children: { readonly ended: number; readonly open: number } = { ended: 0, open: 0 };
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.id = parts.id;
    this.name = parts.name;
    this.queueName = parts.queue;
    this.queueQualifiedName = parts.queue;
    this.opts = parts.rootId === null ? {} : { parent: { id: runJobId(parts.rootId), queue: "control" } };
    this.getState = parts.state;
  }

  toJSON(): QueueJobJson {
    return { ...this.#parts.json, id: this.id, name: this.name };
  }

  async getDependenciesCount() {
    return { processed: this.children.ended, unprocessed: this.children.open, ignored: 0, failed: 0 };
  }

  remove = async () => await this.#inQueue().remove();
  promote = async () => await this.#inQueue().promote();
  retry = async () => await this.#inQueue().retry();

  #inQueue(): QueuedJob {
    if (this.#parts.queued === null) throw notFound(`job ${this.id} in the queue any more`);
    return this.#parts.queued;
  }
}

export const runJobId = (runId: string) => `run-${runId}`;

/** A job that is in the queue. `activity` null: Postgres no longer has it. */
export function queuedJob(queue: string, queued: QueuedJob, activity: BoardActivity | null): BoardJob {
  const json = queued.toJSON() as unknown as QueueJobJson;
  const { runId, activityId, epoch } = queued.data as JobData;
  return new BoardJob({
    id: queued.id ?? "",
    name: activity === null ? `activity ${activityId} · run ${runId}` : nameOf(activity),
    queue,
    rootId: activity?.rootId ?? null,
    // Only the queue's own fields and ids are shown. Other data that a person or a driver put into the job is hidden.
    json: {
      progress: 0,
      attemptsMade: json.attemptsMade,
      timestamp: json.timestamp,
      processedOn: json.processedOn ?? null,
      processedBy: json.processedBy ?? null,
      finishedOn: json.finishedOn ?? null,
      failedReason: failedReasonOf(json.failedReason ?? "", activity),
      stacktrace: [],
      data: { runId, activityId, epoch },
      returnvalue: null,
      opts: {},
      ...(json.delay === undefined ? {} : { delay: json.delay }),
    },
    state: async () => (await queued.getState()) as JobState,
    queued,
  });
}

/**
 * The reason of a failed job can contain anything: an address with its password, a student's text. The code is enough, and the log contains
 * the rest.
 */
function failedReasonOf(text: string, activity: BoardActivity | null): string {
  if (text === "") return "";
  if (activity?.failure != null) return reasonOf(activity.failure);
  const code = /^(?:\w*Error: )?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b/.exec(text)?.[1];
  if (code !== undefined && Object.hasOwn(words, code)) return reasonOf(code);
  const told = queueErrorCodeOf(text);
  return told === "QUEUE_BUG"
    ? "The job failed for a reason without a code. Fix: read the log of the worker; the job is enqueued again."
    : reasonOf(told);
}

/** An activity in Postgres. `brief`: its name is the node alone, because its box in a tree is narrow; the rest is in its data. */
export function activityJob(activity: BoardActivity, brief = false): BoardJob {
  const { id, runId, kind, program, attempt, createdAt, endedAt, worker, failure } = activity;
  const began = createdAt.getTime();
  return new BoardJob({
    id: endedJobId(activity),
    name: nameOf(activity, brief),
    queue: activity.queue,
    rootId: activity.rootId,
    json: {
      progress: 0,
      attemptsMade: attempt,
      timestamp: began,
      processedOn: began,
      processedBy: worker,
      finishedOn: endedAt?.getTime() ?? null,
      failedReason: failure === null ? "" : reasonOf(failure),
      stacktrace: [],
      data: { runId, activityId: id, ...(brief ? { kind, workflow: fileOf(program) } : {}) },
      returnvalue: null,
      opts: {},
    },
    state: async () => stateOf(activity),
    queued: null,
  });
}

/** A whole run, at the top of its tree. */
export function runJob(run: BoardRun): BoardJob {
  const began = run.createdAt.getTime();
  return new BoardJob({
    id: runJobId(run.id),
    name: `${fileOf(run.program)} · run ${run.id}`,
    queue: "control",
    rootId: null,
    json: {
      progress: 0,
      attemptsMade: 1,
      timestamp: began,
      processedOn: began,
      finishedOn: run.endedAt?.getTime() ?? null,
      failedReason: run.status === "failed" ? reasonOf(run.failure ?? "") : "",
      stacktrace: [],
      data: { runId: run.id },
      returnvalue: null,
      opts: {},
    },
    state: async () => (run.queued ? "waiting" : runStates[run.status]),
    queued: null,
  });
}

const runStates: Readonly<Record<BoardRun["status"], JobState>> = {
  created: "waiting",
  doing: "active",
  stopped: "paused",
  success: "completed",
  failed: "failed",
  cancelled: "failed",
};

export function hasEnded({ state }: BoardActivity): boolean {
  return state === "done" || state === "void";
}

function stateOf({ state, kind, failure }: BoardActivity): JobState {
  if (state === "done") return failure === null ? "completed" : "failed";
  if (state === "claimed") return "active";
  if (state === "waiting") return kind === "call" ? "waiting-children" : "waiting";
  return state === "ready" ? "waiting" : "unknown";
}

/** Includes the run, because a finished inline activity can only be found through its run. */
function endedJobId({ id, attempt, runId }: BoardActivity): string {
  return `a${id}-${attempt}.${runId}`;
}

export function readEndedJobId(id: string): { readonly activityId: number; readonly runId: string } | null {
  const match = /^a(\d{1,15})-\d{1,9}\.([0-9a-f-]{36})$/.exec(id);
  return match === null ? null : { activityId: Number(match[1]), runId: match[2] ?? "" };
}

export function readRunJobId(id: string): string | null {
  return /^run-([0-9a-f-]{36})$/.exec(id)?.[1] ?? null;
}

function nameOf({ node, generation, program, runId }: BoardActivity, brief = false): string {
  const visit = generation > 1 ? `${node} #${generation}` : node;
  return brief ? visit : `${visit} · ${fileOf(program)} · run ${runId}`;
}

/** The folder is removed, because it may have a person's name. */
function fileOf(program: string): string {
  return program.split("/").at(-1) ?? program;
}

/** For each code: what happened, and what to do. For a code of another version, that version's command line has the explanation. */
const words: Readonly<Record<string, { readonly means: string; readonly fix: string }>> = {
  ...queueErrorCodes,
  ...storeErrorCodes,
  ...workFailureCodes,
  ...Object.fromEntries(
    Object.entries(modelFailureCodes).map(([code, { sentence, fix }]) => [code, { means: sentence, fix }]),
  ),
  ...failureCodes,
};

function reasonOf(code: string): string {
  if (code === "") return "";
  const known = Object.hasOwn(words, code) ? words[code] : undefined;
  return known === undefined
    ? `${code}. 'markmill explain ${code}' explains it.`
    : `${code}: ${known.means} Fix: ${known.fix}`;
}
