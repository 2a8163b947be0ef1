// Where the judge's command leaves what its tests came to, and what keeps others from it. Pure but for the drawing.
//
// The name of the file is drawn, so that nothing a guest leaves and the judge saves into its scratch can be taken for it. The nonce is
// drawn for one command and handed over in its shell's environment: never in arguments, in a session's files or labels, or in a row.

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

/** Beginnings and ends of the nonce that are no accident. */
const TELLING = 8;

/** The outcome without the nonce, as long as before, so that places in the output stay right. What a cut left of it is gone too. */
export function redact(outcome: CommandOutcome, nonce: string): CommandOutcome {
  const { environment, ...state } = outcome.state;
  const { MARKMILL_NONCE: _, ...kept } = environment;
  const clean = { ...outcome, state: { ...state, environment: kept, shell: redactNonce(state.shell, nonce) } };
  const { gap } = outcome;
  const output = redactNonce(outcome.output, nonce);
  if (gap === undefined) return { ...clean, output };
  const before = output.slice(0, gap.from);
  const told = trimLastNewlines(before);
  // A part of the nonce is no longer than the nonce.
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

/** Whether the digits before a cut end with a beginning of the nonce, or those after it begin with an end of it. */
function isPart(digits: string, nonce: string, part: "start" | "end"): boolean {
  const text = digits.toLowerCase();
  for (let length = Math.min(nonce.length, text.length); length >= TELLING; length -= 1) {
    if (part === "start" ? text.endsWith(nonce.slice(0, length)) : text.startsWith(nonce.slice(-length))) return true;
  }
  return false;
}
