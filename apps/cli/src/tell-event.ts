/** Events of a run as lines for people: when, which node, which visit, what came of it. */
import type { Event, Outcome, Usage } from "@markmill/engine";
import type { HistoryEntry } from "@markmill/store";
import { countOf, formatCount, formatDollars } from "./amounts.ts";
import { oneLine } from "./fit-width.ts";

export interface EventLine {
  readonly at: Date;
  readonly mark: "✓" | "✗" | "!" | "·" | "↻";
  readonly node: string;
  readonly text: string;
}

export function describeEntry(entry: HistoryEntry): EventLine {
  if (entry.kind === "warning") {
    const { code, message, node } = entry.warning;
    return { at: entry.at, mark: "!", node: node ?? "", text: `${code}: ${oneLine(message)}` };
  }
  const line = describeEvent(entry.event);
  return { at: entry.at, ...line };
}

function describeEvent(event: Event): Omit<EventLine, "at"> {
  switch (event.type) {
    case "run.started":
      return { mark: "·", node: "", text: "started" };
    case "activity.succeeded": {
      const { outcome, usage } = event;
      const bad = outcome.kind === "returned" && outcome.status !== "success";
      const text = `${visitOf(event.activity)}${describeOutcome(outcome)}${describeUsage(usage)}`;
      return { mark: bad ? "✗" : "✓", node: event.activity.node, text };
    }
    case "activity.failed": {
      const { code, message } = event.failure;
      const again = event.next === "retry" ? ", to be tried again" : "";
      const text = `${visitOf(event.activity)}${code}${again}: ${oneLine(message)}${describeUsage(event.usage)}`;
      return { mark: event.next === "retry" ? "↻" : "✗", node: event.activity.node, text };
    }
    case "ask.expired":
      return { mark: "!", node: event.activity.node, text: "nobody answered in time" };
    case "run.limited":
      return { mark: "!", node: "", text: `${event.code}: ${oneLine(event.message)}` };
    case "run.cancelled":
      return { mark: "!", node: "", text: `cancelled: ${oneLine(event.message)}` };
    case "run.stopped":
      return { mark: "!", node: "", text: "stopped" };
    case "run.resumed":
      return { mark: "·", node: "", text: "resumed" };
  }
}

/** The first visit goes without saying. */
function visitOf({ generation, attempt, item }: { generation: number; attempt: number; item: number | null }): string {
  const parts = [
    ...(generation > 1 ? [`hit ${generation}`] : []),
    ...(item === null ? [] : [`item ${item + 1}`]),
    ...(attempt > 1 ? [`try ${attempt}`] : []),
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
    case "returned":
      return `returned ${outcome.status}${outcome.reason === null ? "" : ` (${outcome.reason.code})`}`;
    default:
      return oneLine(outcome.text.slice(0, 400));
  }
}

function describeUsage(usage: Usage | null): string {
  if (usage === null || usage.calls === 0) return "";
  return `  [${formatCount(usage.promptTokens + usage.completionTokens)} tokens, ${formatDollars(usage.nanodollars)}]`;
}

/** `✓ PROMPT_LOOK  text`, cut in the middle so that what it cost stays visible. */
export function layOut({ mark, node, text }: EventLine, depth: number, columns: number): string {
  const head = `${"  ".repeat(Math.min(depth, 8))}${mark} ${node === "" ? "" : `${node}  `}`;
  const tail = /\s{2}\[[^\]]*\]$/.exec(text)?.[0] ?? "";
  const body = text.slice(0, text.length - tail.length);
  const room = columns - head.length - tail.length;
  return `${head}${room < 8 ? body : shorten(body, room)}${tail}`.trimEnd();
}

function shorten(text: string, room: number): string {
  return text.length <= room ? text : `${text.slice(0, room - 1).trimEnd()}…`;
}
