/** What the store says, as the contract has it. */
import type { Routes } from "@markmill/contract";
import { type Event, type Json, redacted } from "@markmill/engine";
import type { Difference, HistoryEntry, RunDetail, RunSummary, Wait, Warning } from "@markmill/store";
import type { z } from "zod";

type Body<Name extends keyof Routes> = Routes[Name]["answer"] extends { readonly schema: infer S extends z.ZodType }
  ? z.output<S>
  : never;
type Summary = Body<"listRuns">["items"][number];
export type RunEvent = Body<"listEvents">["items"][number];

export function presentSummary(run: RunSummary): Summary {
  const { id, rootId, parentActivityId, program, name, status, phase, word, rev, depth, labels, spent, reason } = run;
  return {
    ...{ id, rootId, parentActivityId, definition: run.definitionHash, program, name, status, phase, word, rev, depth },
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
    ...presentSummary(run),
    result: run.result,
    report: run.variables.REPORT ?? null,
    doing,
    waits: waits.map(({ runId, node, parked, nextTry }) => ({
      ...{
        runId,
        node,
        held: parked.held,
        tries: parked.tries,
        trouble: parked.trouble,
        failure: { ...parked.failure },
      },
      since: new Date(parked.since).toISOString(),
      nextTry: nextTry?.toISOString() ?? null,
    })),
  };
}

/** An event and what was warned of with it are one. */
export function presentEvents(runId: string, entries: readonly HistoryEntry[]): RunEvent[] {
  const events: (RunEvent & { warnings: Warning[] })[] = [];
  for (const entry of entries) {
    if (entry.kind === "event") {
      const { seq, at, event } = entry;
      const told = { seq, runId, type: event.type, at: at.toISOString(), body: bodyOf(event), warnings: [] };
      // The engine's event and the contract's have the same types; tests hold every answer against its schema.
      events.push(told as unknown as RunEvent & { warnings: Warning[] });
    } else {
      const { code, message, node } = entry.warning;
      events.at(-1)?.warnings.push({ code, message, node });
    }
  }
  return events;
}

/** As far as it is told: what a run was given of the environment is the operator's. */
export function presentDifference({ path, folded, stored }: Difference): Difference {
  const hidden = /(^|\.)environment(\.|$)/.test(path);
  const cut = (text: string) => (hidden ? redacted : text.length > 1_000 ? `${text.slice(0, 1_000)}…` : text);
  return { path, folded: cut(folded), stored: cut(stored) };
}

/** What a run sees of the environment may be a secret of whoever operates it. */
function bodyOf(event: Event): Record<string, Json> {
  const body = event as unknown as Record<string, Json>;
  const { environment } = body;
  if (typeof environment !== "object" || environment === null) return body;
  return { ...body, environment: Object.fromEntries(Object.keys(environment).map((name) => [name, redacted])) };
}
