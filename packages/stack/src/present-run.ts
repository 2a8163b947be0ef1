/** Shows a run in the form of the contract: for the API and for `--json` of the commands, so that both use the same names. */
import type { Got, Routes } from "@markmill/contract";
import { type Event, type Json, redacted } from "@markmill/engine";
import type {
  Ask,
  Difference,
  HistoryActivity,
  HistoryEntry,
  RunDetail,
  RunSummary,
  Spent,
  Wait,
  Warning,
} from "@markmill/store";

type Body<Name extends keyof Routes> = Got<Routes[Name]>;
type Summary = Body<"listRuns">["items"][number];
type RunEvent = Body<"listEvents">["items"][number];

export function presentRunSummary(run: RunSummary): Summary {
  const {
    id,
    rootId,
    parentActivityId,
    program,
    name,
    status,
    queued,
    phase,
    word,
    rev,
    depth,
    labels,
    spent,
    reason,
  } = run;
  return {
    id,
    rootId,
    parentActivityId,
    definition: run.definitionHash,
    program,
    name,
    status,
    queued,
    phase,
    word,
    rev,
    depth,
    labels: { ...labels },
    spent: {
      steps: spent.steps,
      calls: spent.calls,
      promptTokens: spent.promptTokens,
      completionTokens: spent.completionTokens,
      nanodollars: spent.nanodollars,
      ...(spent.unsure === undefined ? {} : { unsure: { ...spent.unsure } }),
    },
    reason: reason === null ? null : { ...reason },
    createdAt: run.createdAt.toISOString(),
    endedAt: run.endedAt?.toISOString() ?? null,
    deadline: run.deadline?.toISOString() ?? null,
  };
}

export function presentRun(run: RunDetail, doing: Body<"getRun">["doing"], waits: readonly Wait[]): Body<"getRun"> {
  return {
    ...presentRunSummary(run),
    result: run.result,
    report: run.variables.REPORT ?? null,
    doing,
    waits: waits.map(presentWait),
  };
}

export function presentWait({ runId, node, parked, nextTry }: Wait): Body<"getRun">["waits"][number] {
  const { held, tries, trouble, failure, since } = parked;
  return {
    runId,
    node,
    held,
    tries,
    trouble,
    failure: { ...failure },
    since: new Date(since).toISOString(),
    nextTry: nextTry?.toISOString() ?? null,
  };
}

type Open = Pick<HistoryActivity, "id" | "node" | "generation" | "attempt" | "kind" | "state" | "createdAt">;

export function presentDoing(activity: Open): Body<"getRun">["doing"][number] {
  const { id: activityId, node, generation, attempt, kind, state, createdAt } = activity;
  return { activityId, node, generation, attempt, kind, state, since: createdAt.toISOString() };
}

export function presentAsk(ask: Ask): Body<"listAsks">["items"][number] {
  const { activityId: id, runId, rootId, node, question, text, createdAt, expiresAt } = ask;
  const times = { createdAt: createdAt.toISOString(), expiresAt: expiresAt?.toISOString() ?? null };
  return { id, runId, rootId, node, question, text, ...times };
}

/** Includes the cost of its whole tree and its warnings. */
export function runAsJson(
  run: RunDetail,
  { characters: _, ...spent }: Spent,
  warnings: readonly Warning[],
  waits: readonly Wait[],
  doing: Body<"getRun">["doing"] = [],
) {
  return {
    ...presentRun(run, doing, waits),
    spent: { steps: run.spent.steps, ...spent },
    warnings: warnings.map(({ code, message, node }) => ({ code, message, node })),
  };
}

/** An event and its warnings become one entry. */
export function presentEvents(runId: string, entries: readonly HistoryEntry[]): RunEvent[] {
  const events: (RunEvent & { warnings: Warning[] })[] = [];
  for (const entry of entries) {
    if (entry.kind === "event") {
      const { seq, at, event } = entry;
      const told = { seq, runId, type: event.type, at: at.toISOString(), body: bodyOf(event), warnings: [] };
      // The engine's event and the contract's have the same types. Tests check every answer against its schema.
      events.push(told as unknown as RunEvent & { warnings: Warning[] });
    } else {
      const { code, message, node } = entry.warning;
      events.at(-1)?.warnings.push({ code, message, node });
    }
  }
  return events;
}

/** Hides values of the environment: they belong to the operator. */
export function presentDifference({ path, folded, stored }: Difference): Difference {
  const hidden = /(^|\.)environment(\.|$)/.test(path);
  const cut = (text: string) => (hidden ? redacted : text.length > 1_000 ? `${text.slice(0, 1_000)}…` : text);
  return { path, folded: cut(folded), stored: cut(stored) };
}

/** The environment of a run can contain secrets of the operator. */
function bodyOf(event: Event): Record<string, Json> {
  const body = event as unknown as Record<string, Json>;
  const { environment } = body;
  if (typeof environment !== "object" || environment === null) return body;
  return { ...body, environment: Object.fromEntries(Object.keys(environment).map((name) => [name, redacted])) };
}
