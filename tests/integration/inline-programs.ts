/** Programs of inline activities, and how a test performs them. */
import type { Event, JobSpec, Node } from "@markmill/engine";
import type { Claim, Store } from "../support/store.ts";
import { perform, program } from "./store-programs.ts";

type Claimed = Extract<Claim, { kind: "claimed" }>;

export const end: Node = { kind: "end", outcome: "success" };
export const assign = (text: string): Node => ({ kind: "assign", value: { from: "literal", text } });
export const set = (name: string, text: string): Node => ({
  kind: "set",
  target: { to: "variable", name },
  value: { from: "literal", text },
});

/** Branches of two assignments each. They start together, and the run ends with the last one. */
export function branches(size: number) {
  const names = Array.from({ length: size }, (_, i) => `b${i}`);
  return program(
    {
      ...Object.fromEntries(
        names.flatMap((name) => [
          [name, set(name, "first")],
          [`${name}x`, set(name, "second")],
        ]),
      ),
      all: { kind: "join", groups: { "": { mode: "all" } } },
      end,
    },
    [
      ...names.flatMap((name) => [
        { from: name, to: `${name}x`, on: "ok" },
        { from: `${name}x`, to: "all", on: "ok" },
      ]),
      { from: "all", to: "end", on: "ok" },
    ],
    { entry: names },
  );
}

/** Performs activities until no job is enqueued. */
export async function finish(by: Store, jobs: readonly JobSpec[]): Promise<void> {
  for (let next = [...jobs]; next.length > 0; ) {
    const [job, ...rest] = next;
    next = job === undefined ? rest : [...rest, ...(await perform(by, job)).jobs];
  }
}
export function two(jobs: readonly JobSpec[]): readonly [JobSpec, JobSpec] {
  const [one, another, ...more] = jobs;
  if (one === undefined || another === undefined || more.length > 0)
    throw new Error(`two, not ${jobs.length} enqueues`);
  return [one, another];
}
export const failing = (by: Store, { activity }: Claimed, next: "retry" | "fail"): Event => ({
  type: "activity.failed",
  at: by.clock.now(),
  seed: 1,
  epoch: activity.epoch,
  activity: activity.ref,
  failure: { code: "WORKER_LOST", message: "gone" },
  next,
  retryAfterMs: null,
  usage: null,
});
export const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
