/**
 * Measures how far two graders agree on one criterion. It also reports leniency: correlation alone does not show that one grader always
 * gives two points more.
 *
 * The functions are pure. Differences and their means are exact points. The two coefficients are ratios of floats.
 */
import { meanPoints, subtractPoints } from "./points.ts";

export interface MarkPair {
  readonly human: number;
  readonly ai: number;
}

export interface Agreement {
  readonly pairs: number;
  /** A share from 0 to 1. */
  readonly exact: number;
  readonly withinOneStep: number;
  /** The mean absolute error, in points. */
  readonly mae: number;
  /** Pearson's correlation coefficient. null: there are fewer than three pairs, or one grader gives the same mark everywhere. */
  readonly correlation: number | null;
  /** ICC(3,1): two-way mixed, consistency, single rater. null under the same conditions as `correlation`. */
  readonly icc: number | null;
  /** Mean of the model's mark minus the person's mark. Above zero: the model is more generous. */
  readonly leniency: number;
}

/** Returns null if there are no pairs. `step` is the distance between two neighbouring marks. */
export function agreement(pairs: readonly MarkPair[], step: number): Agreement | null {
  const count = pairs.length;
  if (count === 0) return null;
  const differences = pairs.map(({ human, ai }) => subtractPoints(ai, human));
  const share = (test: (difference: number) => boolean) => differences.filter(test).length / count;
  return {
    pairs: count,
    exact: share((one) => one === 0),
    withinOneStep: share((one) => Math.abs(one) <= step),
    mae: meanPoints(differences.map(Math.abs)),
    correlation: correlation(pairs),
    icc: icc(pairs),
    leniency: meanPoints(differences),
  };
}

function correlation(pairs: readonly MarkPair[]): number | null {
  if (pairs.length < 3) return null;
  const [human, ai] = [mean(pairs.map((one) => one.human)), mean(pairs.map((one) => one.ai))];
  let [both, left, right] = [0, 0, 0];
  for (const one of pairs) {
    both += (one.human - human) * (one.ai - ai);
    left += (one.human - human) ** 2;
    right += (one.ai - ai) ** 2;
  }
  return left < 1e-12 || right < 1e-12 ? null : both / Math.sqrt(left * right);
}

/** Computed from the mean squares of the submissions (rows) and of the residual after submissions and raters (columns). */
function icc(pairs: readonly MarkPair[]): number | null {
  const count = pairs.length;
  if (count < 3) return null;
  const all = mean(pairs.flatMap(({ human, ai }) => [human, ai]));
  const raters = [mean(pairs.map((one) => one.human)), mean(pairs.map((one) => one.ai))];
  let [rows, total] = [0, 0];
  for (const { human, ai } of pairs) {
    rows += 2 * ((human + ai) / 2 - all) ** 2;
    total += (human - all) ** 2 + (ai - all) ** 2;
  }
  const columns = count * raters.reduce((sum, one) => sum + (one - all) ** 2, 0);
  const betweenWorks = rows / (count - 1);
  const left = Math.max(0, total - rows - columns) / (count - 1);
  return betweenWorks + left < 1e-12 ? null : (betweenWorks - left) / (betweenWorks + left);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, one) => sum + one, 0) / values.length;
}
