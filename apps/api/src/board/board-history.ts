/**
 * Reads jobs for the board from Postgres. Finished jobs are listed from here: most jobs are handed over and leave no trace in the queue
 * (hand-over.ts of the queue), and keeping them there would make every step slower. Each query runs at most once per `freshMs`, for any
 * number of viewers.
 */
import type { QueueName } from "@markmill/engine";
import type { ActivityPlace, BoardActivity, BoardTree, Store } from "@markmill/store";

const freshMs = 2_000;
/** Finished activities of each kind. */
const mostOfKind = 200;

interface BoardWorker {
  readonly id: string;
  readonly host: string;
  readonly aliveMs: number;
  readonly executes: boolean;
}

export interface BoardHistory {
  /** The latest first. */
  ended(
    queue: QueueName,
  ): Promise<{ readonly completed: readonly BoardActivity[]; readonly failed: readonly BoardActivity[] }>;
  /** By activity id. */
  named(jobs: readonly ActivityPlace[]): Promise<ReadonlyMap<number, BoardActivity>>;
  /** `runId` null: unknown. */
  activity(activityId: number, runId: string | null): Promise<BoardActivity | null>;
  tree(runId: string): Promise<BoardTree | null>;
  /** The runs that exist and have not ended. */
  openRuns(runIds: readonly string[]): Promise<ReadonlySet<string>>;
  workers(): Promise<readonly BoardWorker[]>;
}

export function readHistory({ board, workers, clock }: Pick<Store, "board" | "workers" | "clock">): BoardHistory {
  const latest = fresh(() => board.ended(mostOfKind));
  const alive = fresh(async () => {
    const now = clock.now();
    return (await workers())
      .filter(({ alive }) => alive)
      .map(({ id, host, info, startedAt }) => ({
        id,
        host,
        aliveMs: now - startedAt.getTime(),
        executes: (info as { sandbox?: unknown } | null)?.sandbox != null,
      }));
  });

  async function named(jobs: readonly ActivityPlace[]): Promise<ReadonlyMap<number, BoardActivity>> {
    return new Map((await board.activities(jobs)).map((activity) => [activity.id, activity]));
  }

  return {
    async ended(queue) {
      const those = (await latest()).filter((activity) => activity.queue === queue);
      return {
        completed: those.filter(({ failure }) => failure === null),
        failed: those.filter(({ failure }) => failure !== null),
      };
    },
    named,
    async activity(activityId, runId) {
      const recent = (await latest()).find(({ id, runId: of }) => id === activityId && (runId ?? of) === of) ?? null;
      if (recent !== null) return recent;
      const run = runId ?? (await board.runOf(activityId));
      return run === null ? null : ((await named([{ runId: run, activityId }])).get(activityId) ?? null);
    },
    tree: (runId) => board.tree(runId),
    openRuns: (runIds) => board.openRuns(runIds),
    workers: alive,
  };
}

/** Requests within `freshMs` get the same answer. A failure is not cached. */
function fresh<Answer>(ask: () => Promise<Answer>): () => Promise<Answer> {
  let known: { readonly answer: Promise<Answer>; readonly until: number } | null = null;
  return () => {
    if (known !== null && performance.now() < known.until) return known.answer;
    const answer = ask();
    const mine = { answer, until: performance.now() + freshMs };
    known = mine;
    answer.catch(() => {
      if (known === mine) known = null;
    });
    return answer;
  };
}
