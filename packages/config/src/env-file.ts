// A `.env` file of the working directory, and how far it is trusted: whoever wrote it may be the student whose folder it is.
//
// F1 Inside a submission nothing of it is taken.
// F2 What reaches outside (endpoint, database, queue, sandbox, places on the disk) is taken only from the `.env` of a Markmill project: a
//    folder of one's own with `.markmill/` or `class.yaml`. A file that was once left out stays so when a run then makes `.markmill/`
//    beside it: `noticeOf` is written first, and `markmill init` takes it away. A kill between the two leaves the file left out.
// F3 `SANDBOX=none` is nothing a file or an environment can ask for: config.ts, `byFlag`.
import { lstatSync, mkdirSync, readFileSync, realpathSync, rmSync, type Stats, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { parseEnv } from "node:util";
import { anywhereNames, variables } from "./environment.ts";

const ourNames: ReadonlySet<string> = new Set(variables.map(({ name }) => name));

export type EnvFile =
  | { readonly is: "absent" }
  | { readonly is: "unreadable"; readonly why: string }
  | {
      readonly is: "read";
      /** What counts. */
      readonly taken: Readonly<Record<string, string>>;
      /** Names of settings that were left out, and why. */
      readonly leftOut: readonly string[];
      readonly because: "submission" | "no project" | "foreign" | "asked" | null;
    };

export type EnvFilePlace = {
  /** Folders and files that a person names as a submission; relative to the file's folder. */
  readonly submissions?: readonly string[];
  /** Left out whole, whatever it holds: a process that works on for one that left it out. */
  readonly leaveOut?: boolean;
};

export function readEnvFile(path: string, { submissions = [], leaveOut = false }: EnvFilePlace = {}): EnvFile {
  let values: Readonly<Record<string, string>>;
  try {
    const parsed = parseEnv(readFileSync(path, "utf8"));
    values = Object.fromEntries(Object.entries(parsed).map(([name, value]) => [name, value ?? ""]));
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code === "ENOENT") return { is: "absent" };
    return { is: "unreadable", why: error instanceof Error ? error.message : String(error) };
  }
  const folder = dirname(resolve(path));
  const all = Object.keys(values);
  if (leaveOut) return { is: "read", taken: {}, leftOut: [], because: "asked" };
  if (submissions.some((one) => isInside(folder, resolve(folder, one)))) {
    return { is: "read", taken: {}, leftOut: all, because: "submission" };
  }
  const because = !isProject(folder) ? "no project" : !isOwn(path) ? "foreign" : null;
  if (because === null) return { is: "read", taken: values, leftOut: [], because };
  // Other programs keep their settings in `.env`, too: of those there is nothing to tell.
  const leftOut = all.filter((name) => ourNames.has(name) && !anywhereNames.has(name) && values[name] !== "");
  const taken = Object.fromEntries(Object.entries(values).filter(([name]) => anywhereNames.has(name)));
  return { is: "read", taken, leftOut, because: leftOut.length === 0 ? null : because };
}

function isProject(folder: string): boolean {
  if (fileAt(noticeOf(folder)) !== null) return false;
  const own = fileAt(join(folder, ".markmill"));
  if (own?.isDirectory() === true && belongsToUs(own)) return true;
  const list = fileAt(join(folder, "class.yaml"));
  return list?.isFile() === true && belongsToUs(list);
}

function isOwn(path: string): boolean {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat !== undefined && belongsToUs(stat) && (stat.mode & 0o002) === 0;
}

/** Without following a link. */
function fileAt(path: string): Stats | null {
  return lstatSync(path, { throwIfNoEntry: false }) ?? null;
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

/** Says that the `.env` beside it was left out before there was a project. */
function noticeOf(folder: string): string {
  return join(folder, ".markmill", "env-left-out");
}

/** F2. Best effort: where nothing can be written, no `.markmill/` comes to be either. */
export function rememberLeftOut(envFile: string): void {
  const notice = noticeOf(dirname(resolve(envFile)));
  try {
    mkdirSync(dirname(notice), { recursive: true });
    writeFileSync(notice, "The .env beside this folder was here before the folder was a project.\n", { flag: "a" });
  } catch {}
}

/** Makes a folder a project: from now on its `.env` counts whole. */
export function makeProject(folder: string): void {
  mkdirSync(join(folder, ".markmill"), { recursive: true });
  rmSync(noticeOf(folder), { force: true });
}
