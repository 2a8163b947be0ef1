// Turns failures of pg into StoreErrors. No other file does this.
import { isSystemError } from "@markmill/base";

export const storeErrorCodes = {
  STORE_UNREACHABLE: {
    means: "Postgres does not answer, or the connection was lost.",
    fix: "Check that Postgres runs and that DATABASE_URL contains its host and port.",
  },
  STORE_REFUSED: {
    means: "Postgres refuses the login, the database does not exist, or the user lacks a permission.",
    fix: "Check the user, the password and the database name in DATABASE_URL, and that the user may create a schema there.",
  },
  STORE_UNTRUSTED: {
    means: "The certificate of the Postgres server is not trusted, or the server has no TLS.",
    fix: "Set NODE_EXTRA_CA_CERTS to the certificate of the signing authority, and use the host name of the certificate. For a server without TLS, remove sslmode from DATABASE_URL.",
  },
  STORE_FULL: {
    means: "The disk of the database server is full.",
    fix: "Free disk space on the database server. No committed data is lost.",
  },
  STORE_BUSY: {
    means: "Postgres has no free connection, or two transactions blocked each other.",
    fix: "Raise max_connections, or start fewer workers.",
  },
  STORE_READ_ONLY: {
    means: "The server refuses writes, because it is a standby or is being replaced.",
    fix: "Point DATABASE_URL at the primary server, not at a standby.",
  },
  STORE_READ_ONLY_SETTING: {
    means: "Postgres makes every session read-only: default_transaction_read_only is on.",
    fix: "Turn default_transaction_read_only off for the role or the database of DATABASE_URL (`alter role … set default_transaction_read_only = off`), or use another role.",
  },
  STORE_POOLER: {
    means: "A connection pooler such as PgBouncer in transaction or statement mode is between Markmill and Postgres.",
    fix: "Point DATABASE_URL at Postgres itself, or at a pooler in session mode (`pool_mode = session`). Markmill has its own pools (PG_POOL_SIZE), and its connections must keep their sessions.",
  },
  STORE_VERSION: { means: "The Postgres server is too old.", fix: "Use a Postgres server of version 14 or newer." },
  STORE_ENCODING: {
    means: "The encoding of the database is not UTF-8.",
    fix: "Create a database with the encoding UTF8 (`create database markmill encoding 'UTF8' template template0`), and name it in DATABASE_URL.",
  },
  STORE_SCHEMA_NEWER: {
    means: "A newer version of Markmill has migrated this database.",
    fix: "Update Markmill to the version that migrated this database, or use another database.",
  },
  STORE_SCHEMA_CHANGED: {
    means: "An applied migration differs from the migration file of this Markmill version.",
    fix: "Restore the migration files of this Markmill version; applied migrations never change.",
  },
  STORE_SCHEMA_MISSING: {
    means: "The tables of Markmill do not exist.",
    fix: "Run any Markmill command that starts the store once, or `markmill doctor`.",
  },
  STORE_STATE_NEWER: {
    means: "A newer version of Markmill has written the run in a format that this version does not know.",
    fix: "Let workers of the newer version continue the run, or update this Markmill.",
  },
  STORE_TOO_LARGE: {
    means: "A text or a file is too large.",
    fix: "Store less with this run, or let the operator raise the ceiling.",
  },
  STORE_NOT_FOUND: {
    means: "There is no run, batch, definition or file with this id.",
    fix: "Check the id. `markmill status` lists the latest runs.",
  },
  STORE_NO_FORK: {
    means: "The run cannot be retried from this point.",
    fix: "Name another node that the run has visited (`markmill logs RUN` lists them), or START for the whole run.",
  },
  STORE_RUN_OPEN: { means: "The run has not ended.", fix: "Cancel the run first, or wait for its end." },
  STORE_RUN_CALLED: { means: "Another run called this run.", fix: "Name the run that called it." },
  STORE_KEY_REUSED: {
    means: "The idempotency key was used for another request.",
    fix: "Send another idempotency key with another request.",
  },
  STORE_PAGE_KEY: {
    means: "The page key does not belong to this list.",
    fix: "Send the unchanged `next` of the previous page, or no key for the first page.",
  },
  STORE_LAST_OWNER: {
    means: "The tenant would have no owner.",
    fix: "Make another user or key an owner first.",
  },
  STORE_LAST_OPS: {
    means: "The installation would have no operator.",
    fix: "Give another user or key the role ops first.",
  },
  STORE_ID_TAKEN: {
    means: "The id of the run is already used.",
    fix: "Let the store create the run's id, or use another id.",
  },
  STORE_TENANT_ID: {
    means: "The text is not a valid id of a tenant.",
    fix: "Use 1 to 63 letters, digits, dots, hyphens and underscores, and start with a letter or digit.",
  },
  STORE_BATCH_REFUSED: {
    means: "The batch cannot be saved or changed with these values.",
    fix: "Nothing was changed. Correct the problem in the message.",
  },
  STORE_GRADE_INVALID: {
    means: "The grade has an invalid value: too many points, an unknown criterion, or no reason.",
    fix: "The grade was not changed. Correct the problem in the message.",
  },
  STORE_GRADE_REFUSED: {
    means: "The change of the grade is not possible now.",
    fix: "The grade was not changed. Correct the problem in the message.",
  },
  STORE_GRADE_CHANGED: {
    means: "The grade of the submission has changed since it was read.",
    fix: "Nothing was changed. Read the submission again, then decide again.",
  },
  STORE_GRADE_UNSEEN: {
    means: "The request would replace or take back a mark of another person without a confirmation.",
    fix: "Read that mark. To replace it, confirm: `--replace ID` on the command line, `If-Match` in the API.",
  },
  STORE_BLOB_LOST: {
    means: "The stored bytes of a file are missing or have changed.",
    fix: "Store the file again. If this happens again, check which other programs delete data from the database or the bucket.",
  },
  STORE_BUCKET_REFUSED: {
    means: "The S3 server refuses the request, or the settings for the bucket of a file are missing.",
    fix: "Check S3_ENDPOINT, S3_BUCKET, S3_REGION and the keys, and that the bucket exists.",
  },
  STORE_BUCKET_UNREACHABLE: {
    means: "The S3 server does not answer.",
    fix: "Check that the S3 server runs and that S3_ENDPOINT contains its host and port.",
  },
  STORE_SERVER_FAULT: {
    means: "Postgres reports an internal error or a problem with its files.",
    fix: "Read the log of the Postgres server, and check its disk. Markmill loses no committed data.",
  },
  STORE_BUG: {
    means: "Postgres refused a statement of Markmill.",
    fix: "This is a defect in Markmill. Please report it with this message.",
  },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

export type StoreErrorCode = keyof typeof storeErrorCodes;

/** A read-only server is often a primary that is being replaced: after a failover the same address is the primary again. */
const transient: ReadonlySet<StoreErrorCode> = new Set([
  "STORE_UNREACHABLE",
  "STORE_BUSY",
  "STORE_FULL",
  "STORE_READ_ONLY",
  "STORE_BUCKET_UNREACHABLE",
]);

/** `message` states what happened and why, `fix` what to do. `transient`: the same call may succeed later. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly code: StoreErrorCode;
  /** The meaning of the code, without the details of `message`. */
  readonly means: string;
  readonly fix: string;
  readonly transient: boolean;

  constructor(code: StoreErrorCode, message: string, options: ErrorOptions & { transient?: boolean } = {}) {
    super(message, options);
    this.code = code;
    this.means = storeErrorCodes[code].means;
    this.fix = storeErrorCodes[code].fix;
    this.transient = options.transient ?? transient.has(code);
  }
}

/** PgBouncer refuses a connection that asks for settings, and in transaction mode loses prepared statements. */
const poolerRefuses = /^unsupported startup parameter|^prepared statement "/;
/** PgBouncer reports these as a fault of the connection. */
const poolerSays: readonly (readonly [RegExp, StoreErrorCode])[] = [
  [/authentication failed|no such (?:user|database)\b|does not exist/, "STORE_REFUSED"],
  [/no more connections allowed|client connections exceeded|query_wait_timeout/, "STORE_BUSY"],
];
const bySqlState: readonly (readonly [RegExp, StoreErrorCode])[] = [
  [/^(08|57P0|57014|25P0[34])/, "STORE_UNREACHABLE"],
  [/^(28|3D000|42501)/, "STORE_REFUSED"],
  [/^(53100|58030)/, "STORE_FULL"],
  [/^53/, "STORE_BUSY"],
  [/^25006/, "STORE_READ_ONLY"],
  [/^(42P01|3F000)/, "STORE_SCHEMA_MISSING"],
  [/^(58|XX|F0)/, "STORE_SERVER_FAULT"],
];
const network =
  /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH|EAI_AGAIN|ENOENT|EACCES|ENETUNREACH|ENETDOWN|EHOSTDOWN)|Connection terminated|Query read timeout|timeout exceeded when trying to connect|timeout expired|Client has encountered a connection error|not queryable|Cannot use a pool after calling end/;

const untrusted =
  /self[- ]signed certificate|unable to (?:verify|get)[^:]{0,40}certificate|certificate has expired|Hostname\/IP does not match|does not support SSL connections|error establishing an SSL connection|wrong version number|^EPROTO|^ERR_SSL|^(?:[A-Z_]{0,40}CERT|UNABLE_TO_|INVALID_(?:CA|PURPOSE)|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH|CRL_)/;
const noPassword = /^SASL: |^SCRAM-/;

/** Deadlock or serialization failure: nothing was written, and the same statement may succeed at once. */
export function isContention(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state === "40P01" || state === "40001" || state === "55P03";
}

/** A row with this key exists already. */
export function isDuplicate(error: unknown): boolean {
  return sqlStateOf(error) === "23505";
}

/** Also works for an error that is already a StoreError. */
function sqlStateOf(error: unknown): string {
  return codeOf(error instanceof StoreError ? error.cause : error);
}

export function translate(error: unknown, doing: string): StoreError {
  if (error instanceof StoreError) return error;
  const code = codeOf(error);
  const message = error instanceof Error && error.message !== "" ? error.message : String(code);
  const text = `${doing}: ${message}`;
  if (poolerRefuses.test(message)) return new StoreError("STORE_POOLER", text, { cause: error });
  if (isContention(error)) return new StoreError("STORE_BUSY", text, { cause: error });
  const said = code.startsWith("08") ? poolerSays.find(([words]) => words.test(message)) : undefined;
  if (said !== undefined) return new StoreError(said[1], text, { cause: error });
  const named = bySqlState.find(([state]) => /^[0-9A-Z]{5}$/.test(code) && state.test(code));
  if (named !== undefined) return new StoreError(named[1], text, { cause: error });
  if (untrusted.test(code) || untrusted.test(message)) return new StoreError("STORE_UNTRUSTED", text, { cause: error });
  if (noPassword.test(message)) return new StoreError("STORE_REFUSED", text, { cause: error });
  if (network.test(code) || network.test(message)) return new StoreError("STORE_UNREACHABLE", text, { cause: error });
  return new StoreError(isSystemError(error) ? "STORE_UNREACHABLE" : "STORE_BUG", text, { cause: error });
}

function codeOf(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";
}
