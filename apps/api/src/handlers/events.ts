/**
 * What happens to a run, as it happens. Events of a run are numbered without gaps and kept for ever, so whoever names the last number they
 * have seen misses nothing and gets nothing twice: there is no state of a stream here, and it makes no difference which server is asked.
 */
import type { TenantStore } from "@markmill/store";
import type { Frame, Some } from "../handler.ts";
import type { ApiParts } from "../parts.ts";
import { presentEvents } from "../present.ts";
import type { Principal } from "../principal.ts";
import { notFound } from "../refusal.ts";

/** A sign of life for proxies, and the moment to look whether the bearer may still see it. */
const aliveMs = 15_000;
/** Events of one look. */
const most = 50;

export function eventHandlers({ access }: ApiParts): Some<"listEvents" | "streamEvents"> {
  return {
    async listEvents({ params: { id }, query: { after, limit, waitMs }, caller: { store }, signal }) {
      const page = await store.runs.events(id, { after, limit, waitMs, signal });
      if (page === null) throw notFound("such run");
      const { entries, last, status, ended } = page;
      return { body: { items: presentEvents(id, entries), last, status, ended } };
    },

    async streamEvents({ params: { id }, query, headers, caller: { store, principal }, signal }) {
      const after = headers["last-event-id"] ?? query.after ?? 0;
      const first = await store.runs.events(id, { after, limit: 1 });
      if (first === null) throw notFound("such run");
      if (first.ended && first.entries.length === 0) return { frames: null };
      return { frames: frames(store, id, after, signal, () => stillMay(principal)) };
    },
  };

  async function stillMay({ kind, id, tenant }: Principal): Promise<boolean> {
    // A session's own end is short enough; a key may be revoked at any time.
    if (kind === "session") return true;
    const key = (await access.of(tenant).listKeys()).find((one) => one.id === id);
    return (
      key !== undefined && key.revokedAt === null && (key.expiresAt === null || key.expiresAt.getTime() > Date.now())
    );
  }
}

async function* frames(
  store: TenantStore,
  runId: string,
  after: number,
  signal: AbortSignal,
  stillMay: () => Promise<boolean>,
): AsyncGenerator<Frame> {
  let last = after;
  let looked = performance.now();
  while (!signal.aborted) {
    const page = await store.runs.events(runId, { after: last, limit: most, waitMs: aliveMs, signal });
    // Deleted meanwhile.
    if (page === null) return;
    for (const event of presentEvents(runId, page.entries)) yield { id: event.seq, data: event };
    last = page.last;
    if (page.ended) {
      yield { event: "end", id: last, data: { runId, status: page.status, rev: page.rev } };
      return;
    }
    if (page.entries.length === 0) yield { data: null };
    if (performance.now() - looked > aliveMs) {
      looked = performance.now();
      if (!(await stillMay())) return;
    }
  }
}
