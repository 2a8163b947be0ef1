import { expect, it } from "vitest";
import type { Caller } from "../handler.ts";
import { defaultSettings } from "../parts.ts";
import { eventHandlers } from "./events.ts";

const createdAt = new Date(0);
const ask = (activityId: number) => ({
  activityId,
  runId: `${activityId}`,
  rootId: "top",
  node: "ASK",
  question: "",
  text: "",
  createdAt,
  expiresAt: null,
});

/** A tree of runs with 100 open questions, one of them below the run. All other queries throw. */
function tree(runId: string) {
  const queries: string[] = [];
  const gone = new AbortController();
  const store = {
    runs: {
      get: async () => ({ id: runId, rootId: "top" }),
      events: async () => ({ entries: [], last: 0, rev: 0, status: "doing", ended: false }),
    },
    asks: {
      list: async () => {
        queries.push("list");
        return Array.from({ length: 100 }, (_, index) => ask(index));
      },
      below: async (id: string) => {
        queries.push(`below ${id}`);
        return [ask(7)];
      },
    },
  };
  const caller = { store, stillMay: async () => true } as unknown as Caller;
  const { streamEvents } = eventHandlers({ settings: defaultSettings } as Parameters<typeof eventHandlers>[0]);
  const request = { params: { id: runId }, query: {}, headers: {}, caller, signal: gone.signal };
  const answer = streamEvents(request as unknown as Parameters<typeof streamEvents>[0]);
  return { queries, gone, answer };
}

it.each([
  ["a called run", "called", ["below called"], 1],
  ["a root run", "top", ["list"], 100],
])(
  "the stream of %s finds its questions with one query, however many calls its tree has",
  async (_, runId, expected, most) => {
    const { queries, gone, answer } = tree(runId);
    const { frames } = (await answer) as { frames: AsyncIterable<{ event?: string }> };
    const told: unknown[] = [];
    for await (const { event } of frames) {
      told.push(event);
      if (told.length === most) gone.abort();
    }
    expect(told).toEqual(Array.from({ length: most }, () => "ask"));
    expect(queries).toEqual(expected);
  },
);
