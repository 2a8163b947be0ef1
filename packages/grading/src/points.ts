// Points are decimals with at most three places, and sums are what a person gets with a pencil: 0.1 + 0.2 is 0.3.

export function sumPoints(points: Iterable<number>): number {
  let sum = 0;
  for (const one of points) sum += Math.round(one * 1000);
  return sum / 1000;
}

/** What criteria come to together: deductions take from it, and never below nothing. null: one of them has no points. */
export function sumCriteria(
  criteria: readonly ({ readonly is: "scored"; readonly points: number } | { readonly is: "not graded" })[],
): number | null {
  const points = criteria.flatMap((one) => (one.is === "scored" ? [one.points] : []));
  return points.length < criteria.length ? null : Math.max(0, sumPoints(points));
}

/** Between nothing and all of a criterion, which is below nothing for a deduction. */
export function clampPoints(points: number, { points: most }: { readonly points: number }): number {
  return roundPoints(Math.min(Math.max(points, Math.min(0, most)), Math.max(0, most)));
}

export function roundPoints(points: number): number {
  return Math.round(points * 1000) / 1000 || 0;
}

/** Towards zero, to a multiple of the step: nobody gets or loses a point by rounding. */
export function floorToStep(points: number, step: number): number {
  const unit = Math.round(step * 1000);
  const steps = Math.floor(Math.abs(points * 1000) / unit + 1e-9);
  return roundPoints((Math.sign(points) * steps * unit) / 1000);
}

/** null: not a number of points. */
export function readPoints(text: string): number | null {
  const plain = text.trim().replace("\u2212", "-").replace(",", ".");
  if (!/^[+-]?\d{1,6}(?:\.\d{1,3})?$/.test(plain)) return null;
  return roundPoints(Number(plain));
}
