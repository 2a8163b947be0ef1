/**
 * One turn: the new state and the commands while a step is computed. Only the running step changes this object. The states in it are
 * replaced, never changed.
 */

import type { ActivityRef, Work } from "./activity.ts";
import { allow, briefText } from "./bounds.ts";
import type { Command, Message } from "./command.ts";
import type { Event, Outcome, Usage } from "./event.ts";
import type { Failure } from "./failure.ts";
import type { Graph } from "./graph.ts";
import { own } from "./own-value.ts";
import type { Effort } from "./pattern/search-within.ts";
import type { Effect, Node, NodeId, Program } from "./program.ts";
import { resolve, type Scope, variableName } from "./resolve.ts";
import type { Active, Phase, RunState, Said, Taken } from "./state.ts";
import type { WarningCode } from "./warning-codes.ts";

export interface Turn {
  readonly program: Program;
  graph: Graph;
  readonly event: Event;
  state: RunState;
  readonly commands: Command[];
  /** The results of the finished checks. */
  readonly checked: Checked[];
  /** Steps that failed, with their reasons, independent of the result of the run. */
  readonly failed: FailedStep[];
  /** Nodes that will begin, in this order. */
  readonly ready: { readonly node: NodeId; readonly only: readonly NodeId[] | null }[];
  /** For nodes that continue another node's work, by id: the removed list elements that are put back if the node fails. */
  readonly carried: Map<NodeId, readonly Taken[]>;
  /** Nodes whose groups may have become complete, in this order. */
  readonly fed: NodeId[];
  /** The effort that its conditions may still spend. */
  readonly effort: Effort;
  /** Characters of the work that this turn has requested. */
  asked: number;
  warnings: number;
  /** The phase of the run before the event. */
  readonly found: Phase["is"];
  begun: Begun;
}

/** How many activities began: in the flow itself, and in a handler. */
export interface Begun {
  readonly flow: number;
  readonly handler: number;
}

export interface Checked {
  readonly activity: ActivityRef;
  readonly holds: boolean;
}

export interface FailedStep {
  readonly node: NodeId;
  readonly failure: Failure;
}

/** How an activity of a node begins. */
export type Begin =
  | { readonly do: "work"; readonly work: Work; readonly said?: Said }
  /** There is nothing to do, so the node is finished at once. */
  | { readonly do: "pass"; readonly finish: Finish }
  | { readonly do: "items"; readonly items: readonly string[] }
  | { readonly do: "end"; readonly outcome: "success" | "failed"; readonly word: string | null }
  | { readonly do: "fail"; readonly failure: Failure }
  /** A limit was reached, so no fail edge is taken. */
  | { readonly do: "limit"; readonly failure: Failure };

/** The result of a finished activity. */
export type Finish =
  | { readonly go: "on"; readonly on: string; readonly writes: readonly Write[]; readonly failure?: Failure }
  /** The node failed. RESULT contains the reason. */
  | { readonly go: "fail"; readonly failure: Failure }
  /** A called run reached a limit, so no edge is taken. */
  | { readonly go: "limit"; readonly writes: readonly Write[]; readonly failure: Failure }
  /** Repeat the request with other work. */
  | { readonly go: "again"; readonly work: Work; readonly said?: Said };

/** A write whose value is known. */
export type Write =
  | { readonly to: "variable"; readonly name: string; readonly text: string; readonly assigned?: true }
  | { readonly to: "list"; readonly list: string; readonly text: string }
  | { readonly to: "thread"; readonly said: Said; readonly messages: readonly Message[] }
  /** From now on, the agent uses this thread. `current`: prompts that name no agent go to this agent. */
  | { readonly to: "agent"; readonly agent: string; readonly thread: string; readonly current: boolean }
  | { readonly to: "graph"; readonly spliced: RunState["spliced"]; readonly heads: readonly NodeId[] };

export interface NodeRule<Kind extends Node> {
  begin(turn: Turn, node: Kind, visit: Visit): Begin;
  finish(turn: Turn, node: Kind, active: Active, outcome: Outcome): Finish;
}

export interface Visit {
  readonly id: NodeId;
  readonly generation: number;
  readonly reads: Readonly<Record<string, string>>;
}

export function scopeOf(turn: Turn, reads: Scope["reads"] = {}, files: Scope["files"] = {}): Scope {
  return { program: turn.program, state: turn.state, reads, files, effort: turn.effort };
}

export function change(turn: Turn, part: Partial<RunState>): void {
  turn.state = { ...turn.state, ...part };
}

/** The highest number of warnings of one step. A text with a hundred thousand unknown placeholders is one mistake. */
const mostWarnings = 50;

export function warn(turn: Turn, code: WarningCode, message: string, node: NodeId | null): void {
  tell(turn, { code, message }, node);
}

/** Adds a note that came with the run, under its own code. */
export function tell(turn: Turn, { code, message }: Failure, node: NodeId | null): void {
  turn.warnings += 1;
  if (turn.warnings > mostWarnings) return;
  turn.commands.push({ do: "warn", code, message: briefText(message), node });
  if (turn.warnings < mostWarnings) return;
  turn.commands.push({
    do: "warn",
    code: "WARNINGS_LEFT_OUT",
    message: "Further warnings of this step were dropped.",
    node,
  });
}

/** Placeholders without a value stay as written. The warning tells a person. */
export function tellUnknown(turn: Turn, names: readonly string[], node: NodeId): void {
  for (const name of names) warn(turn, "PLACEHOLDER_UNKNOWN", `{{${name}}} has no value and stays in the text.`, node);
}

export function spend(turn: Turn, usage: Usage | null): void {
  if (usage === null) return;
  const { spent } = turn.state;
  change(turn, {
    spent: {
      steps: spent.steps,
      calls: spent.calls + usage.calls,
      promptTokens: spent.promptTokens + usage.promptTokens,
      completionTokens: spent.completionTokens + usage.completionTokens,
      characters: spent.characters + usage.characters,
      nanodollars: spent.nanodollars + usage.nanodollars,
    },
  });
}

/** Counts an activity that begins as a step. */
export function countStep(turn: Turn): void {
  const { spent, phase } = turn.state;
  const { flow, handler } = turn.begun;
  turn.begun = phase.is === "handling" ? { flow, handler: handler + 1 } : { flow: flow + 1, handler };
  change(turn, { spent: { ...spent, steps: spent.steps + 1 } });
}

/**
 * How many more activities may begin with this event; null means that only the run's own limit applies. A handler that begins with this
 * event has its own allowance.
 */
export function roomLeft({ event: { room }, state: { phase }, found, begun }: Turn): number | null {
  if (room === undefined) return null;
  if (phase.is !== "handling") return room - begun.flow;
  return found === "handling" ? room - begun.handler : null;
}

export function setVariable(turn: Turn, name: string, text: string): void {
  if (own(turn.state.variables, name) === text) return;
  change(turn, { variables: { ...turn.state.variables, [name]: text } });
}

export function applyWrites(turn: Turn, activity: ActivityRef | null, writes: readonly Write[]): void {
  for (const write of writes) {
    switch (write.to) {
      case "variable":
        allow(write.text.length, turn.state.bounds, `The variable ${briefText(write.name, 200)}`);
        setVariable(turn, variableName(write.name), write.text);
        if (write.assigned && !turn.state.assigned.includes(write.name)) {
          change(turn, { assigned: [...turn.state.assigned, write.name] });
        }
        break;
      case "list":
        pushTo(turn, write.list, write.text);
        break;
      case "thread":
        if (activity !== null) {
          const { thread, agent } = write.said;
          turn.commands.push({ do: "append", activity, thread, agent, messages: write.messages });
        }
        break;
      case "agent":
        if (write.current) change(turn, { agent: write.agent });
        if (own(turn.state.threads, write.agent) !== write.thread) {
          change(turn, { threads: { ...turn.state.threads, [write.agent]: write.thread } });
        }
        break;
      case "graph":
        change(turn, { spliced: write.spliced });
        break;
    }
  }
}

export function applyEffects(turn: Turn, effects: readonly Effect[], reads: Scope["reads"]): void {
  for (const effect of effects) {
    if (effect.do === "clear") {
      change(turn, { lists: { ...turn.state.lists, [effect.list]: [] } });
      continue;
    }
    const value = resolve(effect.value, scopeOf(turn, reads));
    if (value.lists !== null) change(turn, { lists: value.lists });
    if (effect.do === "set") {
      allow(value.text?.length ?? 0, turn.state.bounds, `The variable ${effect.name}`);
      setVariable(turn, variableName(effect.name), value.text ?? "");
    } else pushTo(turn, effect.list, value.text ?? "");
  }
}

function pushTo(turn: Turn, list: string, text: string): void {
  allow(text.length, turn.state.bounds, `An item of the list ${list}`);
  change(turn, { lists: { ...turn.state.lists, [list]: [...(own(turn.state.lists, list) ?? []), text] } });
}

/** Creates a name for a thread. The thread itself begins with its first message. */
export function nextThread(turn: Turn, agent: string): string {
  const opened = turn.state.opened + 1;
  change(turn, { opened });
  return `${turn.state.run}/${agent === "" ? "main" : agent}/${opened}`;
}
