// Turns failures of BullMQ, ioredis and pg into QueueErrors. No other file does this.
import { isSystemError } from "@markmill/base";

export const queueErrorCodes = {
  QUEUE_UNREACHABLE: {
    means: "The queue server does not answer, or the connection was lost.",
    fix: "Check that the server runs and that REDIS_URL (or DATABASE_URL) contains its host and port.",
  },
  QUEUE_REFUSED: {
    means:
      "The queue server refuses the connection or the login, the database does not exist, or the user lacks a permission.",
    fix: "Check the user, the password and the database in REDIS_URL (or DATABASE_URL), and that the user may run scripts that write (Redis) or create a schema (Postgres). A Redis in protected mode needs a password.",
  },
  QUEUE_EVICTION_POLICY: {
    means: "When its memory is full, Redis may delete keys and lose jobs.",
    fix: "Set `maxmemory-policy noeviction` in redis.conf, or `redis-cli config set maxmemory-policy noeviction`.",
  },
  QUEUE_CLUSTER: {
    means: "The Redis server is part of a Redis Cluster, which the queue does not support.",
    fix: "Use a single Redis server, optionally with replicas and Sentinel: set `cluster-enabled no`, or set REDIS_URL to another server.",
  },
  QUEUE_NOT_REDIS: {
    means:
      "The server at REDIS_URL cannot store the queue: it is a Sentinel, another program, or a Redis without scripts.",
    fix: "Set REDIS_URL to the Redis server itself (often port 6379; 26379 is the port of Sentinel).",
  },
  QUEUE_READ_ONLY: {
    means: "The queue server refuses writes: it is a replica or read-only, or its required replicas are missing.",
    fix: "Set REDIS_URL (or DATABASE_URL) to the primary server, not to a replica. If Redis has min-replicas-to-write, start its replicas.",
  },
  QUEUE_UNTRUSTED: {
    means: "The certificate of the queue server is not trusted, or the server does not support TLS.",
    fix: "Set NODE_EXTRA_CA_CERTS to the certificate of the signing authority, and use the host name of the certificate. For a server without TLS, write redis:// instead of rediss://.",
  },
  QUEUE_LOCK_LOST: {
    means: "A worker did not renew the lock of its job in time, so another worker may take the job.",
    fix: "If this is rare, do nothing: no job is lost. If it is frequent, give the worker more processor time or raise LOCK_DURATION_MS.",
  },
  QUEUE_FULL: {
    means: "The queue server has no memory or disk left.",
    fix: "Give the queue server more space: Redis memory (maxmemory) or disk, Postgres disk. No run is lost, and runs continue automatically.",
  },
  QUEUE_BUSY: {
    means: "The queue server has no free connection.",
    fix: "Raise maxclients of Redis (or max_connections of Postgres), or start fewer processes. Each process continues automatically.",
  },
  QUEUE_VERSION: {
    means: "The queue server is too old.",
    fix: "Use Redis 6.2 or newer, or Postgres 14 or newer.",
  },
  QUEUE_SCHEMA_NEWER: {
    means: "A newer version of Markmill has created the queue's tables in this database.",
    fix: "Update Markmill to the version that migrated this database, or use another database.",
  },
  QUEUE_CONTENDED: {
    means: "Two processes blocked each other.",
    fix: "Do nothing. Markmill retries the blocked operation.",
  },
  QUEUE_SERVER_FAULT: {
    means: "The queue server reports an internal error or a problem with its files.",
    fix: "Read the log of the queue server, and check its disk. No run is lost: the supervisor enqueues due activities again.",
  },
  QUEUE_CLOSED: { means: "Markmill closed the connection.", fix: "The program is shutting down." },
  QUEUE_BUG: {
    means: "The queue reported an unknown error.",
    fix: "This is a defect in Markmill. Please report it with this message.",
  },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

export type QueueErrorCode = keyof typeof queueErrorCodes;

/** A replica may be promoted: after a failover the same address accepts writes. */
const transient: ReadonlySet<QueueErrorCode> = new Set([
  "QUEUE_UNREACHABLE",
  "QUEUE_FULL",
  "QUEUE_BUSY",
  "QUEUE_CONTENDED",
  "QUEUE_READ_ONLY",
  "QUEUE_LOCK_LOST",
]);

/** `message` states what happened and why, `fix` what to do. `transient`: the same call may succeed later. */
export class QueueError extends Error {
  override readonly name = "QueueError";
  readonly code: QueueErrorCode;
  /** The meaning of the code, without the details of `message`. */
  readonly means: string;
  readonly fix: string;
  readonly transient: boolean;

  constructor(code: QueueErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.means = queueErrorCodes[code].means;
    this.fix = queueErrorCodes[code].fix;
    this.transient = transient.has(code);
  }
}

/** Texts in which OpenSSL and Node reject a certificate. */
const untrusted =
  /self[- ]signed certificate|unable to (?:verify|get)[^:]{0,40}certificate|certificate has expired|CERT_|ERR_TLS_CERT|ERR_SSL|EPROTO|wrong version number|certificate verify failed|Hostname\/IP does not match|INVALID_(?:CA|PURPOSE)|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH|\bCRL_/;

const symptoms: readonly (readonly [RegExp, QueueErrorCode])[] = [
  [
    /NOAUTH|WRONGPASS|NOPERM|^DENIED |protected mode|ACL failure in script|user executing the script|invalid password|invalid username-password pair|without any password configured|no password is set|DB index is out of range|invalid DB index|\b(28000|28P01|3D000|42501)\b|password authentication failed|^SASL: |: SASL: |SCRAM-/,
    "QUEUE_REFUSED",
  ],
  [
    /\b(CROSSSLOT|CLUSTERDOWN)\b|\b(MOVED|ASK) \d|cluster node|\bTRYAGAIN\b|clients \+ cluster connections/,
    "QUEUE_CLUSTER",
  ],
  [untrusted, "QUEUE_UNTRUSTED"],
  [
    /could not renew lock for job|Missing lock for job|Lock mismatch for job|Missing key for job|is not in the active state|job stalled more than allowable limit/,
    "QUEUE_LOCK_LOST",
  ],
  // A server that becomes a replica releases clients that were blocked on it while it was the primary.
  [/\bREADONLY\b|NOREPLICAS|\bUNBLOCKED\b|\b25006\b/, "QUEUE_READ_ONLY"],
  [/\bOOM command not allowed|MISCONF|No space left|\b(53100|53200|58030)\b/, "QUEUE_FULL"],
  [/unknown command|Unknown RESP type/i, "QUEUE_NOT_REDIS"],
  [/max number of clients reached|\b(53300|53400)\b/, "QUEUE_BUSY"],
  [/^IOERR |\b(?:58|XX)[0-9A-Z]{3}\b|\bF000[01]\b/, "QUEUE_SERVER_FAULT"],
  [/SchemaVersionMismatch|requires BullMQ/, "QUEUE_SCHEMA_NEWER"],
  [/UnsupportedPostgresVersion|Redis version needs to be/, "QUEUE_VERSION"],
  [
    /ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH|EAI_AGAIN|ENOENT|Connection is closed|aborted due to connection close|Connection terminated|Stream isn't writeable|Command timed out|max retries per request|timeout exceeded|timeout expired|Query read timeout|Connection ended|LOADING|MASTERDOWN|BUSY Redis|\b57P0\d\b|\b57014\b|\b25P03\b|\b08\d{3}\b|ENETUNREACH|ENETDOWN|EHOSTDOWN|not queryable|\b25P04\b|ERR_STREAM_|ERR_SOCKET_|socket hang up/,
    "QUEUE_UNREACHABLE",
  ],
  [/\b40(P01|001)\b|\b55P03\b/, "QUEUE_CONTENDED"],
  [/Cannot use a pool after calling end/, "QUEUE_CLOSED"],
];

export function translate(error: unknown, doing: string): QueueError {
  if (error instanceof QueueError) return error;
  const text = describe(error);
  const known = queueErrorCodeOf(text);
  const code = known === "QUEUE_BUG" && isSystemError(error) ? "QUEUE_UNREACHABLE" : known;
  return new QueueError(code, `${doing}: ${text}`, { cause: error });
}

/** Derives the code from a text of BullMQ, a driver or a server. A port can have the digits of an SQLSTATE, so ports are removed first. */
export function queueErrorCodeOf(said: string): QueueErrorCode {
  const text = said.replace(/:\d{1,5}\b/g, "");
  return symptoms.find(([symptom]) => symptom.test(text))?.[1] ?? "QUEUE_BUG";
}

function describe(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(describe).join("; ");
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error && typeof error.code === "string" ? `${error.code} ` : "";
  const text = error.message.startsWith(code.trim()) ? error.message : `${code}${error.message}`;
  // Redis aborts a transaction because of the errors of its commands. Read those errors.
  const earlier = "previousErrors" in error && Array.isArray(error.previousErrors) ? error.previousErrors : [];
  return [text, ...new Set(earlier.map(describe))].join("; ");
}
