/** Counters of this process, and what the database and the queue say, for Prometheus. No label has the name of anybody. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { FastifyInstance } from "fastify";
import type { Streams } from "./count-streams.ts";
import type { ApiParts } from "./parts.ts";

export interface Meter {
  write(parts: ApiParts, streams: Streams): Promise<string>;
}

const boundsS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const silentMs = 10_000;

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
    // A stream lasts as long as its run.
    if (route === "streamEvents" || route === "listEvents") return;
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
      const { store, bell } = parts;
      const [runs, workers, due, queues] = await Promise.all([
        store.openRuns(),
        store.workers(),
        store.oldestDue(["control", "prompt", "execute"]),
        bell.counts(),
      ]);
      const now = store.clock.now();
      const memory = process.memoryUsage();
      const lines: string[] = [];
      const metric = (name: string, kind: string, help: string, values: readonly (readonly [string, number])[]) => {
        lines.push(`# HELP markmill_${name} ${help}`, `# TYPE markmill_${name} ${kind}`);
        for (const [labels, value] of values)
          lines.push(`markmill_${name}${labels === "" ? "" : `{${labels}}`} ${value}`);
      };
      metric("http_requests_total", "counter", "Answered requests", [...answered]);
      lines.push(
        "# HELP markmill_http_request_seconds Time to answer",
        "# TYPE markmill_http_request_seconds histogram",
      );
      for (const [route, { count, sum, below }] of timed) {
        for (const [index, bound] of boundsS.entries()) {
          lines.push(`markmill_http_request_seconds_bucket{route="${route}",le="${bound}"} ${below[index] ?? 0}`);
        }
        lines.push(`markmill_http_request_seconds_bucket{route="${route}",le="+Inf"} ${count}`);
        lines.push(`markmill_http_request_seconds_sum{route="${route}"} ${sum}`);
        lines.push(`markmill_http_request_seconds_count{route="${route}"} ${count}`);
      }
      metric("http_streams", "gauge", "Open event streams", [["", streams.open]]);
      metric(
        "runs_open",
        "gauge",
        "Runs that have not ended, by status",
        runs.map(({ status, runs: open }) => [`status="${status}"`, open]),
      );
      metric("oldest_due_seconds", "gauge", "For how long the oldest due activity has waited", [["", due / 1000]]);
      const alive = workers.filter(({ heartbeatAt }) => now - heartbeatAt.getTime() < silentMs).length;
      metric("workers_alive", "gauge", "Workers heard of in the last 10 s", [["", alive]]);
      metric("queue_reachable", "gauge", "1: the queue answers", [["", queues === null ? 0 : 1]]);
      const jobs = Object.entries(queues ?? {}).flatMap(([queue, counts]) =>
        Object.entries(counts).map(([state, count]) => [`queue="${queue}",state="${state}"`, count] as const),
      );
      metric("queue_jobs", "gauge", "Jobs by queue and state", jobs);
      metric("process_resident_bytes", "gauge", "Memory of this process", [["", memory.rss]]);
      metric("process_heap_bytes", "gauge", "Heap in use", [["", memory.heapUsed]]);
      metric("event_loop_delay_seconds", "gauge", "99th percentile since the last look", [
        ["", loop.percentile(99) / 1e9 || 0],
      ]);
      loop.reset();
      return `${lines.join("\n")}\n`;
    },
  };
}
