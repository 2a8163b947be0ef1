/** Describes the events of a run as lines for people: the node, the visit and the result. */

import type { Active, Checked, Event, Failure, Outcome, Phase, Usage } from "@markmill/engine";
import type { Happening } from "@markmill/stack";
import { countOf, formatCount, formatDollars, formatElapsed } from "./amounts.ts";
import { fitWidth, oneLine, textWidth } from "./fit-width.ts";

export interface EventLine {
  readonly at: Date;
  readonly mark: "✓" | "✗" | "!" | "·" | "↻";
  readonly node: string;
  /** Shortened if the line is too long. */
  readonly text: string;
  /** Never shortened: the results of checks, the cost. */
  readonly tail: string;
}

/** The described event and, if known, its result. */
export type Told = Pick<Happening, "entry" | "checked"> & Partial<Pick<Happening, "failed" | "again" | "phase">>;

type Line = Pick<EventLine, "mark" | "node" | "text">;

export function describeHappening(told: Told): EventLine {
  const { entry, checked } = told;
  if (entry.kind === "warning") {
    const { code, message, node } = entry.warning;
    return { at: entry.at, mark: "!", node: node ?? "", text: `${code}: ${oneLine(message)}`, tail: "" };
  }
  const { event } = entry;
  const describe = describers[event.type] as (event: Event, told: Told) => Line;
  const line = describe(event, told);
  const verdicts = checked.map((one) => describeVerdict(one, line.node)).join(", ");
  const usage = "usage" in event ? describeUsage(event.usage) : "";
  const cut = isCutReply(event) ? "cut at the output limit" : "";
  return { at: entry.at, ...line, tail: [verdicts, cut, usage].filter((part) => part !== "").join("  ") };
}

function isCutReply(event: Event): boolean {
  return event.type === "activity.succeeded" && event.outcome.kind === "replied" && event.outcome.cut !== undefined;
}

/** Other effects of the event: further steps that failed with it, and the run's new phase. */
export function describeAftermath(told: Told): EventLine[] {
  const { entry, failed = [], phase = null } = told;
  if (entry.kind === "warning") return [];
  const own = "activity" in entry.event ? entry.event.activity.node : null;
  const lines: Line[] = failed
    .filter(({ node }) => node !== own)
    .map(({ node, failure }) => ({ mark: "✗", node, text: reasonOf(failure) }));
  if (phase !== null) lines.push(...describePhase(phase));
  return lines.map((line) => ({ at: entry.at, ...line, tail: "" }));
}

/** One function per event. A new event type does not compile until it has a description here. */
const describers: { readonly [Type in Event["type"]]: (event: Extract<Event, { type: Type }>, told: Told) => Line } = {
  "run.started": () => ({ mark: "·", node: "", text: "started" }),
  "activity.succeeded": describeSuccess,
  "activity.failed": describeFailure,
  "ask.expired": (event) => ({ mark: "!", node: event.activity.node, text: "the question expired without an answer" }),
  "run.limited": (event) => ({ mark: "✗", node: "", text: reasonOf(event) }),
  "run.broken": (event) => ({ mark: "✗", node: "", text: `ENGINE_BUG: ${oneLine(event.message)}` }),
  "run.cancelled": (event) => ({ mark: "!", node: "", text: `cancelled: ${oneLine(event.message)}` }),
  "run.stopped": () => ({ mark: "!", node: "", text: "stopped" }),
  "run.resumed": () => ({ mark: "·", node: "", text: "resumed" }),
  "run.admitted": () => ({ mark: "·", node: "", text: "started after it was queued" }),
  "run.forked": (event) => ({ mark: "·", node: "", text: `forked from ${event.from} after its event ${event.seq}` }),
};

/** The result reached an edge, but the step may still have failed. */
function describeSuccess({ activity, outcome }: Extract<Event, { type: "activity.succeeded" }>, told: Told): Line {
  const failure = told.failed?.find(({ node }) => node === activity.node)?.failure ?? null;
  const returned = outcome.kind === "returned" && outcome.status !== "success";
  const exited = outcome.kind === "executed" && outcome.exitCode !== 0;
  // The text that a called workflow returned already contains its reason.
  const why = failure === null || (outcome.kind === "returned" && outcome.reason !== null) ? "" : reasonOf(failure);
  const words = [describeOutcome(outcome), why].filter((part) => part !== "");
  return {
    mark: failure !== null || returned ? "✗" : exited ? "!" : "✓",
    node: activity.node,
    text: `${visitOf(activity)}${words.join(": ")}`,
  };
}

function describeFailure(event: Extract<Event, { type: "activity.failed" }>, { again = null }: Told): Line {
  const { activity, failure } = event;
  const visit = visitOf(activity);
  if (again === null) return { mark: "✗", node: activity.node, text: `${visit}${reasonOf(failure)}` };
  const text =
    again.parked === undefined
      ? `${visit}${failure.code}, retried${timeUntil(again.notBefore, event.at)}: ${oneLine(failure.message)}`
      : `${visit}${describeParked(again, again.parked, event.at)}`;
  return { mark: again.parked?.held === true ? "!" : "↻", node: activity.node, text };
}

/** The model's endpoint is in trouble. The activity waits and has not failed. */
function describeParked(again: Active, { failure, trouble, held }: NonNullable<Active["parked"]>, at: number): string {
  const whom = trouble === null ? "the model" : trouble.model;
  const next = held
    ? "waiting time is over: 'markmill resume' continues"
    : `next attempt${timeUntil(again.notBefore, at)}`;
  return `waits for ${oneLine(whom)} (${reasonOf(failure)}), ${next}`;
}

function describePhase(phase: Phase): Line[] {
  switch (phase.is) {
    case "handling":
      if (phase.of === "success") return [{ mark: "·", node: "", text: "ON_SUCCESS starts" }];
      return [
        { mark: "✗", node: "", text: `ON_FAILED starts: ${phase.reason === null ? "" : reasonOf(phase.reason)}` },
      ];
    case "ended":
      return [describeEnd(phase.status, phase.reason)];
    default:
      return [];
  }
}

function describeEnd(status: "success" | "failed" | "cancelled", reason: Failure | null): Line {
  const why = reason === null ? "" : `: ${reasonOf(reason)}`;
  return { mark: status === "success" ? "✓" : "✗", node: "", text: `ended: ${status}${why}` };
}

function reasonOf({ code, message }: Failure): string {
  return `${code}: ${oneLine(message)}`;
}

function timeUntil(notBefore: number | null, at: number): string {
  return notBefore === null || notBefore <= at ? " at once" : ` in ${formatElapsed(notBefore - at)}`;
}

/** An event that completes a superstep also decides checks of other nodes. */
function describeVerdict({ activity, holds }: Checked, node: string): string {
  return activity.node === node ? `${holds}` : `${activity.node} ${holds}`;
}

/** The first visit is not mentioned. */
function visitOf({ generation, attempt, item }: { generation: number; attempt: number; item: number | null }): string {
  const parts = [
    ...(generation > 1 ? [`hit ${generation}`] : []),
    ...(item === null ? [] : [`item ${item + 1}`]),
    ...(attempt > 1 ? [`attempt ${attempt}`] : []),
  ];
  return parts.length === 0 ? "" : `(${parts.join(", ")}) `;
}

function describeOutcome(outcome: Outcome): string {
  switch (outcome.kind) {
    case "done":
      return "";
    case "executed":
      return outcome.commands === 0
        ? "no commands"
        : `${countOf(outcome.commands, "command")}, exit ${outcome.exitCode}`;
    case "called":
      return `calls ${outcome.calls.map(({ tool }) => tool).join(", ")}`;
    case "returned":
      return `returned ${outcome.status}${outcome.reason === null ? "" : ` (${reasonOf(outcome.reason)})`}`;
    default:
      return oneLine(outcome.text.slice(0, 400));
  }
}

function describeUsage(usage: Usage | null): string {
  if (usage === null || usage.calls === 0) return "";
  return `[${formatCount(usage.promptTokens + usage.completionTokens)} tokens, ${formatDollars(usage.nanodollars)}]`;
}

const leastText = 8;

/** Example: `✓ PROMPT_LOOK  text  [15 tokens, $0.0001]`. The text is shortened first, then the node's name, then the tail. */
export function layOut({ mark, node, text, tail }: EventLine, depth: number, columns: number): string {
  const start = `${"  ".repeat(Math.min(depth, 8))}${mark} `;
  const words = text.trimEnd();
  const end = words === "" || tail === "" ? tail : `  ${tail}`;
  const least = Math.min(textWidth(words), leastText) + textWidth(end);
  const named = node === "" ? "" : `${fitWidth(node, Math.max(leastText, columns - start.length - least - 2))}  `;
  const head = `${start}${named}`;
  const room = Math.max(leastText, columns - textWidth(head) - textWidth(end));
  return `${head}${fitWidth(words, room)}${end}`.trimEnd();
}
