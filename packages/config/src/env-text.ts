/** Decodes the text of a `.env` file. Editors on Windows write a byte order mark, or UTF-16. */
export type EnvText = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly why: string };

const utf16 = "is in UTF-16; save it as UTF-8";

export function decodeEnvText(bytes: Uint8Array): EnvText {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return { ok: false, why: utf16 };
  // UTF-16 without a mark has a zero beside every letter; text in UTF-8 has none.
  const zero = bytes.indexOf(0);
  if (zero === 0 || zero === 1) return { ok: false, why: utf16 };
  if (zero !== -1) return { ok: false, why: `is not text: byte ${zero + 1} is zero` };
  // The decoder removes the mark at the beginning.
  return { ok: true, text: new TextDecoder().decode(bytes) };
}
