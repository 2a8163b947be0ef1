/**
 * Returns the events of a run, also as a stream. Events of a run are numbered without gaps and kept for ever. A client that sends the last
 * number it has seen misses no event and gets none twice. So the server keeps no state of a stream, and any server can continue it.
 */
import { presentAsk, presentEvents } from "@markmill/stack";
import type { RunDetail } from "@markmill/store";
import type { Caller, Frame, Some } from "../handler.ts";
import type { ApiParts } from "../parts.ts";
import { notFound } from "../refusal.ts";

/** The interval at which the stream reads new questions. Questions of called runs are not in this run's own history. */
const askMs = 2_000;
/** The number of events per read. */
const most = 50;

export function eventHandlers({ settings }: ApiParts): Some<"listEvents" | "streamEvents"> {
  return {
    async listEvents({ params: { id }, query: { after, limit, waitMs }, caller: { store }, signal }) {
      const page = await store.runs.events(id, { after, limit, waitMs, signal });
      if (page === null) throw notFound("such run");
      const { entries, last, rev, status, ended } = page;
      const next = last < rev ? String(last) : null;
      return { body: { items: presentEvents(id, entries), next, last, rev, status, ended } };
    },

    async streamEvents({ params: { id }, query, headers, caller, signal }) {
      const seen = headers["last-event-id"];
      const after = seen?.after ?? query.after ?? 0;
      const first = await caller.store.runs.events(id, { after, limit: 1 });
      const run = await caller.store.runs.get(id);
      if (first === null || run === null) throw notFound("such run");
      // A browser reconnects after every end of a stream. 204 tells it to stop.
      if (seen?.end === true && first.ended && first.entries.length === 0) return { frames: null };
      return { frames: frames(caller, run, after, settings.aliveMs, signal) };
    },
  };
}

async function* frames(
  { store, stillMay }: Caller,
  { id: runId, rootId }: Pick<RunDetail, "id" | "rootId">,
  after: number,
  aliveMs: number,
  signal: AbortSignal,
): AsyncGenerator<Frame> {
  let last = after;
  /** Questions that were already sent. */
  const seen = new Set<number>();
  let looked = performance.now();
  while (!signal.aborted) {
    const waitMs = Math.max(0, Math.ceil(Math.min(askMs, aliveMs - (performance.now() - looked))));
    const page = await store.runs.events(runId, { after: last, limit: most, waitMs, signal });
    // The run was deleted meanwhile.
    if (page === null) return;
    const quiet = performance.now() - looked >= aliveMs;
    if (quiet) {
      if (!(await stillMay())) return;
      looked = performance.now();
    }
    for (const event of presentEvents(runId, page.entries)) yield { id: event.seq, data: event };
    last = page.last;
    if (page.ended) {
      yield { event: "end", id: `${last}-end`, data: { runId, status: page.status, rev: page.rev } };
      return;
    }
    for (const ask of await (runId === rootId ? store.asks.list(rootId) : store.asks.below(runId))) {
      if (seen.has(ask.activityId)) continue;
      seen.add(ask.activityId);
      yield { event: "ask", data: presentAsk(ask) };
    }
    if (quiet && page.entries.length === 0) yield { data: null };
  }
}
