/** A time in UTC, for a column. */
export function stamp(time: Date): string {
  return time.toISOString().slice(0, 19).replace("T", " ");
}
