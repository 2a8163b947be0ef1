/**
 * Finds sentences where a program normally has none, and names of files and identifiers that read like sentences about the grade. They are
 * reported to the teacher and change no points. The second pass does not see them (strip-words.ts), and differing marks are reviewed by a
 * person.
 */
import type { Flag } from "./grade.ts";
import { piecesOfName } from "./leftover-words.ts";
import { stripWords } from "./strip-words.ts";

const MOST_FLAGS = 8;
/** How much of a file and of a submission a model is shown (show-work.ts). */
const MOST_OF_FILE = 100_000;
const MOST_OF_ALL = 500_000;
const LONGEST_SHOWN = 80;

export function findWording(texts: ReadonlyMap<string, string>): Flag[] {
  const flags: Flag[] = [];
  const add = (message: string, file: string, line?: number) => {
    const same = flags.some((one) => one.file === file && one.message === message);
    if (!same && flags.length < MOST_FLAGS)
      flags.push({ kind: "wording", message, file, ...(line === undefined ? {} : { line }) });
  };
  let room = MOST_OF_ALL;
  for (const [file, whole] of [...texts].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const text = whole.slice(0, Math.min(MOST_OF_FILE, room));
    room -= text.length;
    if (speaks(piecesOfName(file.replace(/\.[A-Za-z0-9]{1,8}$/, ""))))
      add("has a name that reads like a sentence", file);
    const { code, leftover, prose } = stripWords(file, text);
    if (prose) continue;
    const [line] = leftover;
    if (line !== undefined) add("has a sentence where a program has none", file, line);
    const [name] = [...spokenNames(code)];
    if (name !== undefined)
      add(`has a name that reads like a sentence: ${name.text.slice(0, LONGEST_SHOWN)}`, file, lineOf(code, name.at));
  }
  return flags;
}

/** Finds identifiers, and chains of identifiers joined only by dots or commas: `this.code.deserves.full.marks`. */
function* spokenNames(code: string): Generator<{ readonly text: string; readonly at: number }> {
  for (const { 0: text, index } of code.matchAll(
    /[\p{L}_$][\p{L}\p{M}\p{N}_$]*(?:(?:\.|, ?|-)[\p{L}_$][\p{L}\p{M}\p{N}_$]*){0,30}/gu,
  ))
    if (text.length >= 12 && speaks(piecesOfName(text))) yield { text, at: index };
}

function lineOf(text: string, at: number): number {
  return text.slice(0, at).split("\n").length;
}

const praise = /^(?:perfect|flawless|excellent|exemplary|outstanding|brilliant|superb)$/;
const numeric =
  /^(?:numbers?|squares?|cubes?|powers?|hash|hashes|match|matches|matching|game|games|tree|int|integer|list)$/;
const own = /^(?:this|my|code|solution|work|submission|program|implementation|assignment|homework)$/;
const asking = /^(?:deserves?|award|awards|please|give|grant|assign|merits?)$/;
const prize = /^(?:full|marks?|credit|points?|grades?|score|maximum|highest|top|max|all|perfect)$/;
const reader =
  /^(?:grader|graders|rubric|reviewer|evaluator|examiner|teacher|professor|llm|chatgpt|gpt|claude|gemini|ai)$/;
const order = /^(?:please|give|ignore|award|should|must|dear|note|trust|disregard|mark|rate|you)$/;
const rules = /^(?:instructions?|rubric|criteria|previous|prompts?|rules)$/;

function speaks(words: readonly string[]): boolean {
  if (words.length < 3) return false;
  const has = (kind: RegExp) => words.some((word) => kind.test(word));
  const count = (kind: RegExp) => words.filter((word) => kind.test(word)).length;
  if (words.length >= 4 && has(praise) && has(own) && !has(numeric)) return true;
  if (has(asking) && count(prize) >= 2) return true;
  if (has(/^deserves?$/) && has(prize)) return true;
  if (words.length >= 4 && has(reader) && count(order) >= 2) return true;
  return has(/^(?:ignore|disregard)$/) && (count(rules) >= 2 || (has(rules) && has(/^(?:all|your|the)$/)));
}
