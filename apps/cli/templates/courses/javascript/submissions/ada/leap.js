// A year is 365.2425 days long: one day more every 4 years is a little too much, so three days in 400 years are left out again.
export function isLeap(year) {
  if (!Number.isInteger(year) || year < 1) throw new RangeError(`no year: ${year}`);
  if (year % 400 === 0) return true;
  if (year % 100 === 0) return false;
  return year % 4 === 0;
}
