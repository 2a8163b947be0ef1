/** Programs and a player for tests, without clock, queue and store. An oracle answers each request. */
import { type ActivityRef, activityKey, type Work } from "./activity.ts";
import type { Command } from "./command.ts";
import type { ActivityFailed, Event, Outcome, RunStarted } from "./event.ts";
import type { Edge, Node, Program } from "./program.ts";
import { initialState, type RunState } from "./state.ts";
import { step } from "./step.ts";

export function programOf(nodes: Record<string, Node>, edges: readonly Edge[], more: Partial<Program> = {}): Program {
  return {
    form: 1,
    dialect: "codementor",
    name: "test",
    description: "",
    params: [],
    prompts: {},
    nodes,
    edges,
    entry: ["START"],
    handlers: { success: null, failed: null },
    agents: {},
    settings: {},
    sandbox: {},
    limits: initialState.limits,
    scheduling: "eager",
    lists: {},
    result: { take: "RESULT" },
    files: {},
    ...more,
  };
}

/** `A B` is an edge on ok; `A -fail- B` is an edge on a label. */
export function edgesOf(...lines: readonly string[]): Edge[] {
  return lines.map((line) => {
    const [, from = "", on, to = ""] = /^(\S+)(?: -(\S+)-)? (\S+)$/.exec(line) ?? [];
    return { from, to, on: on ?? "ok" };
  });
}

export function started(more: Partial<RunStarted> = {}): RunStarted {
  return {
    type: "run.started",
    at: 1_000,
    seed: 1,
    run: "r",
    variables: {},
    environment: {},
    caps: {},
    caller: null,
    ...more,
  };
}

export type Answer = Outcome | Pick<ActivityFailed, "failure" | "next">;

export interface Played {
  readonly state: RunState;
  readonly events: readonly Event[];
  readonly commands: readonly Command[];
  /** The activities in the order in which they were requested, including retries. */
  readonly asked: readonly string[];
}

/** Answers every request, oldest first, until none is outstanding. */
export function play(
  program: Program,
  oracle: (work: Work, activity: ActivityRef) => Answer,
  first: Event = started(),
): Played {
  const events: Event[] = [];
  const commands: Command[] = [];
  const asked: string[] = [];
  const open: { activity: ActivityRef; work: Work; epoch: number }[] = [];
  let state = initialState;
  const apply = (event: Event): void => {
    events.push(event);
    const next = step(program, state, event);
    state = next.state;
    commands.push(...next.commands);
    for (const command of next.commands) {
      if (command.do === "perform") open.push({ activity: command.activity, work: command.work, epoch: state.epoch });
      if (command.do === "retry") {
        const work = commands.findLast(
          (known) => known.do === "perform" && activityKey(known.activity) === activityKey(command.activity),
        );
        if (work?.do === "perform") open.push({ activity: command.activity, work: work.work, epoch: state.epoch });
      }
      if (command.do === "perform" || command.do === "retry") {
        asked.push(`${command.activity.node}.${command.activity.generation}.${command.activity.attempt}`);
      }
    }
  };
  apply(first);
  for (let at = 1_001; open.length > 0 && at < 100_000; at++) {
    const next = open.shift();
    if (next === undefined || next.epoch !== state.epoch) continue;
    const answer = oracle(next.work, next.activity);
    const base = { at, seed: at, epoch: next.epoch, activity: next.activity, usage: null };
    apply(
      "kind" in answer
        ? { type: "activity.succeeded", ...base, outcome: answer }
        : { type: "activity.failed", ...base, ...answer, retryAfterMs: null },
    );
  }
  return { state, events, commands, asked };
}
