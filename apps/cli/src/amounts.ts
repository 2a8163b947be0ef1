/** Formats amounts for people. packages/definition and packages/stack read the amounts that people write. */

/** Small sums keep their digits: a call often costs a fraction of a cent. */
export function formatDollars(nanodollars: number): string {
  const dollars = nanodollars / 1e9;
  return `$${dollars.toFixed(dollars === 0 || dollars >= 1 ? 2 : dollars >= 0.001 ? 4 : 6)}`;
}

/** Examples: `1 step`, `1,204 steps`. */
export function countOf(count: number, word: string): string {
  return `${formatCount(count)} ${word}${count === 1 ? "" : "s"}`;
}

export function formatCount(count: number): string {
  return String(count).replaceAll(/\B(?=(\d{3})+$)/g, ",");
}

/** Examples: `0.4 s`, `12 s`, `3 m 05 s`, `2 h 10 m`. */
export function formatElapsed(ms: number): string {
  if (ms < 9_950) return `${(Math.max(0, ms) / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} m ${String(seconds % 60).padStart(2, "0")} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} m`;
}

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  if (bytes < 1024 ** 2) return `${(bytes / 1024).toFixed(1)} KiB`;
  if (bytes < 1024 ** 3) return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
  return `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
}
