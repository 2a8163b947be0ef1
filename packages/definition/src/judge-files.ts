/**
 * Copies the teacher's files for a judge session into the definition. The files of a folder are placed at the top of /judge, and a single
 * file under its own name. Two files with the same name are a mistake, not an overlay. These files reach no prompt and no student session.
 */
import type { Place } from "./finding.ts";
import type { FindingReport } from "./finding-codes.ts";
import { isProtectedPath, protectedFix, protectedReason } from "./protected-path.ts";
import { locate, type Workspace } from "./workspace.ts";

const MAX_FILES = 2000;
const MAX_BYTES = 4 * 1024 * 1024;

export interface JudgeFiles {
  /** Folders and files below the workflow root. */
  readonly from: readonly string[];
  /** Base64, by path below /judge. */
  readonly files: Readonly<Record<string, string>>;
  /** Paths below the root of all files that were copied. */
  readonly read: readonly string[];
}

export function readJudgeFiles(
  workspace: Workspace,
  file: string,
  written: readonly string[],
  at: Place,
  report: FindingReport,
): JudgeFiles {
  const from: string[] = [];
  const taken = new Map<string, { readonly path: string; readonly bytes: Uint8Array }>();
  let total = 0;
  const take = (path: string, name: string): boolean => {
    const bytes = workspace.read(path);
    if (bytes === undefined) return true;
    const earlier = taken.get(name);
    if (earlier !== undefined && earlier.path !== path) {
      report.error(
        "JUDGE_FILE_TWICE",
        at,
        `${earlier.path} and ${path} would both be /judge/${name}.`,
        "Rename one of them, or put them into different folders.",
      );
      return true;
    }
    taken.set(name, { path, bytes });
    total += bytes.length;
    if (taken.size <= MAX_FILES && total <= MAX_BYTES) return true;
    report.error(
      "JUDGE_FILES_TOO_MANY",
      at,
      `The judge's files are more than ${MAX_FILES}, or larger than ${MAX_BYTES / 1024 / 1024} MiB together.`,
      "Keep only the files that the checks need. Put programs and libraries into the judge's image.",
    );
    return false;
  };

  for (const one of written) {
    const target = locate(
      (path) => exists(workspace, path),
      file,
      one,
      (path) => workspace.refuses?.(path) === true,
    );
    if ("refused" in target) {
      report.error("JUDGE_FILE_HIDDEN", at, `${one} is not read: ${protectedReason}.`, protectedFix);
      continue;
    }
    if (!("found" in target)) {
      if ("outside" in target) {
        report.error(
          "JUDGE_FILE_OUTSIDE",
          at,
          `${one} is outside the workflow folder.`,
          "Copy the file or folder next to the workflow, and name the copy.",
        );
      } else {
        const near = report.didYouMean(one, () => workspace.list?.() ?? []);
        report.error(
          "JUDGE_FILE_MISSING",
          at,
          `There is no file or folder ${target.missing} for the judge.`,
          `${near}Correct the path, or add it.`,
        );
      }
      continue;
    }
    const { found } = target;
    from.push(found);
    if (workspace.read(found) !== undefined) {
      if (!take(found, found.slice(found.lastIndexOf("/") + 1))) break;
      continue;
    }
    const { files, leftOut } = treeOf(workspace, found);
    const hidden = [...leftOut, ...files.filter((path) => isProtectedPath(path.slice(found.length)))];
    if (hidden.length > 0) {
      report.warn(
        "JUDGE_FILE_HIDDEN",
        at,
        `${hidden.slice(0, 3).join(", ")}${hidden.length > 3 ? ` and ${hidden.length - 3} more` : ""} in ${found} ${hidden.length === 1 ? "is" : "are"} hidden, a link, or looks like a key, and was skipped.`,
        "Move it out of the folder, or give it another name if the judge needs it.",
      );
    }
    const plain = files.filter((path) => !isProtectedPath(path.slice(found.length)));
    if (plain.length === 0) {
      report.error(
        "JUDGE_FILE_MISSING",
        at,
        `The folder ${found} contains no file for the judge.`,
        "Put the checks there.",
      );
    }
    if (!plain.every((path) => take(path, path.slice(found.length + 1)))) break;
  }
  const sorted = [...taken].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    from,
    files: Object.fromEntries(sorted.map(([name, { bytes }]) => [name, Buffer.from(bytes).toString("base64")])),
    read: sorted.map(([, { path }]) => path),
  };
}

/** Reads an autograder: a folder or a zip file with run_autograder at its top. A zip file is unpacked where it is used. */
export function readAutograder(
  workspace: Workspace,
  file: string,
  written: string,
  at: Place,
  report: FindingReport,
): { readonly from: string; readonly files: Readonly<Record<string, string>>; readonly read: readonly string[] } {
  const { from, files, read } = readJudgeFiles(workspace, file, [written], at, report);
  const [found = written] = from;
  const isFile = workspace.read(found) !== undefined;
  const [[name = "", bytes = ""] = []] = Object.entries(files);
  if (isFile && /\.zip$/i.test(name)) {
    const lacks = whatLacks(Buffer.from(bytes, "base64"));
    if (lacks !== null) {
      report.error(
        "JUDGE_AUTOGRADER",
        at,
        `${found} is no autograder: ${lacks}.`,
        "Pack setup.sh and run_autograder again, as Gradescope takes them.",
      );
    }
    return { from: found, files: { "autograder.zip": bytes }, read };
  }
  if (from.length > 0 && (isFile || files.run_autograder === undefined)) {
    report.error(
      "JUDGE_AUTOGRADER",
      at,
      `${found} is not an autograder: it is neither a zip nor a folder with run_autograder at its top.`,
      "Name the zip, or the folder that contains setup.sh and run_autograder.",
    );
  }
  const below = Object.entries(files).map(([path, base64]) => [`autograder/${path}`, base64] as const);
  return { from: found, files: Object.fromEntries(below), read };
}

/** A zip ends with this record, which only a comment may follow. */
const endOfZip = Buffer.from("PK\u0005\u0006", "latin1");
const endBytes = 22 + 65_535;

/** What every usable zip has: it is seen here, before the first submission is graded. Names stand in a zip as they are. The rest is seen at use. */
function whatLacks(zip: Buffer): string | null {
  if (!zip.subarray(-endBytes).includes(endOfZip)) return "it is not a zip, or its end is missing";
  return zip.includes("run_autograder") ? null : "it holds no run_autograder";
}

function exists(workspace: Workspace, path: string): boolean {
  return (
    workspace.read(path) !== undefined ||
    treeOf(workspace, path).files.length > 0 ||
    treeOf(workspace, path).leftOut.length > 0
  );
}

/** If the workspace cannot list its folders, they come from its list of paths. */
function treeOf(workspace: Workspace, folder: string): { files: readonly string[]; leftOut: readonly string[] } {
  if (workspace.tree !== undefined) return workspace.tree(folder) ?? { files: [], leftOut: [] };
  const files = [...(workspace.list?.() ?? [])].filter((path) => path.startsWith(`${folder}/`)).sort();
  return { files, leftOut: [] };
}
