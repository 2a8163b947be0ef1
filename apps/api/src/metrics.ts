/**
 * Collects metrics for Prometheus and OTLP: counters of this process, and values from the database and the queue. No label contains a
 * person's name.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Figure } from "@markmill/telemetry";
import type { FastifyInstance } from "fastify";
import type { Streams } from "./count-streams.ts";
import type { ApiParts } from "./parts.ts";

export interface Meter {
  /** Writes the metrics in the Prometheus text format. */
  write(parts: ApiParts, streams: Streams): Promise<string>;
  figures(parts: ApiParts, streams: Streams): Promise<readonly Figure[]>;
}

export const figureNames = [
  { name: "http_streams", help: "Open event streams" },
  { name: "runs_open", help: "Runs that have not ended, by status" },
  { name: "oldest_due_seconds", help: "Waiting time of the oldest due activity" },
  { name: "workers_alive", help: "Workers with a heartbeat in the last 10 s" },
  { name: "queue_reachable", help: "1: the queue answers" },
  { name: "queue_jobs", help: "Jobs by queue and state" },
  { name: "process_resident_bytes", help: "Memory of this process" },
  { name: "process_heap_bytes", help: "Heap in use" },
  { name: "event_loop_delay_seconds", help: "99th percentile since the last scrape" },
] as const;

const boundsS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

interface Timed {
  count: number;
  sum: number;
  readonly below: number[];
}

export function countRequests(app: FastifyInstance): Meter {
  const answered = new Map<string, number>();
  const timed = new Map<string, Timed>();
  const loop = monitorEventLoopDelay({ resolution: 20 });
  loop.enable();
  app.addHook("onClose", async () => void loop.disable());
  app.addHook("onResponse", async (request, reply) => {
    const route = request.routeOptions.config.contract ?? "other";
    const key = `route="${route}",status="${reply.statusCode}"`;
    answered.set(key, (answered.get(key) ?? 0) + 1);
    // The durations of streams are not recorded, because a stream lasts as long as its run or its batch.
    if (route === "streamEvents" || route === "streamBatch" || route === "listEvents") return;
    const one = timed.get(route) ?? { count: 0, sum: 0, below: boundsS.map(() => 0) };
    timed.set(route, one);
    const seconds = reply.elapsedTime / 1000;
    one.count += 1;
    one.sum += seconds;
    for (const [index, bound] of boundsS.entries())
      if (seconds <= bound) one.below[index] = (one.below[index] ?? 0) + 1;
  });

  return {
    async write(parts, streams) {
      const lines: string[] = [];
      const head = (name: string, kind: string, help: string) =>
        lines.push(`# HELP markmill_${name} ${help}`, `# TYPE markmill_${name} ${kind}`);
      head("http_requests_total", "counter", "Answered requests");
      for (const [labels, value] of answered) lines.push(`markmill_http_requests_total{${labels}} ${value}`);
      head("http_request_seconds", "histogram", "Time to answer");
      for (const [route, { count, sum, below }] of timed) {
        for (const [index, bound] of boundsS.entries()) {
          lines.push(`markmill_http_request_seconds_bucket{route="${route}",le="${bound}"} ${below[index] ?? 0}`);
        }
        lines.push(`markmill_http_request_seconds_bucket{route="${route}",le="+Inf"} ${count}`);
        lines.push(`markmill_http_request_seconds_sum{route="${route}"} ${sum}`);
        lines.push(`markmill_http_request_seconds_count{route="${route}"} ${count}`);
      }
      for (const { name, help, values } of await readFigures(parts, streams, loop)) {
        head(name, "gauge", help);
        for (const { labels, value } of values) {
          const written = Object.entries(labels).map(([label, text]) => `${label}="${text}"`);
          lines.push(`markmill_${name}${written.length === 0 ? "" : `{${written.join(",")}}`} ${value}`);
        }
      }
      return `${lines.join("\n")}\n`;
    },
    figures: (parts, streams) => readFigures(parts, streams, loop),
  };
}

/** The current values, of this process and of all processes. */
async function readFigures(
  { store, enqueuer }: ApiParts,
  streams: Streams,
  loop: ReturnType<typeof monitorEventLoopDelay>,
): Promise<readonly Figure[]> {
  const [runs, workers, due, queues] = await Promise.all([
    store.openRuns(),
    store.workers(),
    store.oldestDue(["control", "prompt", "execute"]),
    enqueuer.counts(),
  ]);
  const memory = process.memoryUsage();
  const alive = workers.filter((worker) => worker.alive).length;
  const delay = loop.percentile(99) / 1e9 || 0;
  loop.reset();
  const one = (value: number) => [{ labels: {}, value }];
  const found: Readonly<Record<(typeof figureNames)[number]["name"], Figure["values"]>> = {
    http_streams: one(streams.open),
    runs_open: runs.map(({ status, runs: open }) => ({ labels: { status }, value: open })),
    oldest_due_seconds: one(due / 1000),
    workers_alive: one(alive),
    queue_reachable: one(queues === null ? 0 : 1),
    queue_jobs: Object.entries(queues ?? {}).flatMap(([queue, counts]) =>
      Object.entries(counts).map(([state, value]) => ({ labels: { queue, state }, value })),
    ),
    process_resident_bytes: one(memory.rss),
    process_heap_bytes: one(memory.heapUsed),
    event_loop_delay_seconds: one(delay),
  };
  return figureNames.map(({ name, help }) => ({ name, help, values: found[name] }));
}
