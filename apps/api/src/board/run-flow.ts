/** Builds the tree of a run: the run, its activities, and below each CALL the activities of the run it called. */
import type { BoardActivity, BoardTree } from "@markmill/store";
import type { BoardHistory } from "./board-history.ts";
import { activityJob, type BoardJob, hasEnded, readEndedJobId, readRunJobId, runJob } from "./board-job.ts";

export interface FlowPlace {
  readonly id: string;
  /** Levels, including the top. Absent: all. */
  readonly depth?: number;
  readonly maxChildren?: number;
}

export interface FlowTree {
  readonly job: BoardJob;
  readonly children: readonly FlowTree[];
}

/** Builds the flow of a whole run, or of one of its jobs. */
export async function flowOf(history: Pick<BoardHistory, "tree">, place: FlowPlace): Promise<FlowTree | null> {
  const { depth = 50, maxChildren = 200 } = place;
  const activity = readEndedJobId(place.id);
  const runId = readRunJobId(place.id) ?? activity?.runId ?? null;
  const tree = runId === null ? null : await history.tree(runId);
  if (tree === null) return null;
  const grow = growth(tree, maxChildren);
  if (activity === null) {
    const run = tree.runs.find(({ id }) => id === runId);
    return run === undefined ? null : grow(runJob(run), grow.of(run.id), depth);
  }
  const top = tree.activities.find(({ id }) => id === activity.activityId);
  return top === undefined ? null : grow(activityJob(top, true), grow.below(top), depth);
}

function growth({ runs, activities }: BoardTree, most: number) {
  const byRun = Map.groupBy(activities, ({ runId }) => runId);
  const byCall = Map.groupBy(runs, ({ parentActivityId }) => parentActivityId);
  const of = (runId: string): readonly BoardActivity[] => byRun.get(runId) ?? [];
  // A CALL that was retried has called several runs.
  const below = ({ id }: BoardActivity) => (byCall.get(id) ?? []).flatMap((run) => of(run.id));
  function grow(job: BoardJob, children: readonly BoardActivity[], depth: number): FlowTree {
    const ended = children.filter(hasEnded).length;
    job.children = { ended, open: children.length - ended };
    const shown = depth <= 1 ? [] : children.slice(0, most);
    return { job, children: shown.map((child) => grow(activityJob(child, true), below(child), depth - 1)) };
  }
  return Object.assign(grow, { of, below });
}
