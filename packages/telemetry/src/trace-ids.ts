/**
 * Where a run's trace is: nowhere. Its ids follow from what every process knows anyway, so that no column, no queue job and no header
 * carries them, and a process that was killed has lost nothing that the next one needs.
 *
 * The trace is the root run's id, a UUID: 128 bits, of which the last 62 are drawn. The span of a run follows from its id; the span of an
 * activity from its id and claim, or its attempt where it is not claimed, so that another try is another span and names the one before it.
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

/** The span of the try before this one; null: this is the first. */
export function earlierSpanId({ id, claim, attempt }: TriedActivity): string | null {
  if (claim > 0) return claim === 1 ? null : activitySpanId({ id, claim: claim - 1, attempt });
  return attempt <= 1 ? null : activitySpanId({ id, claim, attempt: attempt - 1 });
}

function hashed(what: string, of: string, digits: number): string {
  const hex = createHash("sha256").update(`${what} ${of}`).digest("hex").slice(0, digits);
  // An id of zeros is none.
  return /^0+$/.test(hex) ? `${hex.slice(1)}1` : hex;
}
