import { parsePattern } from "@markmill/engine";

/** What the engine's regular expressions refuse in a source, or null. */
export function checkPattern(source: string): { readonly message: string; readonly offset: number } | null {
  const parsed = parsePattern(source);
  return parsed.ok ? null : { message: parsed.message, offset: parsed.offset };
}
