/**
 * Finds attempts to influence the grader, and reports them to the teacher. A finding is a sign, not proof, and changes no grade. Attempts
 * that are missed here are stopped elsewhere: by executed tests, by required evidence and by a closed answer format.
 */
import { type Reading, readable, readingsOf } from "./attempt-readings.ts";
import { BESIDE, type Sign, signs } from "./attempt-signs.ts";
import type { Flag } from "./grade.ts";

/** Names of files that tools load automatically. Code in them can run before the tests do. */
const hookFiles =
  /(?:^|\/)(?:conftest\.py|sitecustomize\.py|usercustomize\.py|pytest\.ini|tox\.ini|\.npmrc|\.noderc|\.pnpmfile\.cjs|\.mocharc\.\w+|jest\.config\.\w+|vitest\.config\.\w+|\.envrc|makefile\.local)$/i;
/** Git attributes that change or hide files. Plain attributes, such as `* text=auto` or those of Git LFS, are ordinary. */
const gitAttributes = /(?:^|\/)\.gitattributes$/i;
const changingAttribute =
  /[ \t](?:export-subst|export-ignore|ident|working-tree-encoding=\S|filter=(?!lfs(?:[ \t]|$))\S)/;
const MOST_FLAGS = 20;
/**
 * More than a model is shown of one file and of one submission (show-work.ts). Text that no model sees cannot influence it, and reading it
 * costs time.
 */
const MOST_OF_FILE = 100_000;
const MOST_OF_ALL = 500_000;

export function findAttempts(texts: ReadonlyMap<string, string>): Flag[] {
  return look(texts, signs, true);
}

/** Searches named values that are sent with the task, such as a program's output or a model's comment on the submission. */
export function findSpokenAttempts(values: ReadonlyMap<string, string>): Flag[] {
  return look(values, spokenSigns, false);
}

const spokenSigns = signs.filter(({ ofFiles }) => ofFiles !== true);

function look(texts: ReadonlyMap<string, string>, signs: readonly Sign[], named: boolean): Flag[] {
  const flags: Flag[] = [];
  const add = (kind: Sign["kind"], message: string, file: string, line?: number) => {
    const same = flags.some((one) => one.file === file && one.message === message);
    if (!same && flags.length < MOST_FLAGS)
      flags.push({ kind, message, file, ...(line === undefined ? {} : { line }) });
  };
  let room = MOST_OF_ALL;
  // Files are read in the order in which they are shown.
  for (const [file, whole] of [...texts].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const text = whole.slice(0, Math.min(MOST_OF_FILE, room));
    room -= text.length;
    if (named) {
      if (hookFiles.test(file)) add("tampering", "is a file that tools load automatically", file);
      if (gitAttributes.test(file)) {
        const line = text
          .split("\n")
          .findIndex((one) => !one.trimStart().startsWith("#") && changingAttribute.test(one));
        if (line >= 0) add("tampering", "changes or hides files when git writes them", file, line + 1);
      }
      const lineAt = () => 1;
      const names: Reading[] = [
        { text: readable(file), how: "", lineAt },
        { text: readable(file.replaceAll(/[_-]+/g, " ")), how: "", folded: true, lineAt },
      ];
      for (const sign of signs)
        if (names.some((name) => placeOf(sign, name) !== null)) add(sign.kind, `its name ${sign.says}`, file);
    }
    for (const [index, line] of text.split(/\r\n|\n|\r/).entries()) {
      if (!hidesLetters(line)) continue;
      add("injection", "hides letters or changes their direction", file, index + 1);
      break;
    }
    for (const reading of readingsOf(text)) {
      for (const sign of signs) {
        const told = flags.some((one) => one.file === file && one.message === sign.says);
        const at = told ? null : placeOf(sign, reading);
        if (at !== null) add(sign.kind, `${sign.says}${reading.how}`, file, reading.lineAt(at));
      }
    }
  }
  return flags;
}

/** Returns where the sign matches in the reading, together with its second pattern if it needs one. */
function placeOf({ pattern, beside, inLine, asWritten }: Sign, { text, folded, lineAt }: Reading): number | null {
  if (asWritten === true && folded === true) return null;
  if (beside === undefined && inLine !== true) return pattern.exec(text)?.index ?? null;
  for (const { index, 0: found } of text.matchAll(new RegExp(pattern, `${pattern.flags}g`))) {
    const end = index + found.length;
    if (inLine === true && lineAt(index) !== lineAt(end - 1)) continue;
    if (beside?.test(text.slice(Math.max(0, index - BESIDE), end + BESIDE)) !== false) return index;
  }
  return null;
}

/**
 * Matches zero-width characters, direction characters and the tag letters that mirror ASCII. A single joiner in a name or an emoji is
 * ordinary.
 */
function hidesLetters(line: string): boolean {
  if (
    /[\u202a-\u202e\u2066-\u2069]|[\u{e0001}-\u{e007f}]/u.test(line.replaceAll(/\u{1f3f4}[\u{e0020}-\u{e007f}]+/gu, ""))
  )
    return true;
  if ((line.match(/[\u{e0100}-\u{e01ef}]/gu)?.length ?? 0) > 2) return true;
  const hidden = line
    .replaceAll(/\p{Extended_Pictographic}\ufe0f?\u200d/gu, "")
    .match(/[\u200b\u2060\u2062-\u2064\ufeff\u00ad]/g);
  return (hidden?.length ?? 0) > 1;
}
