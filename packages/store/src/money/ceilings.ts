/** What no run may go beyond, whatever its workflow and its request say: the operator's word. Given to every run with its first event. */
import { type Bounds, defaultBounds, type Limits } from "@markmill/engine";

export interface Ceilings extends Bounds {
  /** Activities of a run. */
  readonly steps: number;
  /** Runs below a root run, one calling the next. */
  readonly depth: number;
  /** Runs of one tree, the root included. */
  readonly runsPerRoot: number;
  /** Bytes of the blobs that a run names when it is made: its submission, a script. */
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

/** Of a run that goes on from another one: what it is not told stays as it was, and was within the ceilings when that one began. */
export function changedCapsWithin(caps: Partial<Limits>, ceilings: Ceilings): Partial<Limits> {
  const { steps, depth } = capsWithin(caps, ceilings);
  return {
    ...caps,
    ...(caps.steps === undefined || steps === undefined ? {} : { steps }),
    ...(caps.depth === undefined || depth === undefined ? {} : { depth }),
  };
}
