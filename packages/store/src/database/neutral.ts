/**
 * Cleans text for Postgres, which has no NUL in text and no lone surrogate in UTF-8. One of them would fail a whole group commit. So text
 * from models, commands and students is cleaned when it enters the store: both become U+FFFD. Well-formed text stays unchanged.
 */
const hostile = /\0|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** JSON.stringify writes exactly NUL and lone surrogates as these escapes. A false match only costs time. */
const suspicious = /\\u(0000|d[89a-f])/;

export function neutralText(text: string): string {
  return text.isWellFormed() && !text.includes("\0") ? text : text.replace(hostile, "\ufffd");
}

export function neutral<T>(value: T): T {
  return suspicious.test(JSON.stringify(value) ?? "") ? (walk(value) as T) : value;
}

/** The storable value, and its JSON. */
export function neutralJson<T>(value: T): { readonly value: T; readonly json: string } {
  const json = JSON.stringify(value);
  if (!suspicious.test(json)) return { value, json };
  const clean = walk(value) as T;
  return { value: clean, json: JSON.stringify(clean) };
}

/** JSON that Postgres accepts. */
export function toJson(value: unknown): string {
  const text = JSON.stringify(value);
  return suspicious.test(text) ? JSON.stringify(walk(value)) : text;
}

function walk(value: unknown): unknown {
  if (typeof value === "string") return neutralText(value);
  if (Array.isArray(value)) return value.map(walk);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [neutralText(key), walk(inner)]));
}
