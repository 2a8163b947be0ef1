import { describe, expect, it } from "vitest";
import { unfitRedis } from "./unfit-redis.ts";

const info = (facts: Readonly<Record<string, string>>) =>
  `# Server\r\n${Object.entries({
    redis_version: "7.0.15",
    role: "master",
    maxmemory_policy: "noeviction",
    cluster_enabled: "0",
    ...facts,
  })
    .map(([name, value]) => `${name}:${value}\r\n`)
    .join("")}\r\n`;

describe("refusing a Redis that cannot keep the queue", () => {
  it("a single primary that evicts nothing is accepted, and so is a server that reports no facts", () => {
    expect([info({}), info({ redis_version: "6.2.0" }), info({ redis_version: "10.0.1" }), ""].map(unfitRedis)).toEqual(
      [null, null, null, null],
    );
  });

  it.each<[Record<string, string>, string, string]>([
    [{ cluster_enabled: "1" }, "QUEUE_CLUSTER", "Cluster"],
    [{ redis_mode: "cluster" }, "QUEUE_CLUSTER", "Cluster"],
    [{ redis_mode: "sentinel" }, "QUEUE_NOT_REDIS", "Sentinel"],
    [{ maxmemory_policy: "volatile-ttl" }, "QUEUE_EVICTION_POLICY", "volatile-ttl"],
    [{ redis_version: "6.0.16" }, "QUEUE_VERSION", "6.0.16"],
    [{ redis_version: "5.0.7" }, "QUEUE_VERSION", "5.0.7"],
    [{ role: "slave" }, "QUEUE_READ_ONLY", "replica"],
  ])("a Redis with %o is refused as %s", (facts, code, word) => {
    expect(unfitRedis(info(facts))).toMatchObject({ code, message: expect.stringContaining(word) });
  });
});
