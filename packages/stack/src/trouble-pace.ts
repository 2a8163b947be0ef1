/**
 * How often one trouble is told. The decisions, without I/O and without a clock of their own.
 *
 * T1  A trouble begins with its first sighting. One line tells that.
 * T2  While it is seen again, one line a minute says since when and how often. All other sightings are held back and counted.
 * T3  It has ended when it was not seen for `quietMs`. One line tells how long it lasted and how many sightings were held back.
 * T4  A trouble that comes again is told to begin again, up to `burst` times at once and once a minute after that. One that flickers costs two
 *     lines a minute; what is held back is told by the next line.
 */

export interface TroublePace {
  /** At most one line in this time while a trouble lasts. */
  readonly minuteMs: number;
  /** Without a sighting for so long it has ended. */
  readonly quietMs: number;
  /** T4. */
  readonly burst: number;
}

/** A server that hangs is met every 15 s, when questions to it are given up. */
export const usualPace: TroublePace = { minuteMs: 60_000, quietMs: 20_000, burst: 3 };

/** One trouble: what is known of it since it was first seen. Times are those of the caller's clock. */
export interface Course {
  readonly open: boolean;
  readonly since: number;
  readonly lastSeen: number;
  readonly times: number;
  /** Sightings that had no line of their own since the last line. */
  readonly heldBack: number;
  /** When its last line was written. */
  readonly toldAt: number;
  /** This time its beginning was told. */
  readonly told: boolean;
  /** So many beginnings may be told (T4), and when that was counted. */
  readonly left: number;
  readonly leftAt: number;
}

export type Line =
  | { readonly is: "began" }
  | { readonly is: "lasts"; readonly since: number; readonly times: number; readonly heldBack: number }
  | { readonly is: "ended"; readonly lastedMs: number; readonly times: number; readonly heldBack: number };

interface Next {
  readonly course: Course;
  readonly line: Line | null;
}

/** It was seen. `known`, null: for the first time. */
export function afterSighting(known: Course | null, now: number, { minuteMs, burst }: TroublePace): Next {
  if (known === null || !known.open) {
    const left = known === null ? burst : Math.min(burst, known.left + (now - known.leftAt) / minuteMs);
    const begun = { open: true, since: now, lastSeen: now, times: 1, leftAt: now };
    if (known === null || left >= 1)
      return { course: { ...begun, heldBack: 0, toldAt: now, told: true, left: left - 1 }, line: { is: "began" } };
    return { course: { ...known, ...begun, heldBack: known.heldBack + 1, told: false, left }, line: null };
  }
  const due = now - known.toldAt >= minuteMs;
  const seen = { ...known, lastSeen: now, times: known.times + 1, heldBack: known.heldBack + 1 };
  if (!due) return { course: seen, line: null };
  const { since, times, heldBack } = seen;
  return {
    course: { ...seen, heldBack: 0, toldAt: now, told: true },
    line: { is: "lasts", since, times, heldBack: heldBack - 1 },
  };
}

/** Time has passed. `course`, null: nothing of it is worth remembering. */
export function afterQuiet(
  known: Course,
  now: number,
  { minuteMs, quietMs, burst }: TroublePace,
): { readonly course: Course | null; readonly line: Line | null } {
  if (!known.open) return { course: now - known.lastSeen >= minuteMs * burst ? null : known, line: null };
  if (now - known.lastSeen < quietMs) return { course: known, line: null };
  // T4: what was not told to begin is not told to end.
  if (!known.told) return { course: { ...known, open: false }, line: null };
  const { since, lastSeen, times, heldBack } = known;
  return {
    course: { ...known, open: false, heldBack: 0, toldAt: now },
    line: { is: "ended", lastedMs: lastSeen - since, times, heldBack },
  };
}
