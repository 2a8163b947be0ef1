import { describe, inject } from "vitest";
import { redisAvailable } from "../support/redis.ts";
import { killWorkers } from "./kill-worker.ts";

// Between the claim and the commit no queue is asked: those points are tried on one backend.
const everyPoint = inject("thorough") || !(await redisAvailable("kill -9 on the Redis backend"));

// The shipped times are tried on Redis; here shorter ones, to save time.
describe("kill -9 on the postgres backend", () =>
  killWorkers("postgres", { everyPoint, environment: { LOCK_DURATION_MS: "2000", STALLED_INTERVAL_MS: "500" } }));
