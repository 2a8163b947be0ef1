import { describe, inject } from "vitest";
import { redisAvailable } from "../support/redis.ts";
import { killWorkers } from "./kill-worker.ts";

const available = await redisAvailable("kill -9 on the Redis backend");

// Between the claim and the commit no queue is asked: those points are tried on Postgres.
describe.skipIf(!available)("kill -9 on the redis backend, with the shipped times", () =>
  killWorkers("redis", { everyPoint: inject("thorough") }),
);
