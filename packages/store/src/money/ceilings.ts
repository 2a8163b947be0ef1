/** The operator's limits for every run, whatever its workflow and its request set. Each run gets them with its first event. */
import { type Bounds, defaultBounds, type Limits } from "@markmill/engine";

export interface Ceilings extends Bounds {
  /** Activities of a run. */
  readonly steps: number;
  /** Depth of calls below a root run. */
  readonly depth: number;
  /** Runs of one tree, including the root. */
  readonly runsPerRoot: number;
  /** Bytes of the blobs that a new run names: its submission, a script. */
  readonly blobBytes: number;
}

export const defaultCeilings: Ceilings = {
  ...defaultBounds,
  steps: 100_000,
  depth: 50,
  runsPerRoot: 2_000,
  blobBytes: 1024 * 1024 * 1024,
};

export function capsWithin(caps: Partial<Limits>, { steps, depth }: Ceilings): Partial<Limits> {
  const least = (wanted: number | null | undefined, ceiling: number) => Math.min(wanted ?? ceiling, ceiling);
  return { ...caps, steps: least(caps.steps, steps), depth: least(caps.depth, depth) };
}

export function boundsOf({ valueCharacters, stateCharacters }: Ceilings): Bounds {
  return { valueCharacters, stateCharacters };
}

/**
 * For a run that continues from another one. Limits that are not changed stay as they were, and were within the ceilings when the other run
 * began.
 */
export function changedCapsWithin(caps: Partial<Limits>, ceilings: Ceilings): Partial<Limits> {
  const { steps, depth } = capsWithin(caps, ceilings);
  return {
    ...caps,
    ...(caps.steps === undefined || steps === undefined ? {} : { steps }),
    ...(caps.depth === undefined || depth === undefined ? {} : { depth }),
  };
}
