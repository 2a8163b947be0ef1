import { parsePattern } from "@markmill/engine";

/** Returns why the engine's regular expressions refuse a source, or null. */
export function checkPattern(source: string): { readonly message: string; readonly offset: number } | null {
  const parsed = parsePattern(source);
  return parsed.ok ? null : { message: parsed.message, offset: parsed.offset };
}
