/**
 * Computes the ids of a run's trace. They are stored nowhere: they follow from data that every process has. So no column, no queue job and
 * no header carries them, and after kill -9 the next process computes the same ids.
 *
 * The trace id is the root run's id, a UUID: 128 bits, of which the last 62 are random. The span id of a run follows from its id. The span
 * id of an activity follows from its id and claim (or its attempt if it is not claimed). So another attempt is another span and can name
 * the one before it.
 */
import { createHash } from "node:crypto";

export function traceIdOf(rootId: string): string {
  const hex = rootId.replaceAll("-", "").toLowerCase();
  return /^(?!0{32})[0-9a-f]{32}$/.test(hex) ? hex : hashed("trace", rootId, 32);
}

export const runSpanId = (runId: string): string => hashed("run", runId, 16);

export interface TriedActivity {
  readonly id: number;
  /** 0: it was not claimed. */
  readonly claim: number;
  readonly attempt: number;
}

export function activitySpanId({ id, claim, attempt }: TriedActivity): string {
  return hashed("activity", claim > 0 ? `${id} claim ${claim}` : `${id} attempt ${attempt}`, 16);
}

/** The span of the previous attempt; null: this is the first. */
export function earlierSpanId({ id, claim, attempt }: TriedActivity): string | null {
  if (claim > 0) return claim === 1 ? null : activitySpanId({ id, claim: claim - 1, attempt });
  return attempt <= 1 ? null : activitySpanId({ id, claim, attempt: attempt - 1 });
}

function hashed(what: string, of: string, digits: number): string {
  const hex = createHash("sha256").update(`${what} ${of}`).digest("hex").slice(0, digits);
  // An id of zeros is invalid.
  return /^0+$/.test(hex) ? `${hex.slice(1)}1` : hex;
}
