import { randomBytes } from "node:crypto";
import { inject } from "vitest";
import { askService, reportSkip } from "./ask-services.ts";
import { type RedisServer, startRedis } from "./redis-server.ts";

export type { RedisServer } from "./redis-server.ts";

/** For `describe.skipIf(!(await redisAvailable("what is not tested without it")))`. A no is reported loudly. */
export async function redisAvailable(what: string): Promise<boolean> {
  try {
    await askService("redis");
    return true;
  } catch (error) {
    await reportSkip({ what, reason: error instanceof Error ? error.message : String(error) });
    return false;
  }
}

/** The run's Redis (TEST_REDIS_URL, else one of ours) and a key prefix of the caller's own. Never flush it. */
export async function sharedRedis(): Promise<{ readonly url: string; readonly prefix: string }> {
  const { url } = await askService("redis");
  return { url, prefix: `t${inject("testServices").run}-${randomBytes(4).toString("hex")}` };
}

/** A server for the caller alone, to flush, kill and restart. It ends with `stop`, or with the test file. `more`: words of its command line. */
export async function freshRedis(more: readonly string[] = []): Promise<RedisServer> {
  return startRedis(await askService("redis-source"), more);
}
