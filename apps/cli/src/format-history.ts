/**
 * Writes a run for people as one Markdown file (`.wfh.md`): its flowchart with the current node, its variables, and every activity with its
 * input and output. A called run has a separate file, which its CALL links to.
 */
import { type Drawing, drawProgram } from "@markmill/definition";
import {
  type Active,
  type Event,
  followStep,
  initialState,
  type Phase,
  type Program,
  type RunState,
  type Usage,
  visibleText,
} from "@markmill/engine";
import type { History, HistoryActivity, HistoryEntry, RunDetail, StoredCall, StoredToolCall } from "@markmill/store";
import { countOf, formatCount, formatDollars, formatElapsed } from "./amounts.ts";
import { countCalls } from "./summarise-run.ts";

export interface RunRecord {
  readonly run: RunDetail;
  readonly program: Program;
  readonly history: History;
  readonly calls: readonly StoredCall[];
  readonly toolCalls: readonly StoredToolCall[];
  /** The file of a called run, by the id of the CALL's activity. */
  readonly callees: ReadonlyMap<number, { readonly file: string; readonly runId: string }>;
}

const turnings = {
  "run.stopped": "Stopped",
  "run.resumed": "Resumed",
  "run.admitted": "Started after it was queued",
} as const;

export function formatHistory(record: RunRecord): string {
  const { run, program } = record;
  const spent = `${countOf(run.spent.steps, "step")}, ${countCalls(run.spent)}, ${countOf(run.spent.promptTokens + run.spent.completionTokens, "token")}, ${formatDollars(run.spent.nanodollars)}`;
  const took = run.endedAt === null ? "not ended" : formatElapsed(run.endedAt.getTime() - run.createdAt.getTime());
  // People read this text in a viewer or on a screen. The events keep every text unchanged.
  return visibleText(
    [
      `# ${run.name}`,
      "",
      `File: ${run.program}, definition ${run.definitionHash.slice(0, 12)}`,
      "",
      `Run: ${run.id}, ${run.status}${run.reason === null ? "" : ` (${run.reason.code}: ${inline(run.reason.message)})`}`,
      "",
      `Spent: ${spent}, ${took}`,
      "",
      "# Workflow",
      "",
      ...chartOf(drawProgram(program), openNodes(record)),
      "",
      "## Variables:",
      "",
      ...Object.entries(run.variables)
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .flatMap(([name, value]) => variableLines(name, value)),
      "",
      "# History",
      "",
      ...entriesOf(record).flatMap(({ caption, status, at, lines }, index) => [
        `## ${index + 1}. ${inline(caption)}  => ${status}`,
        `<!-- ts=${at.toISOString()} -->`,
        "",
        ...lines,
        ...(lines.length === 0 ? [] : [""]),
      ]),
    ].join("\n"),
  );
}

interface Written {
  readonly caption: string;
  readonly status: string;
  readonly at: Date;
  readonly lines: readonly string[];
}

function entriesOf({ run, program, history, calls, toolCalls, callees }: RunRecord): Written[] {
  const captions = drawProgram(program)?.captions;
  const captionOf = (node: string) => captions?.get(node) ?? node;
  const activities = new Map(history.activities.map((activity) => [visit(activity), activity]));
  const asked = ({ id }: HistoryActivity): Asked => ({
    calls: calls.filter(({ key }) => key.activityId === id),
    toolCalls: toolCalls.filter(({ activityId }) => activityId === id),
  });
  const written: Written[] = [];
  let state: RunState = initialState;
  for (const entry of history.entries) {
    if (entry.kind === "warning") {
      const { code, message, node } = entry.warning;
      written.push({
        caption: `Warning: ${code}`,
        status: statusOf(state),
        at: entry.at,
        lines: [`${node ?? ""} ${message}`.trim()],
      });
      continue;
    }
    const before = state;
    const { state: after, failed, again } = followStep(program, state, entry.event);
    state = after;
    const { event, at } = entry;
    const turned = state.phase.is === before.phase.is ? [] : turnLines(state.phase);
    switch (event.type) {
      case "run.started":
        written.push({ caption: "Start", status: statusOf(state), at, lines: [] });
        break;
      case "activity.succeeded":
      case "activity.failed": {
        const { activity: ref } = event;
        const activity = activities.get(visit(ref));
        const times = `${ref.generation > 1 ? ` (hit ${ref.generation})` : ""}${toolOf(activity)}`;
        const lines =
          activity === undefined ? [] : activityLines(activity, entry, asked(activity), callees.get(activity.id));
        const taken = Object.values(state.active).map((active) => active.ref.node);
        const verdict = activity?.kind === "check" ? [`Next: ${taken.join(", ") || "the end"}`] : [];
        const reasons = failed.flatMap(({ node, failure }) =>
          // If the activity failed, the lines already report it.
          event.type === "activity.failed" && node === ref.node && activity !== undefined
            ? []
            : [`**${failure.code}**: ${node === ref.node ? "" : `${node}: `}${failure.message}`],
        );
        written.push({
          caption: `${captionOf(ref.node)}${times}${fateOf(event, failed.length > 0, again)}`,
          status: statusOf(before),
          at,
          lines: [...lines, ...verdict, ...reasons, ...turned],
        });
        break;
      }
      case "ask.expired":
        written.push({
          caption: `${captionOf(event.activity.node)}: expired`,
          status: statusOf(before),
          at,
          lines: [...failed.map(({ failure }) => `**${failure.code}**: ${failure.message}`), ...turned],
        });
        break;
      case "run.limited":
        written.push({
          caption: `Limit: ${event.code}`,
          status: statusOf(state),
          at,
          lines: [event.message, ...turned],
        });
        break;
      case "run.broken":
        written.push({ caption: "Defect: ENGINE_BUG", status: statusOf(state), at, lines: [event.message] });
        break;
      case "run.cancelled":
        written.push({ caption: "Cancelled", status: statusOf(state), at, lines: [event.message] });
        break;
      case "run.stopped":
      case "run.resumed":
      case "run.admitted":
        written.push({
          caption: turnings[event.type],
          status: statusOf(state),
          at,
          lines: [],
        });
        break;
      case "run.forked":
        written.push({
          caption: "Forked",
          status: statusOf(state),
          at,
          lines: [`Everything before this was copied from run ${event.from}, up to its event ${event.seq}.`],
        });
        break;
    }
  }
  for (const activity of history.activities.filter(isOpen)) {
    const lines = activityLines(activity, null, asked(activity), callees.get(activity.id));
    written.push({
      caption: `${captionOf(activity.node)}${toolOf(activity)}`,
      status: statusOf(state),
      at: activity.createdAt,
      lines,
    });
  }
  if (run.endedAt !== null) {
    const status = run.status === "success" ? "SUCCESS" : run.status === "failed" ? "FAILED" : run.status.toUpperCase();
    const why = run.reason === null ? [] : [`**${run.reason.code}**: ${run.reason.message}`, ""];
    written.push({
      caption: status,
      status,
      at: run.endedAt,
      lines: [...why, ...(run.result === null ? [] : [run.result])],
    });
  }
  return written;
}

/** The result of an activity after its caption. Empty if it succeeded. */
function fateOf(
  event: Extract<Event, { type: "activity.succeeded" | "activity.failed" }>,
  failed: boolean,
  again: Active | null,
): string {
  if (event.type === "activity.failed" && again !== null) {
    const { attempt } = event.activity;
    if (again.parked === undefined) return `, attempt ${attempt} failed`;
    return again.parked.held
      ? `, attempt ${attempt}: waits to be resumed`
      : `, attempt ${attempt}: waits for the model`;
  }
  return failed || event.type === "activity.failed" ? ", failed" : "";
}

/** A call that a model made with a tool is listed under its prompt. */
function toolOf(activity: HistoryActivity | undefined): string {
  const { work } = activity ?? {};
  return work?.kind === "call" && work.tool !== undefined ? `, tool ${work.tool.name}` : "";
}

/** The end itself is written last, with RESULT. */
function turnLines(phase: Phase): string[] {
  if (phase.is !== "handling") return [];
  const why = phase.reason === null ? "" : ` (${phase.reason.code}: ${phase.reason.message})`;
  return ["", `Then: ${phase.of === "success" ? "ON_SUCCESS" : "ON_FAILED"}${why}`];
}

/** The model and tool calls of an activity. */
interface Asked {
  readonly calls: readonly StoredCall[];
  readonly toolCalls: readonly StoredToolCall[];
}

/** Input and output. `entry` null: there is no output yet. */
function activityLines(
  activity: HistoryActivity,
  entry: Extract<HistoryEntry, { kind: "event" }> | null,
  { calls: mine, toolCalls }: Asked,
  callee: { readonly file: string; readonly runId: string } | undefined,
): string[] {
  const event = entry?.event;
  const usage = event !== undefined && "usage" in event ? event.usage : null;
  const failed = event?.type === "activity.failed" ? [`**${event.failure.code}**: ${event.failure.message}`] : [];
  const outcome = event?.type === "activity.succeeded" ? event.outcome : null;
  const { work } = activity;
  switch (work.kind) {
    case "prompt": {
      const model = mine.at(0)?.model;
      // Reasoning is shown even if the reply contained nothing else, so the calls are chosen by their attempt.
      const attempt = event !== undefined && "activity" in event ? event.activity.attempt : null;
      const got = mine.filter((call) => call.attempt === attempt);
      const thoughts = (got.length === 0 && outcome !== null ? mine.slice(-1) : got).flatMap(reasoningOf);
      const reply =
        outcome?.kind === "replied"
          ? [outcome.text, ...(outcome.notes ?? []).map((note) => `> ${note}`)]
          : outcome?.kind === "called"
            ? [`Calls: ${outcome.calls.map(({ tool }) => tool).join(", ")}`]
            : [];
      return [
        work.text,
        "",
        "---",
        "",
        // The tool calls are listed while the activity waits for them, and all of them at its end.
        ...(outcome?.kind === "called" ? [] : toolCalls.flatMap(toolLines)),
        ...thoughts.flatMap((thought) => ["Reasoning, not part of the reply:", ...fenced(thought, ""), ""]),
        ...(event === undefined ? ["..."] : [...failed, ...reply]),
        ...costLine(model, usage),
      ];
    }
    case "grade": {
      const models = [...new Set(mine.map(({ model }) => model))].join(", ");
      const notes = outcome?.kind === "graded" ? (outcome.notes ?? []).map((note) => `> ${note}`) : [];
      return [
        ...(work.task === "" ? [] : ["Task:", ...fenced(work.task, "")]),
        ...failed,
        ...(outcome?.kind === "graded"
          ? [outcome.text, "", ...fenced(JSON.stringify(outcome.grade, null, 2), "json"), ...notes]
          : failed.length > 0
            ? []
            : ["..."]),
        ...costLine(models === "" ? undefined : models, usage),
      ];
    }
    case "note":
      return [`(${work.role})`, "", work.text];
    case "execute": {
      const output = outcome?.kind === "executed" ? outcome : null;
      return [
        "Input:",
        ...fenced(work.text, work.source === "literal" ? "sh" : "markdown"),
        ...failed,
        ...(output === null
          ? failed.length > 0
            ? []
            : ["..."]
          : output.text.trim() === ""
            ? ["No output"]
            : ["Output:", ...fenced(output.text, "sh")]),
        ...(output === null ? [] : [`Exit code: ${output.exitCode} (${countOf(output.commands, "command")})`]),
      ];
    }
    case "ask": {
      const answer = outcome?.kind === "answered" ? fenced(outcome.text, "") : ["..."];
      return [
        "Input:",
        ...fenced([work.question, work.text].filter((part) => part !== "").join("\n"), ""),
        "Output:",
        ...answer,
        ...failed,
      ];
    }
    case "call": {
      const link =
        callee === undefined ? [] : [`Called: [${callee.file}](${encodeURI(callee.file)}) (run ${callee.runId})`];
      const back = outcome?.kind === "returned" ? [`Returned: ${outcome.status}`, "", outcome.result] : ["..."];
      return [...link, ...back, ...failed, ...costLine(undefined, usage)];
    }
    case "set":
      return work.write === null ? failed : [...fenced(work.write.text, ""), ...failed];
    case "tool":
      return [...toolCalls.flatMap(toolLines), ...failed];
    case "memory": {
      const found = outcome?.kind === "produced" ? outcome.text.trim() : "";
      return [`(${work.op})`, "", work.text, ...(found === "" ? [] : ["", ...fenced(found, "")]), ...failed];
    }
    default:
      return failed;
  }
}

function toolLines({ name, arguments: given, attempt, state, result, failure, ms }: StoredToolCall): string[] {
  const took = ms === null ? "" : `, ${formatElapsed(ms)}`;
  const tried = attempt > 1 ? `, attempt ${attempt}` : "";
  const end = { begun: "begun", done: "done", failed: "failed" }[state];
  return [
    `Tool \`${inline(name).replaceAll("`", "'")}\` (${end}${tried}${took}):`,
    ...fenced(given, "json"),
    ...(result === null ? [] : fenced(result, "")),
    ...(failure === null ? [] : [`**${failure.code}**: ${failure.message}`]),
    "",
  ];
}

function reasoningOf({ reply }: StoredCall): string[] {
  const reasoning = typeof reply === "object" && reply !== null && "reasoning" in reply ? reply.reasoning : null;
  return typeof reasoning === "string" && reasoning !== "" ? [reasoning] : [];
}

function costLine(model: string | undefined, usage: Usage | null): string[] {
  if (usage === null || usage.calls === 0) return [];
  const tokens = `${formatCount(usage.promptTokens)} + ${formatCount(usage.completionTokens)} tokens`;
  return [
    "",
    `<!-- ${model === undefined ? "" : `model=${model.replaceAll("--", "- -")}, `}${tokens}, ${formatDollars(usage.nanodollars)} -->`,
  ];
}

function variableLines(name: string, value: string): string[] {
  return value.includes("\n") ? [`- **${name}**=`, ...fenced(value, "")] : [`- **${name}**=${value}`];
}

/** Uses a fence longer than any in the text, so that text from models and students cannot close it. */
function fenced(text: string, tag: string): string[] {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return [`${fence}${tag}`, text.replace(/\n$/, ""), fence];
}

/** The flowchart with the active nodes marked. */
function chartOf(drawing: Drawing | null, current: readonly string[]): string[] {
  if (drawing === null) return ["(This program has no flowchart.)"];
  const styles = current.map((node) => `    style ${drawing.names?.get(node) ?? node} stroke-width:4px`);
  return ["```mermaid", ...drawing.lines, ...styles, "```"];
}

function openNodes({ history }: RunRecord): string[] {
  return [...new Set(history.activities.filter(isOpen).map(({ node }) => node))];
}

function isOpen({ state }: HistoryActivity): boolean {
  return state === "ready" || state === "claimed" || state === "waiting";
}

function visit({ node, generation, item }: Pick<HistoryActivity, "node" | "generation" | "item">): string {
  return `${node}.${generation}.${item ?? ""}`;
}

function statusOf({ variables }: RunState): string {
  return variables.STATUS ?? "DOING";
}

function inline(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
