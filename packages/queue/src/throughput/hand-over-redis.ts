/** hand-over.ts on Redis: one script for all hand-overs of one turn. */
import type { Redis } from "ioredis";
import type { HandOverAct } from "./hand-over.ts";

/** KEYS: active, meta. ARGV: prefix of the jobs' keys, now, ms of a lock. Then for each hand-over: from, to, token, data. */
const script = `
local active, meta = KEYS[1], KEYS[2]
local prefix, now, lockMs = ARGV[1], ARGV[2], ARGV[3]
local rule = redis.call("HMGET", meta, "paused", "max")
local open = not rule[1] and not rule[2]
local answers = {}
for i = 4, #ARGV, 4 do
  local from, to, token, data = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local fromKey, toKey = prefix .. from, prefix .. to
  local fromLock, toLock = fromKey .. ":lock", toKey .. ":lock"
  local handed = 0
  if redis.call("GET", fromLock) ~= token then
    if redis.call("GET", toLock) == token then handed = 1 end
  elseif open
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

type HandOver = Redis & { markmillHandOver(...args: readonly (string | number)[]): Promise<readonly number[]> };

/** `queueKey`: prefix and name of the queue. */
export function handOverOnRedis(redis: Redis, queueKey: string, lockDuration: number): HandOverAct {
  if (!("markmillHandOver" in redis)) redis.defineCommand("markmillHandOver", { numberOfKeys: 2, lua: script });
  const fixed = [`${queueKey}:active`, `${queueKey}:meta`, `${queueKey}:`];
  return async (handOvers, now) => {
    const each = handOvers.flatMap(({ from, to, token, data }) => [from, to, token, data]);
    const answers = await (redis as HandOver).markmillHandOver(...fixed, now, lockDuration, ...each);
    return answers.map((answer) => answer === 1);
  };
}
