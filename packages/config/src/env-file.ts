/**
 * The `.env` file of a project, and whether it counts. Its author may be a stranger who sent the folder, or the student whose folder it is. A
 * `.env` chooses where keys, programs and students' works go, and which variables of the environment a workflow reads.
 *
 * F1  It counts whole, or not at all. It counts if the user trusted exactly this content at this path (trust-records.ts), or MARKMILL_TRUST says so.
 * F2  Inside a submission it never counts.
 * F3  `SANDBOX=none` is nothing a file or an environment can ask for: config.ts, `byFlag`.
 * F4  The bytes that are compared with the record are the bytes that are read: a file that changes meanwhile gains nothing.
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
      /** What counts: everything, or nothing. */
      readonly taken: Values;
      /** Names of settings that were left out, and why. */
      readonly leftOut: readonly string[];
      readonly because: "submission" | "undecided" | "refused" | "foreign" | "asked" | null;
    };

export type EnvFilePlace = {
  /** Folders and files that a person names as a submission; relative to the working directory. */
  readonly submissions?: readonly string[];
  /** Left out whole, whatever it holds: a process that works on for one that left it out. */
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

/** Whatever it holds, whether it counts or not. */
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

/** Names of ours, and names that workflows may read. Other programs keep their settings in `.env`, too: those are not spoken of. */
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

/** Trust would say nothing: another user can change the file. */
export function isWrittenByOthers(stat: Stats): boolean {
  return !belongsToUs(stat) || (stat.mode & 0o002) !== 0;
}

/** Where the system knows owners, ours or the administrator's. */
function belongsToUs({ uid }: Stats): boolean {
  const me = process.geteuid?.();
  return me === undefined || uid === me || uid === 0;
}

function isInside(folder: string, other: string): boolean {
  const [inner, outer] = [real(folder), real(other)];
  return inner === outer || inner.startsWith(outer.endsWith(sep) ? outer : outer + sep);
}

/** Of a path that need not exist: its nearest ancestor that does, and the rest. */
function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(real(parent), basename(path));
  }
}
