import { describe, inject } from "vitest";
import { redisAvailable } from "../support/redis.ts";
import { killWorkers } from "./kill-worker.ts";

const available = await redisAvailable("kill -9 on the Redis backend");

// The queue has no part between the claim and the commit, so the Postgres file tests those points.
describe.skipIf(!available)("kill -9 on the redis backend, with the shipped times", () =>
  killWorkers("redis", { everyPoint: inject("thorough") }),
);
