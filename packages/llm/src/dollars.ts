// Everywhere in the code, money is an integer count of nanodollars (1e-9 USD): sums are exact, and 9 million dollars still fit a JavaScript
// integer. Only files that users write and text that users read use dollars.

const NANODOLLARS_PER_DOLLAR = 1_000_000_000;

/** Rounds up, so that a price or a cost is never counted too low. */
export function nanodollars(dollars: number): number {
  // Uses the decimal text, which the user wrote, not the binary value: a float error such as 0.1 + 1e-17 must not round up.
  return Math.ceil(Number((dollars * NANODOLLARS_PER_DOLLAR).toPrecision(15)));
}

/** Formats an amount like `$0.0123`: at least two decimals, and no more digits than the amount has. */
export function formatDollars(amount: number): string {
  const sign = amount < 0 ? "-" : "";
  const digits = Math.abs(amount).toString().padStart(10, "0");
  const fraction = digits.slice(-9).replace(/0{1,7}$/, "");
  return `${sign}$${digits.slice(0, -9)}.${fraction}`;
}
