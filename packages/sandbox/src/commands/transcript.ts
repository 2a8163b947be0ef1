// Formats the text that EXECUTE stores in RESULT, and computes EXIT_CODE. Pure. Invariants:
// 1. Each command gives `$ ` and the command (`> ` before its further lines), its output, and a newline. Without any command the text is
//    empty.
// 2. After the output comes one line `[…]` for each problem: a non-zero exit, a timeout, lack of memory, cut output.
// 3. Output cannot imitate such lines. An output line that looks like a command or one of our notes gets the prefix `| `; all other output
//    stays unchanged. So every line that begins with `$ ` is a command that ran.
// 4. EXIT_CODE is the last exit code that is not 0, or 0. A command killed by a clock counts as 124, a refused command as 126.

import { constants } from "node:os";
import { neutraliseText } from "../neutralise-output.ts";
import type { CommandOutcome } from "../port.ts";
import { trimLastNewlines } from "./trim-newlines.ts";

export type TranscriptEntry =
  | { readonly kind: "ran"; readonly command: string; readonly outcome: CommandOutcome }
  | { readonly kind: "refused"; readonly command: string; readonly message: string }
  /** A further note for the reader, for example about a block that did not run. */
  | { readonly kind: "note"; readonly text: string };

const TIMED_OUT_CODE = 124;
const REFUSED_CODE = 126;

export function renderTranscript(entries: readonly TranscriptEntry[]): string {
  return entries.map(renderEntry).join("");
}

export function exitCodeOf(entries: readonly TranscriptEntry[]): number {
  return entries.map(codeOf).findLast((code) => code !== 0) ?? 0;
}

function renderEntry(entry: TranscriptEntry): string {
  if (entry.kind === "note") return `${noteLine(entry.text)}\n`;
  const command = `$ ${neutraliseText(entry.command).replaceAll("\n", "\n> ")}`;
  if (entry.kind === "refused") return `${command}\n${noteLine(entry.message)}\n`;
  const { outcome } = entry;
  return `${command}\n${[...outputLines(outcome), ...notesOf(outcome).map(noteLine)].join("\n")}\n`;
}

function noteLine(text: string): string {
  return `[${neutraliseText(text).replaceAll("\n", " ")}]`;
}

function outputLines({ output, gap }: CommandOutcome): string[] {
  const whole = gap === undefined ? output : output.slice(0, gap.from);
  const trimmed = trimLastNewlines(whole);
  if (gap === undefined) return trimmed === "" ? [] : marked(trimmed);
  const tail = trimLastNewlines(output.slice(gap.to).replace(/^\n/, ""));
  return [...marked(trimmed), output.slice(gap.from, gap.to), ...marked(tail)];
}

/** The lines of output. A line that imitates our own lines gets a bar in front. */
function marked(text: string): string[] {
  return text.split("\n").map((line, index) => (poses(line, index === 0) ? `| ${line}` : line));
}

/** Compares the line as a reader sees it: full-width and small forms of a character, and leading white space, make no difference. */
function poses(line: string, first: boolean): boolean {
  const start = line.trimStart().slice(0, 200).normalize("NFKC");
  if (/^[$💲](?:\s|$)/u.test(start)) return true;
  // Directly after a command, a second prompt would look like its continuation.
  if (first && /^[>›❯»]/u.test(start)) return true;
  if (!/^\p{Ps}/u.test(start) || start.startsWith("(") || start.startsWith("{")) return false;
  return ourWords.test(start.toLowerCase()) || mixedLetters.test(start.toLowerCase());
}

/** How our notes start: the notes below, those of the output collector, of the policy, and of blocks that did not run. */
const ourWords =
  /^.\s*(?:exit\b|timed?\b|out of\b|output\b|killed\b|signal\b|\d+ (?:bytes|lines?)\b|refused\b|the .{1,60}\bblock\b|the reply\b|no commands?\b)/u;
/** Latin letters mixed with other letters in one word: an imitation of a word. */
const mixedLetters = new RegExp(
  ["[a-z]OTHER", "OTHER[a-z]"]
    .join("|")
    .replaceAll("OTHER", "[\\p{Script=Cyrillic}\\p{Script=Greek}\\p{Script=Armenian}\\p{Script=Cherokee}]"),
  "u",
);

function notesOf(outcome: CommandOutcome): string[] {
  const seconds = (outcome.durationMs / 1000).toFixed(1);
  const { exitCode, timedOut, truncated, outOfMemory } = outcome;
  return [
    ...(truncated ? [`output truncated: ${outcome.outputBytes} bytes were written`] : []),
    ...(timedOut === false ? [] : [`${clockNotes[timedOut]}, killed after ${seconds} s`]),
    ...(outOfMemory ? ["out of memory: the session's limit was reached and a process was killed"] : []),
    ...(exitCode === null || exitCode === 0 ? [] : [`exit code ${exitCode}${signalNote(exitCode)}`]),
  ];
}

/** bash uses this exit code for a process that a signal killed. A program can also exit with the same number. */
function signalNote(exitCode: number): string {
  const name = Object.entries(constants.signals).find(([, number]) => number === exitCode - 128)?.[0];
  return name === undefined ? "" : `: as after a kill by ${name}`;
}

const clockNotes = {
  wall: "timed out: too much time in all",
  cpu: "timed out: too much processor time",
  silence: "timed out: no output for too long",
} as const;

function codeOf(entry: TranscriptEntry): number {
  if (entry.kind === "note") return 0;
  if (entry.kind === "refused") return REFUSED_CODE;
  return entry.outcome.exitCode ?? TIMED_OUT_CODE;
}
