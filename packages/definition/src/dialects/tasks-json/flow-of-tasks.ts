/**
 * Finds the step of each task and the destination of each target. Reports targets that do not exist, and steps and tasks that are never
 * used.
 */
import { brief, doubt, type Reading, wrong } from "./json-fields.ts";
import type { Target, Task, TaskFile, TaskStep } from "./task-file.ts";

/** The only id that always ends a run. */
export const endId = "__end";
/** These ids end a run, unless a task of that name has a step. */
const alsoEnds: readonly string[] = ["_end", "end"];

export type Destination = { readonly to: "task"; readonly id: string } | { readonly to: "end"; readonly id: string };

export interface Flow {
  readonly entry: Destination;
  /** Tasks that run, each with its step. */
  readonly running: readonly { readonly task: Task; readonly step: TaskStep }[];
  readonly destination: (target: Target) => Destination;
}

/** null: there is no beginning. */
export function flowOf(file: TaskFile, reading: Reading): Flow | null {
  const tasks = new Map<string, Task>();
  for (const task of file.tasks) {
    if (!tasks.has(task.id)) tasks.set(task.id, task);
    else
      wrong(reading, "TASK_TWICE", task.at, `Two tasks have the id ${brief(task.id)}.`, "Give one of them another id.");
    if (task.id === endId && task.operator !== "end") {
      const message = `The task ${endId} never runs: its id is the end of every run.`;
      doubt(reading, "NAME_RESERVED", task.at, message, "Give it another id.");
    }
  }
  const isEnd = (id: string, stepped: boolean) =>
    id === endId || tasks.get(id)?.operator === "end" || (alsoEnds.includes(id) && !stepped);
  const steps = new Map<string, TaskStep>();
  const told = new Set<Target>();
  for (const step of file.steps) {
    const { id, at } = step.source;
    if (isEnd(id, tasks.has(id))) {
      const message = `The step's source ${brief(id)} is the end, so the step is never used.`;
      doubt(reading, "STEP_DEAD", step.at, message, "Remove it.");
    } else if (!tasks.has(id)) {
      told.add(step.source);
      const near = reading.report.didYouMean(id, tasks.keys());
      wrong(
        reading,
        "TASK_MISSING",
        at,
        `There is no task ${brief(id)}.`,
        `${near}Correct the source, or add the task.`,
      );
    } else if (steps.has(id)) {
      const message = `An earlier step has the source ${brief(id)}, so this step is never used.`;
      const fix = "Remove it; two ways out of one task are a condition with target_if_not.";
      wrong(reading, "STEP_DEAD", step.at, message, fix);
    } else steps.set(id, step);
  }

  const ids = [...tasks.keys(), endId];
  const destination = (target: Target): Destination => {
    const { id, at } = target;
    if (isEnd(id, steps.has(id))) return { to: "end", id: tasks.get(id)?.operator === "end" ? id : endId };
    if (steps.has(id)) return { to: "task", id };
    const first = !told.has(target);
    told.add(target);
    if (first && tasks.has(id)) {
      const message = `Task ${brief(id)} is a target but has no step: the run ends there, before it.`;
      doubt(reading, "TASK_WITHOUT_STEP", at, message, `Add a step with "source": ${JSON.stringify(brief(id))}.`);
    } else if (first) {
      const near = reading.report.didYouMean(id, ids);
      const message = `There is no task ${brief(id)}: the run ends there.`;
      doubt(reading, "TASK_MISSING", at, message, `${near}Write ${endId} if the run is to end.`);
    }
    return { to: "end", id: endId };
  };

  const named = new Set<string>();
  for (const { source, target, condition, fallback } of file.steps) {
    for (const one of [source, target, condition?.targetIfNot, fallback]) if (one) named.add(one.id);
  }
  for (const task of tasks.values()) {
    if (named.has(task.id) || task.operator === "end") continue;
    const message = `No step names the task ${brief(task.id)}: it never runs.`;
    reading.report.warn("TASK_UNUSED", reading.placeOf(task.at), message, "Add a step, or remove the task.");
  }
  const [first] = file.steps;
  if (first === undefined) return null;
  const running = [...tasks.values()].flatMap((task) => {
    const step = steps.get(task.id);
    return step === undefined ? [] : [{ task, step }];
  });
  return { entry: destination(first.source), running, destination };
}
