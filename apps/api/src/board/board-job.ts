/**
 * A job as the board shows it: a job of the queue, an activity of Postgres, or both. It is named by its node and its run, and holds ids only.
 * What the queue no longer has is not changed here.
 */
import type { JobState, QueueJob, QueueJobJson } from "@bull-board/api/typings/app";
import { failureCodes } from "@markmill/engine";
import { modelFailureCodes } from "@markmill/llm";
import { type BellData, queueErrorCodeOf, queueErrorCodes, type WatchedQueue } from "@markmill/queue";
import { workFailureCodes } from "@markmill/stack";
import { type BoardActivity, type BoardRun, storeErrorCodes } from "@markmill/store";
import { notFound } from "../refusal.ts";

type QueuedJob = NonNullable<Awaited<ReturnType<WatchedQueue["getJob"]>>>;

interface Parts {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  /** The run at the top of its tree; null: it is that. */
  readonly rootId: string | null;
  readonly json: Omit<QueueJobJson, "id" | "name">;
  readonly state: () => Promise<JobState>;
  readonly queued: QueuedJob | null;
}

/** Members are those that Bull Board reads, of the job itself and of its place in a flow. */
export class BoardJob implements QueueJob {
  readonly id: string;
  readonly name: string;
  readonly queueName: string;
  readonly queueQualifiedName: string;
  readonly progress = 0;
  /** Bull Board climbs by it to the top of the tree, which is the run. */
  readonly opts: { readonly delay?: number; readonly parent?: { readonly id: string; readonly queue: string } };
  readonly getState: () => Promise<JobState>;
  /** In a flow. */
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

/** One that the queue has. `activity`, null: Postgres does not know it any more. */
export function queuedJob(queue: string, queued: QueuedJob, activity: BoardActivity | null): BoardJob {
  const json = queued.toJSON() as unknown as QueueJobJson;
  const { runId, activityId, epoch } = queued.data as BellData;
  return new BoardJob({
    id: queued.id ?? "",
    name: activity === null ? `activity ${activityId} · run ${runId}` : nameOf(activity),
    queue,
    rootId: activity?.rootId ?? null,
    // What the queue's own bookkeeping says, and ids: whatever else somebody may have put there, or a driver into an error, is not shown.
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

/** A failed job's reason may hold anything: an address with its password, a student's text. A code says enough, the log says the rest. */
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

/** One that Postgres knows. `brief`: named by its node alone, for its box in a tree, which is narrow; the rest is in its data. */
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

/** A run as a whole, at the top of its tree. */
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

/** With its run: a light activity that is done is found by its run alone. */
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

/** A folder may be called after a person. */
function fileOf(program: string): string {
  return program.split("/").at(-1) ?? program;
}

/** By their codes: what happened, and what to do. A code of another version is explained by its command line. */
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
