/**
 * Reads amounts as people write them. The parsers return null for text that is not such an amount, and do not check its size. `readAmount`
 * checks the size, so that a program contains only numbers that can be written back as text.
 */
const durations: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const sizes: Readonly<Record<string, number>> = { b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 };

/** Ten years: a longer time is a typing mistake. */
const LONGEST_MS = 10 * 365 * 86_400_000;
/** Nine million dollars: the largest round amount whose nanodollars are a safe integer. */
const MOST_NANODOLLARS = 9_000_000 * 1e9;

export interface Amount {
  readonly parse: (text: string) => number | null;
  readonly like: string;
  readonly most: number;
  readonly mostInWords: string;
}

export const duration: Amount = {
  parse: parseDuration,
  like: "10m, 90s or 1h30m",
  most: LONGEST_MS,
  mostInWords: "10 years (3650d)",
};
export const size: Amount = {
  parse: parseSize,
  like: "512m, 1g or a number of bytes",
  most: Number.MAX_SAFE_INTEGER,
  mostInWords: "8191t",
};
export const money: Amount = {
  parse: parseMoney,
  like: "0.50 or $0.50",
  most: MOST_NANODOLLARS,
  mostInWords: "$9000000",
};

export function readAmount(
  amount: Amount,
  text: string,
): { readonly ok: true; readonly value: number } | { readonly ok: false; readonly problem: string } {
  const value = amount.parse(text);
  if (value === null) return { ok: false, problem: `expected something like ${amount.like}` };
  if (value > amount.most) return { ok: false, problem: `expected at most ${amount.mostInWords}` };
  return { ok: true, value };
}

/** `10m`, `1h30m`, `500ms`. A number without a unit is in seconds. */
export function parseDuration(text: string): number | null {
  const trimmed = text.trim().toLowerCase();
  if (/^\d+(?:\.\d{1,3})?$/.test(trimmed)) return Math.round(Number(trimmed) * 1000);
  if (!/^(?:\d+(?:ms|[smhd])\s?){1,5}$/.test(trimmed)) return null;
  let total = 0;
  for (const [, count, unit = ""] of trimmed.matchAll(/(?<!\d)(\d+)(ms|[smhd])/g))
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

/** `512m`, `1g`, `64k`, `2gb`, `1GiB` in powers of 1024. A number without a unit is in bytes. */
export function parseSize(text: string): number | null {
  const found = /^(\d+)\s?([bkmgt]?)(?:i?b)?$/.exec(text.trim().toLowerCase());
  if (found === null) return null;
  return Number(found[1]) * (sizes[found[2] === "" ? "b" : (found[2] ?? "b")] ?? 1);
}

/** US dollars, `0.50` or `$0.50`, to integer nanodollars. */
export function parseMoney(text: string): number | null {
  const found = /^\$?\s?(\d+)(?:\.(\d{1,9}))?$/.exec(text.trim());
  return found === null ? null : Number(found[1]) * 1e9 + Number((found[2] ?? "").padEnd(9, "0"));
}

export function formatMoney(nanodollars: number): string {
  const fraction = String(nanodollars % 1e9)
    .padStart(9, "0")
    .replace(/(?<!0)0+$/, "");
  return `$${Math.floor(nanodollars / 1e9)}${fraction === "" ? "" : `.${fraction}`}`;
}
