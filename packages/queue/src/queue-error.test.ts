import { expect, it } from "vitest";
import { QueueError, translate } from "./queue-error.ts";

it.each([
  ["connect ECONNREFUSED 127.0.0.1:6379", "QUEUE_UNREACHABLE"],
  ["Stream isn't writeable and enableOfflineQueue options is false", "QUEUE_UNREACHABLE"],
  ["Command timed out", "QUEUE_UNREACHABLE"],
  ["Command aborted due to connection close", "QUEUE_UNREACHABLE"],
  ["NOAUTH Authentication required.", "QUEUE_REFUSED"],
  ["OOM command not allowed when used memory > 'maxmemory'.", "QUEUE_FULL"],
  ["could not extend file: No space left on device", "QUEUE_FULL"],
  ["40P01 deadlock detected", "QUEUE_CONTENDED"],
  ["something else", "QUEUE_BUG"],
])("%s is %s", (message, code) => {
  expect(translate(new Error(message), "Ringing")).toMatchObject({ code, message: `Ringing: ${message}` });
});

it("a full server's error tells where to make room, wherever the queue is kept", () => {
  const { fix } = new QueueError("QUEUE_FULL", "no");
  expect([fix.includes("Redis"), fix.includes("Postgres")]).toEqual([true, true]);
});

it("a connection that was tried on several addresses fails with every cause", () => {
  const both = new AggregateError([new Error("connect ECONNREFUSED ::1"), new Error("connect ECONNREFUSED 127.0.0.1")]);
  expect(translate(both, "Redis")).toMatchObject({
    code: "QUEUE_UNREACHABLE",
    message: expect.stringContaining("::1"),
  });
});

it("an error of ours stays what it is", () => {
  const error = new QueueError("QUEUE_EVICTION_POLICY", "no");
  expect(translate(error, "x")).toBe(error);
});
