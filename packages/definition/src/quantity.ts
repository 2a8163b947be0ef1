/** Amounts as people write them. null: not such an amount. */

const durations: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const sizes: Readonly<Record<string, number>> = { b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 };

/** `10m`, `1h30m`, `500ms`; a bare number is seconds. */
export function parseDuration(text: string): number | null {
  const trimmed = text.trim().toLowerCase();
  if (/^\d{1,9}(?:\.\d{1,3})?$/.test(trimmed)) return Math.round(Number(trimmed) * 1000);
  if (!/^(?:\d{1,12}(?:ms|[smhd])\s?){1,5}$/.test(trimmed)) return null;
  let total = 0;
  for (const [, count, unit = ""] of trimmed.matchAll(/(\d+)(ms|[smhd])/g))
    total += Number(count) * (durations[unit] ?? 0);
  return total;
}

export function formatDuration(milliseconds: number): string {
  for (const unit of ["h", "m", "s"]) {
    const size = durations[unit] ?? 1;
    if (milliseconds >= size && milliseconds % size === 0) return `${milliseconds / size}${unit}`;
  }
  return `${milliseconds}ms`;
}

/** `512m`, `1g`, `64k`, `2gb`, `1GiB` in powers of 1024; a bare number is bytes. */
export function parseSize(text: string): number | null {
  const found = /^(\d{1,15})\s?([bkmgt]?)(?:i?b)?$/.exec(text.trim().toLowerCase());
  if (found === null) return null;
  const bytes = Number(found[1]) * (sizes[found[2] === "" ? "b" : (found[2] ?? "b")] ?? 1);
  return Number.isSafeInteger(bytes) ? bytes : null;
}

/** US dollars, `0.50` or `$0.50`, to integer nanodollars. */
export function parseMoney(text: string): number | null {
  const found = /^\$?\s?(\d{1,7})(?:\.(\d{1,9}))?$/.exec(text.trim());
  return found === null ? null : Number(found[1]) * 1e9 + Number((found[2] ?? "").padEnd(9, "0"));
}

export function formatMoney(nanodollars: number): string {
  const fraction = String(nanodollars % 1e9)
    .padStart(9, "0")
    .replace(/0+$/, "");
  return `$${Math.floor(nanodollars / 1e9)}${fraction === "" ? "" : `.${fraction}`}`;
}
