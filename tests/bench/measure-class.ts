/**
 * How long a class takes, beside the ideal schedule: works of the same prompts in a row through the real store, the shipped supervisor
 * (which admits) and shipped workers, with a model of known latency.
 *
 * The ideal: so many slots, each of which asks the model again the moment it has its answer, and nothing else takes any time. Works x
 * prompts calls on `slots` slots are ceil(works * prompts / slots) rounds of one model's time, which is what the model's process measured.
 * That every work's prompts come one after another costs the ideal nothing, because there are more works than slots.
 */
import { classOf } from "../support/class.ts";
import { openStore, type Store } from "../support/store.ts";
import { cpuBetween, readCpu } from "./cpu-meter.ts";
import { compilePrompts } from "./markmill/workflow.ts";
import { median } from "./measure-load.ts";
import { startModel } from "./model-process.ts";
import { shipProcesses } from "./shipped-processes.ts";
import type { Services } from "./start-services.ts";
import type { SystemName } from "./systems.ts";
import { formatNumber, type Goal, renderGoals, renderTable, withRange } from "./table.ts";

interface ClassLoad {
  readonly queue: "redis" | "postgres";
  readonly works: number;
  readonly prompts: number;
  readonly slots: number;
  readonly workers: number;
  /** Runs in flight; more than slots, so that a run between two prompts leaves no slot empty. */
  readonly concurrency: number;
  readonly modelMs: number;
}

const usualClass: Omit<ClassLoad, "queue"> = {
  works: 300,
  prompts: 12,
  slots: 64,
  // One is enough for the calls, and what prompts ask of the store together is twice as much together as with two.
  workers: 1,
  concurrency: 192,
  modelMs: 200,
};

const mostRatio = 1.05;

interface ClassMakespan {
  readonly load: ClassLoad;
  readonly makespanMs: number;
  readonly idealMs: number;
  readonly ratio: number;
  readonly text: string;
}

/** On the queues that are chosen, so many rounds in turn; the median ratio of each is judged. */
export async function measureClasses(
  services: Services,
  only: readonly SystemName[],
  works: number | null,
  rounds: number,
  progress: (line: string) => void,
): Promise<{ readonly measured: readonly ClassMakespan[]; readonly goals: readonly Goal[]; readonly text: string }> {
  const queues = (["redis", "postgres"] as const).filter((queue) =>
    only.includes(queue === "redis" ? "markmill" : "markmill-postgres"),
  );
  const measured: ClassMakespan[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const queue of queues) {
      measured.push(
        await measureClass(services, { ...usualClass, ...(works === null ? {} : { works }), queue }, progress),
      );
    }
  }
  const goals = queues.map((queue): Goal => {
    const ratios = measured.filter(({ load }) => load.queue === queue).map(({ ratio }) => ratio);
    const text = `${queue} queue: makespan within 5 % of the ideal schedule`;
    return { text, figure: withRange(ratios, 3), met: median(ratios) <= mostRatio };
  });
  return { measured, goals, text: `${measured.map(({ text }) => text).join("\n\n")}\n\n${renderGoals(goals)}` };
}

async function measureClass(
  services: Services,
  load: ClassLoad,
  progress: (line: string) => void,
): Promise<ClassMakespan> {
  const { works, prompts, slots, workers, concurrency, modelMs } = load;
  const database = await services.freshDatabase();
  const model = await startModel(modelMs, "The loop is right, and the names say what they hold.");
  const processes = shipProcesses({
    env: {
      DATABASE_URL: database.url,
      REDIS_URL: services.redisUrl,
      QUEUE_BACKEND: load.queue,
      SANDBOX: "none",
      OPENAI_BASE_URL: model.url,
      OPENAI_API_KEY: "bench",
      DEFAULT_MODEL: "scripted",
      // Nobody starts runs over HTTP here: there is none whom the worker should let pass.
      WORKER_NICE: "0",
      WORKER_CONCURRENCY_PROMPT: String(Math.ceil(slots / workers)),
    },
  });
  let store: Store | null = null;
  try {
    store = await openStore({ url: database.url, worker: "bench" });
    for (let number = 1; number <= workers; number++) await processes.start("worker", `worker ${number}`);
    await processes.start("supervisor");
    const definition = compilePrompts(prompts);
    const tenant = store.as("default");
    const graded = async (key: string, count: number) => {
      const batch = await classOf(tenant, definition, count, { key, concurrency });
      const began = performance.now();
      const { id } = await tenant.batches.save(batch);
      return { id, savedMs: performance.now() - began };
    };
    progress(`${load.queue}: warming up`);
    const warm = await graded("warm-up", Math.max(slots, Math.ceil(works / 3)));
    await ended(store, warm.id);
    await model.times();
    const watched = { processes: { ...processes.pids, model: model.pid, bench: process.pid }, servers: services.pids };
    progress(`${load.queue}: ${works} works of ${prompts} prompts on ${slots} slots`);
    const waits = sampleWaits(store);
    const before = readCpu(watched);
    const { id, savedMs } = await graded("class", works);
    const savedAt = await clock(store);
    await ended(store, id);
    const spent = cpuBetween(before, readCpu(watched));
    const times = await model.times();
    const found = await shape(store, id, savedAt);
    if (found.succeeded !== works) throw new Error(`${found.succeeded} of ${works} runs succeeded`);
    if (times.requests !== works * prompts) throw new Error(`${times.requests} requests, not ${works * prompts}`);
    const idealMs = Math.ceil((works * prompts) / slots) * times.meanMs;
    const ratio = found.makespanMs / idealMs;
    const share = (ms: number) => `${formatNumber((100 * ms) / (slots * found.makespanMs), 1)} %`;
    const calls = works * prompts;
    const lines = [
      `${load.queue} queue: ${works} works of ${prompts} prompts, ${slots} slots in ${workers} workers, ${concurrency} runs in flight, model ${formatNumber(times.meanMs, 1)} ms`,
      `makespan ${seconds(found.makespanMs)}, ideal ${seconds(idealMs)} (at ${modelMs} ms: ${seconds(Math.ceil(calls / slots) * modelMs)}), ratio ${formatNumber(ratio, 3)}; ${works} works saved in ${formatNumber(savedMs, 0)} ms`,
      `first run made after ${formatNumber(found.firstMs, 0)} ms; runs ended between ${seconds(found.firstEndMs)} and ${seconds(found.makespanMs)}; most requests at once ${times.mostAtOnce}, new connections ${times.connections}`,
      `the slots were at the model for ${share(calls * times.meanMs)} of the time; each half second from the first request on: ${times.atOnce.map((count) => formatNumber(count, 0)).join(" ")}`,
      renderTable([
        ["of an activity, ms", "median", "mean", "p99"],
        ["ready until taken", ...found.waited.map((ms) => formatNumber(ms, 1))],
        ["taken until committed", ...found.held.map((ms) => formatNumber(ms, 1))],
      ]),
      spent === null
        ? "CPU: not known"
        : `CPU ms per activity: ${Object.entries(spent.parts)
            .map(([part, micros]) => `${part} ${formatNumber(micros / 1_000 / calls, 2)}`)
            .join(
              ", ",
            )}; together ${formatNumber(spent.total / 1_000 / calls, 2)}; others used ${formatNumber(spent.others * 100, 0)} % of the machine`,
      `sampled waits in Postgres: ${waits()}`,
    ];
    return { load, makespanMs: found.makespanMs, idealMs, ratio, text: lines.join("\n") };
  } finally {
    await processes.stop();
    await store?.close();
    await model.stop();
    await database.drop();
  }
}

async function clock(store: Store): Promise<Date> {
  const { rows } = await store.database.calm.query<{ now: Date }>("select clock_timestamp() as now");
  return rows[0]?.now ?? new Date();
}

async function ended(store: Store, batch: string): Promise<void> {
  for (;;) {
    // Looking must not cost what is looked at: the makespan is read from the runs' own times afterwards.
    const { rows } = await store.database.calm.query<{ left: boolean }>({
      name: "bench-class-left",
      text: `select exists (select 1 from batch_runs t where t.batch_id = $1 and t.end_seen_at is null) as left`,
      values: [batch],
    });
    if (rows[0]?.left === false) return;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

interface Shape {
  readonly succeeded: number;
  readonly makespanMs: number;
  readonly firstMs: number;
  readonly firstEndMs: number;
  /** Median, mean, p99. */
  readonly waited: readonly number[];
  readonly held: readonly number[];
}

async function shape(store: Store, batch: string, savedAt: Date): Promise<Shape> {
  const ms = (interval: string) => `(1000 * extract(epoch from ${interval}))::float8`;
  const three = (of: string) =>
    `array[percentile_cont(0.5) within group (order by ${of}), avg(${of}), percentile_cont(0.99) within group (order by ${of})]`;
  const { rows } = await store.database.calm.query<Shape>(
    `with ours as (
       select r.* from batch_runs t join runs r on r.id = t.run_id where t.batch_id = $1
     ), timed as (
       select ${ms("a.claimed_at - coalesce(a.ready_at, a.created_at)")} as waited, ${ms("a.ended_at - a.claimed_at")} as held
       from activities a where a.run_id in (select id from ours) and a.kind = 'prompt'
     )
     select (select count(*)::integer from ours where status = 'success') as succeeded,
       (select ${ms("max(ended_at) - $2::timestamptz")} from ours) as "makespanMs",
       (select ${ms("min(created_at) - $2::timestamptz")} from ours) as "firstMs",
       (select ${ms("min(ended_at) - $2::timestamptz")} from ours) as "firstEndMs",
       (select ${three("waited")} from timed) as waited, (select ${three("held")} from timed) as held`,
    [batch, savedAt],
  );
  const [found] = rows;
  if (found === undefined) throw new Error("the class is gone");
  return found;
}

/** What statements wait for, looked at four times a second. */
function sampleWaits(store: Store): () => string {
  const seen = new Map<string, number>();
  let looks = 0;
  const timer = setInterval(async () => {
    try {
      const { rows } = await store.database.calm.query<{ event: string }>(
        `select coalesce(wait_event_type || ' ' || wait_event, 'at work') as event from pg_stat_activity
         where datname = current_database() and state = 'active' and pid <> pg_backend_pid()`,
      );
      looks += 1;
      for (const { event } of rows) seen.set(event, (seen.get(event) ?? 0) + 1);
    } catch {
      // The store is closing.
    }
  }, 250);
  return () => {
    clearInterval(timer);
    const events = [...seen].sort(([, a], [, b]) => b - a).slice(0, 6);
    return (
      events.map(([event, count]) => `${event} ${formatNumber(count / Math.max(1, looks), 2)}`).join(", ") || "none"
    );
  };
}

function seconds(ms: number): string {
  return `${formatNumber(ms / 1_000, 2)} s`;
}
