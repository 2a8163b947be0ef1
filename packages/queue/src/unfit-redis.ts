/**
 * Refuses, at start, a Redis that would lose or refuse jobs later. It reads `INFO`, which has all the facts and which BullMQ must be
 * allowed to call anyway. `CONFIG GET` is often forbidden.
 */
import { QueueError } from "./queue-error.ts";

const oldest = [6, 2] as const;

/** `info`: the answer to INFO. A fact that the server does not report counts as fine. */
export function unfitRedis(info: string): QueueError | null {
  const facts = new Map(
    info.split("\n").flatMap((line) => {
      const colon = line.indexOf(":");
      return colon < 0 ? [] : [[line.slice(0, colon), line.slice(colon + 1).trim()] as const];
    }),
  );
  if (facts.get("redis_mode") === "sentinel")
    return new QueueError(
      "QUEUE_NOT_REDIS",
      "The server at REDIS_URL is a Sentinel: it watches Redis servers and keeps no data.",
    );
  if (facts.get("cluster_enabled") === "1" || facts.get("redis_mode") === "cluster")
    return new QueueError("QUEUE_CLUSTER", "The server at REDIS_URL is part of a Redis Cluster.");
  const version = facts.get("redis_version");
  if (version !== undefined && isOlder(version))
    return new QueueError("QUEUE_VERSION", `Redis has version ${version}; ${oldest.join(".")} is needed.`);
  if (facts.get("role") === "slave")
    return new QueueError("QUEUE_READ_ONLY", "The Redis server is a replica: it takes no writes.");
  const policy = facts.get("maxmemory_policy");
  if (policy !== undefined && policy !== "noeviction") {
    return new QueueError(
      "QUEUE_EVICTION_POLICY",
      `Redis has maxmemory-policy ${policy}: under pressure it would drop jobs.`,
    );
  }
  return null;
}

function isOlder(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major < oldest[0] || (major === oldest[0] && minor < oldest[1]);
}
