/**
 * A worker that has done an activity goes on with the next one of the same run. In one script the job at hand is completed and removed,
 * and the job of the next activity is made in its place: active, and locked by the same worker. It is a job like any other (on the board, found when its
 * worker dies, put off, failed); what it is spared is the way through the waiting list, which costs BullMQ two scripts, a wake-up
 * and four events per job. A run also stays with the worker that knows it.
 *
 * H1  All or nothing: a hand-over that is refused has changed nothing, and its bell is rung the ordinary way before the job is let go.
 * H2  Refused when: the job at hand is not this worker's any more, or has jobs that name it as their parent; the next job is
 *     there already (somebody else rang); the queue is paused or has a rate limit; `mostInARow` were handed over in this slot and others wait.
 * H3  Told twice (a connection that broke before the answer) it answers the same: the next job has this slot's lock already.
 * H4  Only in queues that keep no completed jobs, and never for jobs with a parent: the script leaves no trace of the first job.
 *
 * kill -9 before the script: the job at hand is delivered again. After it: the next job's lock runs out, and it is delivered again.
 * The script writes what BullMQ 6.7 writes (storeJob, prepareJobForProcessing, moveToFinished); hand-over.test.ts compares them. It
 * emits no events: nobody here listens, and on a busy queue they are trimmed before anybody could.
 */
import { type BackendFactory, createRedisBackend, type JobJson, type RedisQueueBackend } from "bullmq";
import type { Redis } from "ioredis";
import { type BellData, type Doorbell, jobId } from "./doorbell.ts";

export interface HandOver {
  /** The job's worker is to go on with this activity. */
  offer(from: string, next: Doorbell): void;
  /** Takes back what was offered and not handed over. */
  withdraw(from: string): Doorbell | undefined;
  readonly createBackend: BackendFactory<RedisQueueBackend>;
}

const mostInARow = 50;

const script = `
local active, meta, wait = KEYS[1], KEYS[2], KEYS[3]
local prefix, now, lockMs = ARGV[1], ARGV[2], ARGV[3]
local ruled = redis.call("HMGET", meta, "paused", "max")
local open = not ruled[1] and not ruled[2]
local waiting = nil
local answers = {}
for i = 4, #ARGV, 5 do
  local from, to, token, data, long = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4] == "1"
  local fromKey, toKey = prefix .. from, prefix .. to
  local fromLock, toLock = fromKey .. ":lock", toKey .. ":lock"
  local handed = 0
  if long and waiting == nil then waiting = redis.call("LLEN", wait) > 0 end
  if redis.call("GET", fromLock) ~= token then
    if redis.call("GET", toLock) == token then handed = 1 end
  elseif open and not (long and waiting)
    and redis.call("EXISTS", toKey, fromKey .. ":dependencies", fromKey .. ":processed", fromKey .. ":logs") == 0
    and redis.call("LREM", active, "-1", from) == 1 then
    redis.call("DEL", fromKey, fromLock)
    redis.call("HSET", toKey, "name", "activity", "data", data, "opts", '{"jobId":"' .. to .. '","attempts":0}', "timestamp", now,
      "delay", "0", "priority", "0", "processedOn", now, "ats", "1")
    redis.call("LPUSH", active, to)
    redis.call("SET", toLock, token, "PX", lockMs)
    handed = 1
  end
  answers[#answers + 1] = handed
end
return answers`;

type Finished = Awaited<ReturnType<RedisQueueBackend["moveToCompleted"]>>;

interface Handing {
  readonly from: string;
  readonly to: string;
  readonly token: string;
  readonly data: string;
  readonly long: boolean;
  readonly settle: (handed: boolean) => void;
}

export interface HandOverParts {
  readonly redis: Redis;
  readonly lockDuration: number;
  /** Rings the ordinary way; resolves when the job can be let go. */
  readonly ring: (bells: readonly Doorbell[]) => Promise<void>;
  readonly report: (error: unknown) => void;
}

export function createHandOver({ redis, lockDuration, ring, report }: HandOverParts): HandOver {
  const offers = new Map<string, Doorbell>();
  /** By job: how many were handed over before it in the same slot. */
  const inARow = new Map<string, number>();
  let gathered: Handing[] = [];
  defineHandOver(redis);

  function withdraw(from: string): Doorbell | undefined {
    const bell = offers.get(from);
    offers.delete(from);
    inARow.delete(from);
    return bell;
  }

  async function flush(keys: RedisQueueBackend["keys"]): Promise<void> {
    const batch = gathered;
    gathered = [];
    try {
      const answers = await (redis as HandingRedis).markmillHandOver(
        keys.active ?? "",
        keys.meta ?? "",
        keys.wait ?? "",
        keys[""] ?? "",
        Date.now(),
        lockDuration,
        ...batch.flatMap(({ from, to, token, data, long }) => [from, to, token, data, long ? 1 : 0]),
      );
      batch.forEach(({ settle }, index) => {
        settle(answers[index] === 1);
      });
    } catch (error) {
      report(error);
      for (const { settle } of batch) settle(false);
    }
  }

  /** What one turn of the event loop hands over goes out together: the jobs of a group commit end together. */
  const handed = (backend: RedisQueueBackend, handing: Omit<Handing, "settle">): Promise<boolean> =>
    new Promise((settle) => {
      if (gathered.push({ ...handing, settle }) === 1) process.nextTick(() => void flush(backend.keys));
    });

  function createBackend(...args: Parameters<BackendFactory<RedisQueueBackend>>): RedisQueueBackend {
    const backend = createRedisBackend(...args);
    const complete = backend.moveToCompleted.bind(backend);
    backend.moveToCompleted = async (job, returnValue, removeOnComplete, token, fetchNext): Promise<Finished> => {
      const from = job.id ?? "";
      const row = inARow.get(from) ?? 0;
      const bell = withdraw(from);
      if (bell !== undefined) {
        const to = jobId(bell);
        const data = JSON.stringify(toData(bell));
        if (fetchNext && (await handed(backend, { from, to, token, data, long: row >= mostInARow }))) {
          inARow.set(to, row + 1);
          const now = Date.now();
          return { finishedOn: now, result: [activeJob(to, data, now), to, 0, 0] };
        }
        await ring([bell]);
      }
      return complete(job, returnValue, removeOnComplete, token, fetchNext);
    };
    return backend;
  }

  return { offer: (from, next) => void offers.set(from, next), withdraw, createBackend };
}

const toData = ({ runId, activityId, epoch }: Doorbell): BellData => ({ runId, activityId, epoch });

/** As BullMQ reads it from what the script wrote. */
function activeJob(id: string, data: string, now: number): JobJson {
  return {
    id,
    name: "activity",
    data,
    opts: { jobId: id, attempts: 0 },
    progress: 0,
    attemptsMade: 0,
    attemptsStarted: 1,
    timestamp: now,
    delay: 0,
    priority: 0,
    processedOn: now,
  } as unknown as JobJson;
}

type HandingRedis = Redis & { markmillHandOver(...args: readonly (string | number)[]): Promise<readonly number[]> };

function defineHandOver(redis: Redis): void {
  if (!("markmillHandOver" in redis)) redis.defineCommand("markmillHandOver", { numberOfKeys: 3, lua: script });
}
