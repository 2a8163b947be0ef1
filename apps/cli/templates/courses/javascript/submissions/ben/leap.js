export function isLeap(y) {
  if (typeof y !== "number" || y < 1 || y % 1 !== 0) throw new RangeError("y");
  return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
}
