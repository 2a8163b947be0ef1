/** Events of a run as lines for people: when, which node, which visit, what came of it. */
import type { Checked, Event, Outcome, Usage } from "@markmill/engine";
import { countOf, formatCount, formatDollars } from "./amounts.ts";
import { fitWidth, oneLine, textWidth } from "./fit-width.ts";
import type { Happening } from "./follow-run.ts";

export interface EventLine {
  readonly at: Date;
  readonly mark: "✓" | "✗" | "!" | "·" | "↻";
  readonly node: string;
  /** Cut where the line is too long. */
  readonly text: string;
  /** Kept whole: what checks came to, what it cost. */
  readonly tail: string;
}

export function describeHappening({ entry, checked }: Pick<Happening, "entry" | "checked">): EventLine {
  if (entry.kind === "warning") {
    const { code, message, node } = entry.warning;
    return { at: entry.at, mark: "!", node: node ?? "", text: `${code}: ${oneLine(message)}`, tail: "" };
  }
  const { event } = entry;
  const line = describeEvent(event);
  const verdicts = checked.map((one) => describeVerdict(one, line.node)).join(", ");
  const usage = "usage" in event ? describeUsage(event.usage) : "";
  return { at: entry.at, ...line, tail: [verdicts, usage].filter((part) => part !== "").join("  ") };
}

function describeEvent(event: Event): Pick<EventLine, "mark" | "node" | "text"> {
  switch (event.type) {
    case "run.started":
      return { mark: "·", node: "", text: "started" };
    case "activity.succeeded": {
      const { outcome } = event;
      const bad = outcome.kind === "returned" && outcome.status !== "success";
      const text = `${visitOf(event.activity)}${describeOutcome(outcome)}`;
      return { mark: bad ? "✗" : "✓", node: event.activity.node, text };
    }
    case "activity.failed": {
      const { code, message } = event.failure;
      const again = event.next === "retry" ? ", to be tried again" : "";
      const text = `${visitOf(event.activity)}${code}${again}: ${oneLine(message)}`;
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
    case "run.forked":
      return { mark: "·", node: "", text: `forked from ${event.from} after its event ${event.seq}` };
  }
}

/** An event that completes a superstep decides checks of other nodes too. */
function describeVerdict({ activity, holds }: Checked, node: string): string {
  return activity.node === node ? `${holds}` : `${activity.node} ${holds}`;
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
  return `[${formatCount(usage.promptTokens + usage.completionTokens)} tokens, ${formatDollars(usage.nanodollars)}]`;
}

const leastText = 8;

/** `✓ PROMPT_LOOK  text  [15 tokens, $0.0001]`; the text gives way first, then the node's name, what is kept last. */
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
