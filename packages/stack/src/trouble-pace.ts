/**
 * Decides how often one trouble is logged. Without I/O and without its own clock.
 *
 * T1  A trouble begins with its first sighting. One line reports it.
 * T2  While it occurs again, one line a minute reports since when and how often. All other sightings are counted but not logged.
 * T3  It has ended when it was not seen for `quietMs`. One line reports how long it lasted and how many sightings were not logged.
 * T4  A trouble that returns is reported as new up to `burst` times at once, and once a minute after that. An intermittent trouble costs
 *     two lines a minute. The next line reports the sightings that were not logged.
 */

export interface TroublePace {
  /** At most one line in this time while a trouble lasts. */
  readonly minuteMs: number;
  /** After this time without a sighting, the trouble has ended. */
  readonly quietMs: number;
  /** See T4 in the file header. */
  readonly burst: number;
}

/** A server that hangs causes an error every 15 s, when requests to it time out. */
export const usualPace: TroublePace = { minuteMs: 60_000, quietMs: 20_000, burst: 3 };

/** What is known of one trouble since its first sighting. Times are those of the caller's clock. */
export interface Course {
  readonly open: boolean;
  readonly since: number;
  readonly lastSeen: number;
  readonly times: number;
  /** Sightings since the last line that were not logged. */
  readonly heldBack: number;
  /** The time when its last line was written. */
  readonly toldAt: number;
  /** Whether its current beginning was logged. */
  readonly told: boolean;
  /** How many beginnings may still be logged (T4), and when that was counted. */
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

/** Handles a sighting. `known` null: it is the first. */
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

/** Handles the passing of time. `course` null: the trouble can be forgotten. */
export function afterQuiet(
  known: Course,
  now: number,
  { minuteMs, quietMs, burst }: TroublePace,
): { readonly course: Course | null; readonly line: Line | null } {
  if (!known.open) return { course: now - known.lastSeen >= minuteMs * burst ? null : known, line: null };
  if (now - known.lastSeen < quietMs) return { course: known, line: null };
  // T4: an end is logged only if the beginning was logged.
  if (!known.told) return { course: { ...known, open: false }, line: null };
  const { since, lastSeen, times, heldBack } = known;
  return {
    course: { ...known, open: false, heldBack: 0, toldAt: now },
    line: { is: "ended", lastedMs: lastSeen - since, times, heldBack },
  };
}
