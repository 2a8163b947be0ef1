/**
 * Presents a queue to Bull Board: waiting and active jobs come from the queue, on either backend, and finished ones from Postgres. If the
 * queue is unreachable, the board shows this and still shows the data from Postgres.
 */
import { BaseAdapter } from "@bull-board/api/dist/queueAdapters/base.js";
import type {
  JobCleanStatus,
  JobCounts,
  JobStatus,
  QueueJob,
  QueueMetrics,
  QueueWorker,
  Status,
} from "@bull-board/api/typings/app";
import type { QueueName } from "@markmill/engine";
import { type JobData, parseJobId, type Queues, type WatchedQueue } from "@markmill/queue";
import type { BoardActivity } from "@markmill/store";
import { Refusal } from "../refusal.ts";
import type { BoardHistory } from "./board-history.ts";
import { activityJob, type BoardJob, hasEnded, queuedJob, readEndedJobId, readRunJobId, runJob } from "./board-job.ts";
import { type FlowPlace, type FlowTree, flowOf } from "./run-flow.ts";

export interface BoardQueueParts {
  readonly name: QueueName;
  readonly queues: Pick<Queues, "watch">;
  readonly history: BoardHistory;
  readonly writes: boolean;
  /** The address of a run in the API. */
  readonly runUrl: (runId: string) => string;
}

const statuses = ["active", "waiting", "waiting-children", "prioritized", "completed", "failed", "delayed"] as const;
const noJobs: JobCounts = Object.fromEntries(statuses.map((status) => [status, 0]));
/** A queue without an answer in this time is unreachable. */
const queueMs = 3_000;
/** The number of failed jobs that the queue keeps. */
const mostFailed = 500;

const descriptions: Readonly<Record<QueueName, string>> = {
  control: "checks, assignments, calls and questions",
  prompt: "requests to models",
  execute: "commands in the sandbox",
  supervisor: "no jobs are queued here: the supervisor reads the database",
};

export class BoardQueue extends BaseAdapter {
  readonly #parts: BoardQueueParts;
  #away = false;

  constructor(parts: BoardQueueParts) {
    super("bullmq", {
      readOnlyMode: !parts.writes,
      // A run is retried through the API, from a chosen activity.
      allowRetries: false,
      externalJobUrl: ({ data }) => ({ displayText: "run", href: parts.runUrl(String(data?.runId)) }),
    });
    this.#parts = parts;
  }

  getName(): string {
    return this.#parts.name;
  }

  override getDescription(): string {
    const { name } = this.#parts;
    return this.#away ? "the queue is unreachable: ended jobs are shown, waiting jobs are not" : descriptions[name];
  }

  async getJobCounts(): Promise<JobCounts> {
    const [counts, { completed, failed }, failedThere] = await Promise.all([
      this.#look((queue) => queue.getJobCounts(), {}),
      this.#ended(),
      this.#failedThere(),
    ]);
    const inQueue = { ...noJobs, ...pick(counts) };
    return { ...inQueue, completed: completed.length, failed: failedThere.length + failed.length };
  }

  async getJobs(wanted: JobStatus[], start = 0, end = 19): Promise<QueueJob[]> {
    const queued = wanted.filter((status) => status !== "completed" && status !== "paused" && status !== "failed");
    const [jobs, ended, failedThere] = await Promise.all([
      queued.length === 0 ? [] : this.#look((queue) => queue.getJobs(queued, start, end), []),
      this.#ended(),
      wanted.includes("failed") ? this.#failedThere() : [],
    ]);
    const shown = await this.#named(jobs.filter((job) => job !== undefined));
    const page = (those: readonly BoardActivity[], before: number) =>
      those.slice(Math.max(0, start - before), Math.max(0, end + 1 - before)).map((activity) => activityJob(activity));
    return [
      ...shown,
      ...failedThere.slice(start, end + 1),
      ...(wanted.includes("failed") ? page(ended.failed, failedThere.length) : []),
      ...(wanted.includes("completed") ? page(ended.completed, 0) : []),
    ];
  }

  async getJob(id: string): Promise<BoardJob | null> {
    const { history, name } = this.#parts;
    const runId = readRunJobId(id);
    if (runId !== null) {
      const run = (await history.tree(runId))?.runs.find((one) => one.id === runId);
      return run === undefined ? null : runJob(run);
    }
    const enqueuer = parseJobId(id);
    const queued = enqueuer === null ? undefined : await this.#look((queue) => queue.getJob(id), undefined);
    // A job that the queue keeps only because of its parent has finished, and Postgres has its result.
    if (queued !== undefined && queued.finishedOn === undefined) return (await this.#named([queued]))[0] ?? null;
    const ended = enqueuer === null ? readEndedJobId(id) : { activityId: enqueuer.activityId, runId: null };
    if (ended === null) return null;
    const activity = await history.activity(ended.activityId, ended.runId);
    return activity === null || activity.queue !== name ? null : activityJob(activity);
  }

  /** Bull Board's access to a flow: the tree of runs, from Postgres, so that it exists during the run and after it. */
  async getFlowProducer(): Promise<{ getFlow(place: FlowPlace): Promise<FlowTree | null> }> {
    return { getFlow: (place) => flowOf(this.#parts.history, place) };
  }

  getQueueName(): string {
    return this.#parts.name;
  }

  getQueueQualifiedName(): string {
    return this.#parts.name;
  }

  override async getWorkers(): Promise<QueueWorker[] | null> {
    const { name, history } = this.#parts;
    if (name === "supervisor") return null;
    const those = (await history.workers()).filter(({ executes }) => name !== "execute" || executes);
    return those.map(({ id, host, aliveMs }) => ({ id, name: id, addr: host, age: Math.floor(aliveMs / 1000) }));
  }

  isPaused(): Promise<boolean> {
    return this.#look((queue) => queue.isPaused(), false);
  }

  getStatuses(): Status[] {
    return ["latest", ...statuses];
  }

  getJobStatuses(): JobStatus[] {
    return [...statuses];
  }

  async getJobLogs(): Promise<string[]> {
    return [];
  }

  async getMetrics(): Promise<QueueMetrics> {
    return { meta: { count: 0, prevTS: 0, prevCount: 0 }, data: [], count: 0 };
  }

  async getRedisInfo(): Promise<null> {
    return null;
  }

  async getJobSchedulers() {
    return [];
  }

  async getJobSchedulersCount(): Promise<number> {
    return 0;
  }

  async getGlobalConcurrency(): Promise<null> {
    return null;
  }

  pause = () => this.#change((queue) => queue.pause());
  resume = () => this.#change((queue) => queue.resume());
  empty = () => this.#change((queue) => queue.drain());
  promoteAll = () => this.#change((queue) => queue.promoteJobs());

  async clean(status: JobCleanStatus, graceMs: number): Promise<void> {
    await this.#change((queue) => queue.clean(graceMs, Number.MAX_SAFE_INTEGER, status));
  }

  // The other actions are refused: jobs come from runs, and lost jobs are enqueued again.
  addJob = () => refuse();
  obliterate = () => refuse();
  removeJobScheduler = () => refuse();
  updateJobScheduler = () => refuse();
  runJobSchedulerNow = () => refuse();
  setGlobalConcurrency = () => refuse();

  #queue(): WatchedQueue {
    return this.#parts.queues.watch(this.#parts.name);
  }

  async #change(ask: (queue: WatchedQueue) => Promise<unknown>): Promise<void> {
    try {
      await ask(this.#queue());
    } catch (error) {
      throw new Refusal(
        "UNAVAILABLE",
        { detail: "The queue refused the request or is unreachable." },
        { cause: error },
      );
    }
  }

  #ended() {
    return this.#parts.history.ended(this.#parts.name);
  }

  /**
   * Jobs that failed in the queue while their activity is still open: it will get another job. If the activity or its run has ended,
   * Postgres has the result, and the failed job is not listed.
   */
  async #failedThere(): Promise<BoardJob[]> {
    const { history, name } = this.#parts;
    const found = await this.#look((queue) => queue.getJobs(["failed"], 0, mostFailed - 1), []);
    const jobs = found.filter((job) => job !== undefined);
    if (jobs.length === 0) return [];
    const places = jobs.map(({ data }) => data as JobData);
    const [known, open] = await Promise.all([
      history.named(places),
      history.openRuns([...new Set(places.map(({ runId }) => runId))]),
    ]);
    return jobs.flatMap((job) => {
      const { activityId, runId } = job.data as JobData;
      const activity = known.get(activityId) ?? null;
      const over = !open.has(runId) || (activity !== null && hasEnded(activity));
      return over ? [] : [queuedJob(name, job, activity)];
    });
  }

  async #named(jobs: Awaited<ReturnType<WatchedQueue["getJobs"]>>): Promise<BoardJob[]> {
    const ours = jobs.map((job) => ({ job, data: job.data as JobData }));
    const known = await this.#parts.history.named(ours.map(({ data }) => data));
    return ours.map(({ job, data }) => queuedJob(this.#parts.name, job, known.get(data.activityId) ?? null));
  }

  async #look<Answer>(ask: (queue: WatchedQueue) => Promise<Answer>, away: Answer): Promise<Answer> {
    let late: NodeJS.Timeout | undefined;
    try {
      const silence = new Promise<never>((_, reject) => {
        late = setTimeout(() => reject(new Error("the queue gives no details")), queueMs);
      });
      const answer = await Promise.race([ask(this.#queue()), silence]);
      this.#away = false;
      return answer;
    } catch {
      this.#away = true;
      return away;
    } finally {
      clearTimeout(late);
    }
  }
}

function pick(counts: Readonly<Record<string, number>>): JobCounts {
  return Object.fromEntries(statuses.map((status) => [status, counts[status] ?? 0]));
}

async function refuse(): Promise<never> {
  throw new Refusal("FORBIDDEN", { detail: "The board does not support this action." });
}
