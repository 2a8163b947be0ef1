// What EXECUTE leaves in RESULT and EXIT_CODE. Pure. Invariants:
// 1. Per command: `$ ` and the command, a newline, its output, a newline; nothing found to run gives the empty text.
// 2. EXIT_CODE is the last one that is not 0, or 0. A command killed by a clock counts as 124, a refused one as 126.

import type { CommandOutcome } from "../port.ts";

export type TranscriptEntry =
  | { readonly kind: "ran"; readonly command: string; readonly outcome: CommandOutcome }
  | { readonly kind: "refused"; readonly command: string; readonly message: string };

export const TIMED_OUT_CODE = 124;
export const REFUSED_CODE = 126;

export function renderTranscript(entries: readonly TranscriptEntry[]): string {
  return entries.map(renderEntry).join("");
}

export function exitCodeOf(entries: readonly TranscriptEntry[]): number {
  return entries.map(codeOf).findLast((code) => code !== 0) ?? 0;
}

function renderEntry(entry: TranscriptEntry): string {
  if (entry.kind === "refused") return `$ ${entry.command}\n[${entry.message}]\n`;
  const { outcome } = entry;
  const output = outcome.output.replace(/\n+$/, "");
  return `$ ${entry.command}\n${[...(output === "" ? [] : [output]), ...notesOf(outcome)].join("\n")}\n`;
}

function notesOf(outcome: CommandOutcome): string[] {
  const seconds = (outcome.durationMs / 1000).toFixed(1);
  return [
    ...(outcome.truncated ? [`[output truncated: ${outcome.outputBytes} bytes were written]`] : []),
    ...(outcome.timedOut === false ? [] : [`[${clockNotes[outcome.timedOut]}, killed after ${seconds} s]`]),
    ...(outcome.outOfMemory ? ["[out of memory: the session's limit was reached and a process was killed]"] : []),
  ];
}

const clockNotes = {
  wall: "timed out",
  cpu: "timed out: too much processor time",
  silence: "timed out: no output for too long",
} as const;

function codeOf(entry: TranscriptEntry): number {
  if (entry.kind === "refused") return REFUSED_CODE;
  return entry.outcome.exitCode ?? TIMED_OUT_CODE;
}
