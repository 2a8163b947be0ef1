// Money is an integer count of nanodollars (1e-9 USD) everywhere in the code: sums are exact and 9 million dollars still fit
// a JavaScript integer. Only files the user writes and lines the user reads speak dollars.

const NANODOLLARS_PER_DOLLAR = 1_000_000_000;

/** Rounds up, so a price or a cost is never taken for less than it is. */
export function nanodollars(dollars: number): number {
  // The decimal text, not the binary value, is what the user wrote: 0.1 + 1e-17 of float error must not round up.
  return Math.ceil(Number((dollars * NANODOLLARS_PER_DOLLAR).toPrecision(15)));
}

/** `$0.0123`: at least cents, at most as many digits as the amount has. */
export function formatDollars(amount: number): string {
  const sign = amount < 0 ? "-" : "";
  const digits = Math.abs(amount).toString().padStart(10, "0");
  const fraction = digits.slice(-9).replace(/0{1,7}$/, "");
  return `${sign}$${digits.slice(0, -9)}.${fraction}`;
}
