/**
 * Follows a run over server-sent events.
 *
 * F1  Every event is returned once and in order. After a break the stream is requested from the last returned `seq`, and repeated events
 *     are skipped.
 * F2  It ends with the stream's `end`, with a problem that waiting cannot solve, or when the caller stops.
 */
import type { z } from "zod";
import { anyEvent, type runEvent } from "./event-schemas.ts";
import { ApiProblem } from "./problem-error.ts";
import { reach, unclear } from "./reach.ts";
import { readEventStream } from "./read-event-stream.ts";
import { streamEnd } from "./run-schemas.ts";

export interface FollowOptions {
  readonly signal?: AbortSignal;
  /** Start after this event. */
  readonly after?: number;
  /** Called at each break, with its error. */
  readonly onBreak?: (error: unknown) => void;
  /** After this time without data the connection counts as broken. The server sends data every 15 s. */
  readonly silentMs?: number;
}

/** @public */
export type RunEvent = z.output<typeof runEvent>;
/** @public */
export type StreamEnd = z.output<typeof streamEnd>;
/** Returns the final state of the run; null: the caller stopped. */
export type Follow = AsyncGenerator<RunEvent, StreamEnd | null>;

interface Source {
  readonly fetch: typeof fetch;
  readonly url: string;
  readonly headers: Record<string, string>;
}

const mostWaitMs = 5_000;

export async function* followEvents(source: Source, options: FollowOptions = {}): Follow {
  const { signal, onBreak, silentMs = 45_000 } = options;
  let last = options.after ?? 0;
  let failures = 0;
  const stopped = () => signal?.aborted === true;
  while (!stopped()) {
    const connection = new AbortController();
    const stop = () => connection.abort();
    signal?.addEventListener("abort", stop, { once: true });
    let timer = setTimeout(stop, silentMs);
    const alive = () => {
      clearTimeout(timer);
      timer = setTimeout(stop, silentMs);
    };
    try {
      const response = await reach(source.fetch, source.url, {
        headers: { ...source.headers, accept: "text/event-stream", "last-event-id": String(last) },
        signal: connection.signal,
      });
      // All events were returned before.
      if (response.status === 204 || response.body === null) return null;
      for await (const { event, data } of readEventStream(response.body, alive)) {
        failures = 0;
        if (event === "end") return streamEnd.parse(JSON.parse(data));
        // Events with other names do not belong to the run's history.
        if (event !== "message") continue;
        const happened = anyEvent.parse(JSON.parse(data)) as RunEvent;
        if (happened.seq <= last) continue;
        last = happened.seq;
        yield happened;
      }
    } catch (error) {
      if (stopped()) return null;
      // A retry would return the same unreadable event.
      if (!(error instanceof ApiProblem)) throw new ApiProblem(unclear(200), { cause: error });
      if (!error.passes) throw error;
      onBreak?.(error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
      connection.abort();
    }
    const wait = Math.min(mostWaitMs, 50 * 2 ** failures);
    failures += 1;
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
  return null;
}
