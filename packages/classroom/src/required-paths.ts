/**
 * Checks `requires` in class.yaml: files without which a submission cannot be graded. Pure.
 *
 * Q1  A path starts at the top of the submission. `*` and `?` stand for letters within one name, `**` for any number of folders. A path
 *     that ends with / stands for any file below it. A file whose name contains these signs also matches literally.
 * Q2  The Unicode form does not count: ü as one character and as two are equal. The submission gets the teacher's spelling, because the
 *     teacher's tests open the file by it.
 * Q3  Upper and lower case differ.
 * Q4  The single folder around all files is kept if fewer required files are missing with it. If the number is equal, it is kept if a
 *     required path begins with its name.
 */
import { showName } from "@markmill/grading/submission";

/** Required paths that no file matches. */
export function missingPaths(requires: readonly string[], paths: readonly string[]): readonly string[] {
  const known = paths.map((path) => path.normalize("NFC"));
  return requires.filter((wanted) => {
    const pattern = wanted.normalize("NFC");
    const parts = partsOf(pattern);
    return !known.some((path) => path === pattern || fitsParts(path.split("/"), parts));
  });
}

/** Q4: whether the only folder at the top is part of the submission. */
export function keepsFolder(requires: readonly string[], folder: string, pathsInside: readonly string[]): boolean {
  if (requires.length === 0) return false;
  const kept = missingPaths(
    requires,
    pathsInside.map((path) => `${folder}/${path}`),
  ).length;
  const dropped = missingPaths(requires, pathsInside).length;
  return kept < dropped || (kept === dropped && kept > 0 && requires.some((wanted) => begins(wanted, folder)));
}

function begins(wanted: string, folder: string): boolean {
  const [first = "", ...rest] = wanted.normalize("NFC").split("/");
  return rest.length > 0 && first === folder.normalize("NFC");
}

/** Q2: returns the same entries, with names spelled as in the required paths. */
export function spellAsRequired<T extends { readonly path: string }>(
  entries: readonly T[],
  requires: readonly string[],
  notes: string[],
): readonly T[] {
  const spellings = requires.map((wanted) => wanted.split("/"));
  return entries.map((entry) => {
    const path = spellings.reduce(spelled, entry.path);
    if (path === entry.path) return entry;
    notes.push(`${showName(entry.path)} uses another Unicode form than class.yaml and was renamed`);
    return { ...entry, path };
  });
}

/** Changes the spelling from the top, up to the first name that differs. */
function spelled(path: string, wanted: readonly string[]): string {
  const parts = path.split("/");
  for (const [index, part] of parts.entries()) {
    const spelling = wanted[index];
    if (spelling === undefined || spelling.normalize("NFC") !== part.normalize("NFC")) break;
    parts[index] = spelling;
  }
  return parts.join("/");
}

function partsOf(pattern: string): readonly string[] {
  return (pattern.endsWith("/") ? `${pattern}**/*` : pattern).split("/");
}

/** Tries each part of the pattern once at each place: the time grows with the product of both lengths. */
function fitsParts(names: readonly string[], parts: readonly string[]): boolean {
  let reached: readonly boolean[] = [true, ...names.map(() => false)];
  for (const part of parts) {
    const from = reached;
    const next: boolean[] = [];
    for (let at = 0; at <= names.length; at += 1) {
      next[at] =
        part === "**"
          ? from[at] === true || next[at - 1] === true
          : at > 0 && from[at - 1] === true && fitsName(names[at - 1] ?? "", part);
    }
    reached = next;
  }
  return reached[names.length] === true;
}

function fitsName(name: string, pattern: string): boolean {
  const [letters, signs] = [[...name], [...pattern]];
  let [at, sign, star, tried] = [0, 0, -1, 0];
  while (at < letters.length) {
    if (signs[sign] === "*") {
      [star, tried] = [sign, at];
      sign += 1;
    } else if (sign < signs.length && (signs[sign] === "?" || signs[sign] === letters[at])) {
      at += 1;
      sign += 1;
    } else if (star >= 0) {
      tried += 1;
      [at, sign] = [tried, star + 1];
    } else return false;
  }
  return signs.slice(sign).every((one) => one === "*");
}

/** Describes what is wrong with a required path. null: nothing. */
export function requiredPathProblem(path: string): string | null {
  if (path.startsWith("/"))
    return "a required path is relative to the top folder of the submission; remove the / at the start";
  if (path.includes("\\")) return "separate the folders of a required path with /";
  const parts = path.replace(/\/$/, "").split("/");
  if (parts.some((part) => part === "" || part === "." || part === "..")) {
    return "a required path must not contain empty names, . or ..";
  }
  const mixed = parts.find((part) => part.includes("**") && part !== "**");
  return mixed === undefined ? null : "** matches folders and must be a whole name, as in **/Stack.java";
}
