/**
 * Reads the `.env` file of a project and decides whether it counts. Its author may be a stranger who sent the folder, or the student whose
 * folder it is. A `.env` file can redirect keys, programs and students' submissions, and it chooses which environment variables a workflow
 * reads.
 *
 * F1  It counts completely or not at all. It counts if the user trusted exactly this content at this path (trust-records.ts), or if
 *     MARKMILL_TRUST is set.
 * F2  Inside a submission it never counts.
 * F3  No file and no environment variable can turn off the sandbox with `SANDBOX=none`: see config.ts, `byFlag`.
 * F4  The bytes compared with the record are the bytes that are read: changing the file meanwhile has no effect.
 */
import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync, type Stats } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { parseEnv } from "node:util";
import { decodeEnvText } from "./env-text.ts";
import { variables } from "./environment.ts";
import { trustsEverything } from "./trust-everything.ts";
import { decisionOn, type TrustSubject } from "./trust-records.ts";

const ourNames: ReadonlySet<string> = new Set(variables.map(({ name }) => name));
const longest = 1024 * 1024;

type Values = Readonly<Record<string, string>>;

export type EnvFile =
  | { readonly is: "absent" }
  | { readonly is: "unreadable"; readonly why: string }
  | {
      readonly is: "read";
      /** The settings that count: all of them, or none. */
      readonly taken: Values;
      /** Names of the ignored settings, and the reason. */
      readonly leftOut: readonly string[];
      readonly because: "submission" | "undecided" | "refused" | "foreign" | "asked" | null;
    };

export type EnvFilePlace = {
  /** Folders and files that a person names as a submission; relative to the working directory. */
  readonly submissions?: readonly string[];
  /** Ignores the whole file: for a process that continues the work of a process that ignored it. */
  readonly leaveOut?: boolean;
};

export function readEnvFile(
  path: string,
  cwd: string,
  { submissions = [], leaveOut = false }: EnvFilePlace = {},
): EnvFile {
  const file = loadEnvFile(path);
  if (file.is !== "loaded") return leaveOut && file.is === "unreadable" ? { is: "absent" } : file;
  if (leaveOut) return { is: "read", taken: {}, leftOut: [], because: "asked" };
  const folder = dirname(resolve(path));
  if (submissions.some((one) => isInside(folder, resolve(cwd, one)))) {
    return { is: "read", taken: {}, leftOut: Object.keys(file.values), because: "submission" };
  }
  const because = whyNot(file);
  if (because === null) return { is: "read", taken: file.values, leftOut: [], because };
  return { is: "read", taken: {}, leftOut: settingsIn(file.values), because };
}

export type LoadedEnvFile = {
  readonly is: "loaded";
  readonly values: Values;
  readonly subject: TrustSubject;
  readonly stat: Stats;
};

/** Loads the file, whether it counts or not. */
export function loadEnvFile(path: string): LoadedEnvFile | Exclude<EnvFile, { readonly is: "read" }> {
  let bytes: Buffer;
  let stat: Stats;
  try {
    // Opening a pipe would wait for its writer.
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      stat = fstatSync(file);
      if (!stat.isFile()) return { is: "unreadable", why: "is not a file" };
      if (stat.size > longest) return { is: "unreadable", why: "is longer than 1 MiB" };
      bytes = readFileSync(file);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code === "ENOENT" || code === "ENOTDIR") return { is: "absent" };
    return { is: "unreadable", why: `cannot be read: ${error instanceof Error ? error.message : String(error)}` };
  }
  const read = decodeEnvText(bytes);
  if (!read.ok) return { is: "unreadable", why: read.why };
  const values = Object.fromEntries(Object.entries(parseEnv(read.text)).map(([name, value]) => [name, value ?? ""]));
  const at = resolve(path);
  const fingerprint = createHash("sha256").update(bytes).digest("hex");
  return { is: "loaded", values, subject: { path: join(real(dirname(at)), basename(at)), fingerprint }, stat };
}

/** Our own variables, and variables that workflows may read. Other programs store their settings in `.env` too; these are not mentioned. */
export function settingsIn(values: Values): readonly string[] {
  const visible = (process.env.WORKFLOW_ENV ?? "").split(",").map((name) => name.trim());
  return Object.keys(values).filter((name) => values[name] !== "" && (ourNames.has(name) || visible.includes(name)));
}

function whyNot({ values, subject, stat }: LoadedEnvFile): "undecided" | "refused" | "foreign" | null {
  if (settingsIn(values).length === 0) return "undecided";
  if (isWrittenByOthers(stat)) return "foreign";
  if (trustsEverything()) return null;
  const decision = decisionOn(subject);
  return decision === "trusted" ? null : (decision ?? "undecided");
}

/** Trust would be meaningless: another user can change the file. */
export function isWrittenByOthers(stat: Stats): boolean {
  return !belongsToUs(stat) || (stat.mode & 0o002) !== 0;
}

/** On systems with file owners: the owner must be this user or the administrator. */
function belongsToUs({ uid }: Stats): boolean {
  const me = process.geteuid?.();
  return me === undefined || uid === me || uid === 0;
}

function isInside(folder: string, other: string): boolean {
  const [inner, outer] = [real(folder), real(other)];
  return inner === outer || inner.startsWith(outer.endsWith(sep) ? outer : outer + sep);
}

/** The real path of a path that need not exist: its nearest existing ancestor, then the rest. */
function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(real(parent), basename(path));
  }
}
