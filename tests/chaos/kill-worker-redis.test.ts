import { describe } from "vitest";
import { redisAvailable } from "../support/redis.ts";
import { killWorkers } from "./kill-worker.ts";

const available = await redisAvailable("kill -9 on the Redis backend");

describe.skipIf(!available)("kill -9 on the redis backend, with the shipped times", () => killWorkers("redis"));
