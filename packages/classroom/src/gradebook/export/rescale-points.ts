/**
 * Rescales points of the rubric to the maximum of a platform. Pure.
 *
 * R1  Points are never rescaled to or from a maximum of 0 or an invalid maximum: that is an error, never a zero.
 */
import { roundPoints, scalePoints } from "@markmill/grading";

/** Reads a number in the platforms' form, with a point or a comma. null: not a number. */
export function readMaximum(text: string): number | null {
  const plain = text.trim().replace(",", ".");
  return /^\d{1,9}(?:\.\d{1,6})?$/.test(plain) ? Number(plain) : null;
}

/** Whether the rubric's maximum and the platform's are the same number of points. */
export function isSameMaximum(one: number, other: number): boolean {
  return roundPoints(one) === roundPoints(other);
}

/**
 * Rescales points with the maximum `from` to the maximum `to`, with two decimals and never above `to`. Throws if a maximum is not above 0
 * (R1).
 */
export function rescalePoints(points: number, from: number, to: number): string {
  if (!(from > 0 && to > 0)) throw new RangeError("points can be rescaled only between maxima above 0");
  const value = scalePoints(points, to, from, 2);
  return points <= from && value > to ? String(to) : String(value);
}
