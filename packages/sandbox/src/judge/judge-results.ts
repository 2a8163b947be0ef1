// Chooses the file in which the judge's command stores its test results, and hides it from others. Pure except for the random names.
//
// The name of the file is random, so that a file that a guest leaves and the judge saves into its scratch folder cannot pass for it. The
// nonce is random for each command. It is passed in the environment of the command's shell, never in arguments, in a session's files or
// labels, or in a row.

import { randomBytes } from "node:crypto";
import { trimLastNewlines } from "../commands/trim-newlines.ts";
import { type CommandOutcome, WORKSPACE } from "../port.ts";

export interface ResultsPlace {
  /** 64 hex digits. */
  readonly nonce: string;
  /** Below the workspace. */
  readonly file: string;
  readonly path: string;
}

export function drawResultsPlace(): ResultsPlace {
  const file = `.results-${randomBytes(8).toString("hex")}.json`;
  return { nonce: randomBytes(32).toString("hex"), file, path: `${WORKSPACE}/${file}` };
}

/** A part of the nonce with at least this many digits is no coincidence. */
const TELLING = 8;

/**
 * Removes the nonce from the outcome and keeps the length, so that positions in the output stay right. It also removes parts of the nonce
 * beside a cut.
 */
export function redact(outcome: CommandOutcome, nonce: string): CommandOutcome {
  const { environment, ...state } = outcome.state;
  const { MARKMILL_NONCE: _, ...kept } = environment;
  const clean = { ...outcome, state: { ...state, environment: kept, shell: redactNonce(state.shell, nonce) } };
  const { gap } = outcome;
  const output = redactNonce(outcome.output, nonce);
  if (gap === undefined) return { ...clean, output };
  const before = output.slice(0, gap.from);
  const told = trimLastNewlines(before);
  // A part of the nonce is never longer than the nonce.
  const end = /[0-9a-f]*$/i.exec(told.slice(-nonce.length))?.[0] ?? "";
  const hidden = isPart(end, nonce, "start") ? stars(end) : end;
  const head = told.slice(0, told.length - end.length) + hidden + before.slice(told.length);
  const after = output.slice(gap.to);
  let begins = 0;
  while (after[begins] === "\n") begins += 1;
  const start = /^[0-9a-f]*/i.exec(after.slice(begins, begins + nonce.length))?.[0] ?? "";
  const covered = isPart(start, nonce, "end") ? stars(start) : start;
  const tail = after.slice(0, begins) + covered + after.slice(begins + start.length);
  return { ...clean, output: head + output.slice(gap.from, gap.to) + tail };
}

export function redactNonce(text: string, nonce: string): string {
  return text.replaceAll(new RegExp(nonce, "gi"), stars);
}

const stars = (text: string) => "*".repeat(text.length);

/** Whether the digits before a cut end with a start of the nonce, or the digits after it start with an end of the nonce. */
function isPart(digits: string, nonce: string, part: "start" | "end"): boolean {
  const text = digits.toLowerCase();
  for (let length = Math.min(nonce.length, text.length); length >= TELLING; length -= 1) {
    if (part === "start" ? text.endsWith(nonce.slice(0, length)) : text.startsWith(nonce.slice(-length))) return true;
  }
  return false;
}
