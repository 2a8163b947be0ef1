/** Amounts as people write and read them. Parsing: null means that it is no such amount. */

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `10m`, `1h30m`, `500ms`; a bare number is seconds. */
export function parseDuration(text: string): number | null {
  const trimmed = text.trim().toLowerCase();
  if (/^\d{1,9}$/.test(trimmed)) return Number(trimmed) * 1_000;
  if (!/^(?:\d{1,9}(?:ms|[smhd])\s?){1,5}$/.test(trimmed)) return null;
  let total = 0;
  for (const [, count, unit = ""] of trimmed.matchAll(/(\d+)(ms|[smhd])/g)) total += Number(count) * (units[unit] ?? 0);
  return total;
}

/** US dollars, `0.50` or `$0.50`, in nanodollars. */
export function parseDollars(text: string): number | null {
  const found = /^\$?\s?(\d{1,7})(?:\.(\d{1,9}))?$/.exec(text.trim());
  return found === null ? null : Number(found[1]) * 1e9 + Number((found[2] ?? "").padEnd(9, "0"));
}

export function parseCount(text: string): number | null {
  const plain = text.trim().replaceAll(/[_,]/g, "");
  return /^\d{1,15}$/.test(plain) ? Number(plain) : null;
}

/** Small sums keep their digits: a call often costs a fraction of a cent. */
export function formatDollars(nanodollars: number): string {
  const dollars = nanodollars / 1e9;
  return `$${dollars.toFixed(dollars === 0 || dollars >= 1 ? 2 : dollars >= 0.001 ? 4 : 6)}`;
}

/** `1 step`, `1,204 steps`. */
export function countOf(count: number, word: string): string {
  return `${formatCount(count)} ${word}${count === 1 ? "" : "s"}`;
}

export function formatCount(count: number): string {
  return String(count).replaceAll(/\B(?=(\d{3})+$)/g, ",");
}

/** `0.4 s`, `12 s`, `3 m 05 s`, `2 h 10 m`. */
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
