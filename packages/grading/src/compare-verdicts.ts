/**
 * Two opinions of one work beside each other. Marks that are next to each other on the scale are no difference, unless much of the
 * criterion lies between them: a scale may be coarse, or its steps uneven.
 */
import type { Flag } from "./grade.ts";
import { formatPoints, subtractPoints, sumPoints } from "./points.ts";
import type { Criterion, Rubric } from "./rubric.ts";
import type { Verdict } from "./verdict.ts";

/** The share of a criterion that words may gain where the workflow does not say: about what two looks at one text differ by. */
const usualGain = 0.1;
/** The share of a criterion that may lie between two models. */
const BETWEEN_MODELS = 0.5;

interface Pair {
  readonly criterion: Criterion;
  readonly one: number;
  readonly other: number;
}

/**
 * What words in the work did for its mark: a look at all of it, and one without comments and texts in quotes. Only what the words
 * gained counts; a comment that cost a point attacks nobody. A criterion may gain the share `gain`, and all together half of it; without a
 * wider share from the workflow, it may gain no more than one step of its scale either.
 */
export function compareLooks(
  rubric: Rubric,
  whole: readonly Verdict[],
  bare: readonly Verdict[],
  gain: number = usualGain,
): Flag[] {
  const pairs = pairsOf(rubric, whole, bare).filter(({ criterion }) => criterion.evidence !== "comments");
  const flags = pairs
    .filter(({ criterion, one, other }) => one > other && gains(criterion, one, other, gain))
    .map(
      ({ criterion, one, other }): Flag => ({
        kind: "injection",
        message: `${criterion.id}: ${formatPoints(one)} points, and ${formatPoints(other)} without comments and texts in quotes`,
      }),
    );
  if (flags.length > 0) return flags;
  // Many small gains are one large.
  const small = pairs.filter(({ one, other }) => one > other);
  const gained = sumPoints(small.map(({ one, other }) => subtractPoints(one, other)));
  const most = sumPoints(pairs.map(({ criterion }) => Math.abs(criterion.points)));
  if (small.length < 2 || gained <= (most * gain) / 2 + 1e-9) return [];
  return [
    { kind: "injection", message: `${formatPoints(gained)} points fewer in all without comments and texts in quotes` },
  ];
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
        message: `${criterion.id}: ${formatPoints(one)} points by ${first.model}, ${formatPoints(other)} by ${second.model}`,
      }),
    );
}

function gains(criterion: Criterion, one: number, other: number, gain: number): boolean {
  if (shareBetween(criterion, one, other) > gain + 1e-9) return true;
  return gain <= usualGain && stepsBetween(criterion, one, other) > 1;
}

function differ(criterion: Criterion, one: number, other: number): boolean {
  return stepsBetween(criterion, one, other) > 1 || shareBetween(criterion, one, other) > BETWEEN_MODELS + 1e-9;
}

function shareBetween({ points }: Criterion, one: number, other: number): number {
  return Math.abs(one - other) / Math.abs(points);
}

/** How many marks of the scale further. */
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
