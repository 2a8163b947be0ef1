// Every fourth year has a day more.
export function isLeap(year) {
  if (!Number.isInteger(year) || year < 1) throw new RangeError("a whole number, please");
  return year % 4 === 0;
}
