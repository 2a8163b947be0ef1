/**
 * Exact arithmetic with points. Points are decimals with at most three places.
 *
 * P1  The unit is one thousandth of a point. Sums and differences are sums of whole units: 1.1 + 2.2 is 3.3.
 * P2  A number stands for its written decimal: 0.1 is one tenth, not the nearest binary fraction.
 * P3  Shares and percentages are exact fractions until one rounding at the end, half away from zero.
 * P4  Points from a person or a file with more than three places are refused (readPoints). Points from a model or a test are rounded.
 * P5  A value that is not a finite number of points is a bug of the caller and throws. It never becomes 0.
 */

const PLACES = 3;
const UNITS = 1_000;
/**
 * Reached points are rounded to this fraction of a point before they are rounded down to a step. So a share of 0.333333333 counts as a
 * third.
 */
const REACHED = 1_000_000n;

interface Ratio {
  readonly top: bigint;
  /** The denominator is above zero. */
  readonly bottom: bigint;
}

/** See P2 in the file header. */
function ratioOf(value: number): Ratio {
  const [, sign = "", whole = "", fraction = "", power = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value)) ?? [];
  if (whole === "") throw new RangeError(`${value} is not a number of points`);
  const digits = BigInt(`${sign}${whole}${fraction}`);
  const shift = Number(power) - fraction.length;
  return shift >= 0
    ? { top: digits * 10n ** BigInt(shift), bottom: 1n }
    : { top: digits, bottom: 10n ** BigInt(-shift) };
}

const times = (one: Ratio, other: Ratio): Ratio => ({ top: one.top * other.top, bottom: one.bottom * other.bottom });

function over(one: Ratio, other: Ratio): Ratio {
  if (other.top === 0n) throw new RangeError("there is no share of 0 points");
  const sign = other.top < 0n ? -1n : 1n;
  return { top: one.top * other.bottom * sign, bottom: one.bottom * other.top * sign };
}

const plus = (one: Ratio, other: Ratio): Ratio => ({
  top: one.top * other.bottom + other.top * one.bottom,
  bottom: one.bottom * other.bottom,
});

/** P3: rounds to a multiple of 1/parts. */
function roundRatio({ top, bottom }: Ratio, parts: bigint): bigint {
  const magnitude = top < 0n ? -top : top;
  const rounded = (2n * magnitude * parts + bottom) / (2n * bottom);
  return top < 0n ? -rounded : rounded;
}

function unitsOf(points: number): number {
  if (!Number.isFinite(points)) throw new RangeError(`${points} is not a number of points`);
  const units = Math.round(points * UNITS);
  // The common case avoids big integers: the points have at most three places.
  return units / UNITS === points ? units : Number(roundRatio(ratioOf(points), BigInt(UNITS)));
}

/** Never returns -0. */
const pointsOf = (units: number): number => units / UNITS || 0;

export function roundPoints(points: number): number {
  return pointsOf(unitsOf(points));
}

export function sumPoints(points: Iterable<number>): number {
  let sum = 0;
  for (const one of points) sum += unitsOf(one);
  return pointsOf(sum);
}

/** Needs at least one value. Divides the exact sum and rounds once. */
export function meanPoints(points: readonly number[], places = 9): number {
  return scalePoints(sumPoints(points), 1, points.length, places);
}

/** Subtracts the second value from the first. */
export function subtractPoints(points: number, less: number): number {
  return pointsOf(unitsOf(points) - unitsOf(less));
}

/** Sum of the criteria. Deductions reduce it to at most 0. null: a criterion has no points yet. */
export function sumCriteria(
  criteria: readonly ({ readonly is: "scored"; readonly points: number } | { readonly is: "not graded" })[],
): number | null {
  const points = criteria.flatMap((one) => (one.is === "scored" ? [one.points] : []));
  return points.length < criteria.length ? null : Math.max(0, sumPoints(points));
}

/** Points after a penalty, never below 0. */
export function totalPoints(points: number, penalty: { readonly points: number } | null): number {
  return Math.max(0, subtractPoints(points, penalty?.points ?? 0));
}

/** Clamps to the range between 0 and the points of a criterion, which are negative for a deduction. */
export function clampPoints(points: number, { points: most }: { readonly points: number }): number {
  return roundPoints(Math.min(Math.max(points, Math.min(0, most)), Math.max(0, most)));
}

/**
 * Computes points × numerator / denominator and rounds once. A percentage is `scalePoints(points, percent, 100)`; another maximum is
 * `scalePoints(points, newMost, oldMost)`. Throws if the denominator is 0. `places` is the maximum number of decimals.
 */
export function scalePoints(points: number, numerator: number, denominator: number, places: number = PLACES): number {
  const parts = 10n ** BigInt(places);
  const scaled = over(times(ratioOf(points), ratioOf(numerator)), ratioOf(denominator));
  return Number(roundRatio(scaled, parts)) / Number(parts) || 0;
}

/** Sum of decimals of any precision, exact to twelve places. */
export function sumDecimals(values: Iterable<number>): number {
  let sum = ratioOf(0);
  for (const one of values) sum = plus(sum, ratioOf(one));
  return Number(roundRatio(sum, 10n ** 12n)) / 1e12;
}

/** The product of two decimals, exact to nine places. Example: three days at 0.1 % are 0.3 %. */
export function multiplyDecimals(one: number, other: number): number {
  return Number(roundRatio(times(ratioOf(one), ratioOf(other)), 1_000_000_000n)) / 1e9;
}

/**
 * Turns reached points into a mark: rounds them towards 0 to a multiple of the step, so that rounding never adds points. The maximum is
 * always reachable, even if the step does not divide it.
 */
export function floorToStep(points: number, step: number, most: number): number {
  return floorRatio(ratioOf(points), step, most);
}

/**
 * Like floorToStep, for a share of the points. The share is the sum of weight × share over the parts, divided by `whole`, and clamped to 0
 * to 1.
 */
export function floorShare(share: Share, step: number, most: number): number {
  return floorRatio(reachedOf(share, most), step, most);
}

/** A fraction that is not rounded yet: a sum of products divided by a whole. */
export interface Share {
  readonly parts: readonly (readonly [number, number])[];
  /** The divisor is above zero. */
  readonly whole: number;
}

function fractionOf({ parts, whole }: Share): Ratio {
  const sum = parts.reduce((all, [one, other]) => plus(all, times(ratioOf(one), ratioOf(other))), ratioOf(0));
  const fraction = over(sum, ratioOf(whole));
  if (fraction.top <= 0n) return ratioOf(0);
  return fraction.top >= fraction.bottom ? ratioOf(1) : fraction;
}

/** A deduction applies to the part that was not reached. */
function reachedOf(share: Share, most: number): Ratio {
  const fraction = fractionOf(share);
  const counted = most < 0 ? { top: fraction.bottom - fraction.top, bottom: fraction.bottom } : fraction;
  return times(counted, ratioOf(most));
}

/** Converts a share to points, rounded to three places. */
export function shareOfPoints(share: Share, most: number): number {
  return pointsOf(Number(roundRatio(reachedOf(share, most), BigInt(UNITS))));
}

/** Whether the share is 1, to nine places. */
export function isWhole(share: Share): boolean {
  return roundRatio(fractionOf(share), 1_000_000_000n) === 1_000_000_000n;
}

function floorRatio(points: Ratio, step: number, most: number): number {
  const reached = roundRatio(points, REACHED);
  const size = reached < 0n ? -reached : reached;
  const limit = BigInt(Math.abs(unitsOf(most))) * (REACHED / BigInt(UNITS));
  if (size >= limit) return reached < 0n === most < 0 ? roundPoints(most) : 0;
  const unit = unitsOf(step);
  const steps = Number(size / (BigInt(unit) * (REACHED / BigInt(UNITS))));
  return pointsOf((reached < 0n ? -1 : 1) * steps * unit);
}

/** Whether points lie within `distance` of `share` of the maximum. Both are fractions of the maximum, such as 0.5 and 0.05. */
export function isNearShare(points: number, most: number, share: number, distance: number): boolean {
  if (most === 0) return false;
  const from = over(ratioOf(points), ratioOf(most));
  const gap = plus(from, times(ratioOf(-1), ratioOf(share)));
  const limit = ratioOf(distance);
  return (gap.top < 0n ? -gap.top : gap.top) * limit.bottom <= limit.top * gap.bottom;
}

/** Whether every value in `points` is a multiple of the step. */
export function stepDivides(step: number, points: readonly number[]): boolean {
  const unit = unitsOf(step);
  return unit > 0 && points.every((one) => unitsOf(one) % unit === 0);
}

const defaultSteps = [1, 0.5, 0.25, 0.1, 0.05, 0.01, 0.005, 0.001];

/** The largest usual step that divides the points, so that full marks are a multiple of it. */
export function defaultStep(points: number): number {
  return defaultSteps.find((step) => stepDivides(step, [points])) ?? 0.001;
}

/**
 * Formats points for people and files: no binary rounding error, no zeros at the end. Gradebooks that compare two decimals use `places` 2.
 */
export function formatPoints(points: number, places: number = PLACES): string {
  return String(scalePoints(points, 1, 1, places));
}

/** Formats a percentage for people, with at most three decimals. */
export function formatPercent(percent: number): string {
  return `${formatPoints(percent)} %`;
}

/** Returns null if the text is not a number of points, or is finer than a thousandth. */
export function readPoints(text: string): number | null {
  const plain = text.trim().replace("\u2212", "-").replace(",", ".");
  if (!/^[+-]?\d{1,6}(?:\.\d{1,3})?$/.test(plain)) return null;
  return roundPoints(Number(plain));
}
