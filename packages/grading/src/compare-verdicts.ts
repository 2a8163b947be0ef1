/**
 * Compares two gradings of one submission. Two models may differ by one step of a scale, because a scale can be coarse or have uneven
 * steps. A difference that covers a large share of the criterion still counts.
 */
import type { Flag } from "./grade.ts";
import { formatPoints, subtractPoints, sumPoints } from "./points.ts";
import type { Criterion, Rubric } from "./rubric.ts";
import type { Verdict } from "./verdict.ts";

/** Two models may differ by at most this share of a criterion. */
const BETWEEN_MODELS = 0.5;

interface Pair {
  readonly criterion: Criterion;
  readonly one: number;
  readonly other: number;
}

/**
 * Compares the marks of the first pass, which sees the whole submission, with those of the second pass, which sees no comments and no texts
 * in quotes. By default every difference is a flag, because it shows that words changed the mark. More points with the words are
 * `injection`; fewer are `disagreement`. A workflow can allow a gain from words of the share `gain` for each criterion, and of half that
 * share for all criteria together. Then only gains are flagged.
 */
export function compareLooks(
  rubric: Rubric,
  whole: readonly Verdict[],
  bare: readonly Verdict[],
  gain?: number,
): Flag[] {
  const pairs = pairsOf(rubric, whole, bare).filter(({ criterion }) => criterion.evidence !== "comments");
  if (gain === undefined) return pairs.filter(({ one, other }) => one !== other).map(differenceFlag);
  const gained = pairs.filter(({ one, other }) => one > other);
  const flags = gained
    .filter(({ criterion, one, other }) => shareBetween(criterion, one, other) > gain + 1e-9)
    .map(differenceFlag);
  if (flags.length > 0) return flags;
  // Many small gains can add up to a large one.
  const points = sumPoints(gained.map(({ one, other }) => subtractPoints(one, other)));
  const most = sumPoints(pairs.map(({ criterion }) => Math.abs(criterion.points)));
  if (gained.length < 2 || points <= (most * gain) / 2 + 1e-9) return [];
  return [
    { kind: "injection", message: `${formatPoints(points)} fewer points in total without comments and quoted texts` },
  ];
}

function differenceFlag({ criterion, one, other }: Pair): Flag {
  return {
    kind: one > other ? "injection" : "disagreement",
    message: `${criterion.id}: ${formatPoints(one)} points, but ${formatPoints(other)} without comments and quoted texts`,
  };
}

export function comparePanel(
  rubric: Rubric,
  first: { readonly model: string; readonly verdicts: readonly Verdict[] },
  second: { readonly model: string; readonly verdicts: readonly Verdict[] },
): Flag[] {
  return pairsOf(rubric, first.verdicts, second.verdicts)
    .filter(({ criterion, one, other }) => differ(criterion, one, other))
    .map(
      ({ criterion, one, other }): Flag => ({
        kind: "disagreement",
        message: `${criterion.id}: ${formatPoints(one)} points by ${first.model}, but ${formatPoints(other)} by ${second.model}`,
      }),
    );
}

function differ(criterion: Criterion, one: number, other: number): boolean {
  return stepsBetween(criterion, one, other) > 1 || shareBetween(criterion, one, other) > BETWEEN_MODELS + 1e-9;
}

function shareBetween({ points }: Criterion, one: number, other: number): number {
  return Math.abs(one - other) / Math.abs(points);
}

/** The number of scale steps between two marks. */
function stepsBetween({ scale }: Criterion, one: number, other: number): number {
  switch (scale.is) {
    case "binary":
      return one === other ? 0 : 1;
    case "points":
      return Math.abs(one - other) / scale.step - 1e-6;
    case "levels": {
      const [low, high] = [Math.min(one, other), Math.max(one, other)];
      return new Set(scale.levels.map((level) => level.points).filter((mark) => mark > low && mark <= high)).size;
    }
  }
}

function pairsOf({ criteria }: Rubric, ones: readonly Verdict[], others: readonly Verdict[]): Pair[] {
  return criteria.flatMap((criterion) => {
    const one = ones.find((verdict) => verdict.criterion === criterion.id);
    const other = others.find((verdict) => verdict.criterion === criterion.id);
    return one === undefined || other === undefined ? [] : [{ criterion, one: one.points, other: other.points }];
  });
}
