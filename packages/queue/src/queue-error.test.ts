import { expect, it } from "vitest";
import { QueueError, translate } from "./queue-error.ts";

it.each([
  ["connect ECONNREFUSED 127.0.0.1:6379", "QUEUE_UNREACHABLE"],
  ["connect ECONNREFUSED 127.0.0.1:58379", "QUEUE_UNREACHABLE"],
  [
    "ECONNREFUSED connect ECONNREFUSED ::1:53300; ECONNREFUSED connect ECONNREFUSED 127.0.0.1:28000",
    "QUEUE_UNREACHABLE",
  ],
  ["Stream isn't writeable and enableOfflineQueue options is false", "QUEUE_UNREACHABLE"],
  ["Command timed out", "QUEUE_UNREACHABLE"],
  ["Command aborted due to connection close", "QUEUE_UNREACHABLE"],
  ["NOAUTH Authentication required.", "QUEUE_REFUSED"],
  ["OOM command not allowed when used memory > 'maxmemory'.", "QUEUE_FULL"],
  ["could not extend file: No space left on device", "QUEUE_FULL"],
  ["40P01 deadlock detected", "QUEUE_CONTENDED"],
  ["WRONGPASS invalid username-password pair or user is disabled.", "QUEUE_REFUSED"],
  ["ERR AUTH <password> called without any password configured for the default user.", "QUEUE_REFUSED"],
  ["ERR invalid password", "QUEUE_REFUSED"],
  ["NOPERM this user has no permissions to run the 'info' command", "QUEUE_REFUSED"],
  ["self-signed certificate in certificate chain", "QUEUE_UNTRUSTED"],
  ["unable to verify the first certificate", "QUEUE_UNTRUSTED"],
  ["unable to get local issuer certificate", "QUEUE_UNTRUSTED"],
  ["certificate has expired", "QUEUE_UNTRUSTED"],
  ["Hostname/IP does not match certificate's altnames: Host: localhost.", "QUEUE_UNTRUSTED"],
  ["INVALID_CA invalid CA certificate", "QUEUE_UNTRUSTED"],
  ["could not renew lock for job 7-1-0", "QUEUE_LOCK_LOST"],
  ["Missing lock for job 7-1-0. moveToFinished", "QUEUE_LOCK_LOST"],
  ["Lock mismatch for job 7-1-0. Cmd moveToFinished from active", "QUEUE_LOCK_LOST"],
  ["Job 7-1-0 is not in the active state. moveToFinished", "QUEUE_LOCK_LOST"],
  ["READONLY You can't write against a read only replica.", "QUEUE_READ_ONLY"],
  ["MOVED 3999 127.0.0.1:6381", "QUEUE_CLUSTER"],
  ["CROSSSLOT Keys in request don't hash to the same slot", "QUEUE_CLUSTER"],
  ["MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.", "QUEUE_FULL"],
  ["25006 cannot execute INSERT in a read-only transaction", "QUEUE_READ_ONLY"],
  ["NOREPLICAS Not enough good replicas to write.", "QUEUE_READ_ONLY"],
  ["ERR max number of clients reached", "QUEUE_BUSY"],
  ["53300 sorry, too many clients already", "QUEUE_BUSY"],
  ["42501 permission denied for schema bullmq", "QUEUE_REFUSED"],
  ['3D000 database "nothing" does not exist', "QUEUE_REFUSED"],
  ["58030 could not write to file", "QUEUE_FULL"],
  ["57P03 the database system is shutting down", "QUEUE_UNREACHABLE"],
  ["08006 connection failure", "QUEUE_UNREACHABLE"],
  ["ENOTFOUND getaddrinfo ENOTFOUND no.such.host", "QUEUE_UNREACHABLE"],
  ["EPROTO write EPROTO ssl3_get_record:wrong version number", "QUEUE_UNTRUSTED"],
  ["timeout expired", "QUEUE_UNREACHABLE"],
  ["LOADING Redis is loading the dataset in memory", "QUEUE_UNREACHABLE"],
  ["ERR ACL failure in script: User default has no permissions to run the 'set' command", "QUEUE_REFUSED"],
  ["42501 permission denied for database markmill", "QUEUE_REFUSED"],
  ["ERR unknown command 'eval', with args beginning with: '--[[ Move next job'", "QUEUE_NOT_REDIS"],
  ['Unknown RESP type 60 "<". Please report this.', "QUEUE_NOT_REDIS"],
  [
    "BullMQ: the PostgreSQL schema requires BullMQ major version 9 or newer, but this client is major version 6. Upgrade BullMQ to use this schema.",
    "QUEUE_SCHEMA_NEWER",
  ],
  ["DENIED Redis is running in protected mode because protected mode is enabled", "QUEUE_REFUSED"],
  ["ERR DB index is out of range", "QUEUE_REFUSED"],
  ["UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)", "QUEUE_READ_ONLY"],
  ["XX000 could not find tuple for statistics object", "QUEUE_SERVER_FAULT"],
  ["58P01 could not open file", "QUEUE_SERVER_FAULT"],
  ["something else", "QUEUE_BUG"],
])('the queue error for "%s" is %s', (message, code) => {
  expect(translate(new Error(message), "Enqueuing")).toMatchObject({ code, message: `Enqueuing: ${message}` });
});

it("the error of a full server tells where to free space, for Redis and for Postgres", () => {
  const { fix } = new QueueError("QUEUE_FULL", "no");
  expect([fix.includes("Redis"), fix.includes("Postgres")]).toEqual([true, true]);
});

it("a connection that failed on several addresses reports every cause", () => {
  const both = new AggregateError([new Error("connect ECONNREFUSED ::1"), new Error("connect ECONNREFUSED 127.0.0.1")]);
  expect(translate(both, "Redis")).toMatchObject({
    code: "QUEUE_UNREACHABLE",
    message: expect.stringContaining("::1"),
  });
});

it("an aborted Redis transaction is reported by the errors of its commands", () => {
  const earlier = [new Error("NOPERM this user has no permissions to run the 'evalsha' command")];
  const error = Object.assign(new Error("EXECABORT Transaction discarded because of previous errors."), {
    previousErrors: [...earlier, ...earlier],
  });
  expect(translate(error, "Enqueuing")).toMatchObject({
    code: "QUEUE_REFUSED",
    message: `Enqueuing: ${error.message}; ${earlier[0]?.message}`,
  });
});

it.each([
  ["EACCES", "connect", "connect EACCES /run/redis.sock"],
  ["EMFILE", "connect", "connect EMFILE 127.0.0.1:6379"],
  ["EPERM", "connect", "connect EPERM 10.0.0.1:6379"],
  ["EAI_FAIL", "getaddrinfo", "getaddrinfo EAI_FAIL redis"],
])("a connection that the system refuses with %s is not reported as a defect", (code, syscall, message) => {
  const error = Object.assign(new Error(message), { code, syscall });
  expect(translate(error, "Redis").code).toBe("QUEUE_UNREACHABLE");
  expect(translate(new AggregateError([error, error]), "Redis").code).toBe("QUEUE_UNREACHABLE");
});

it("translating a QueueError returns it unchanged", () => {
  const error = new QueueError("QUEUE_EVICTION_POLICY", "no");
  expect(translate(error, "x")).toBe(error);
});
