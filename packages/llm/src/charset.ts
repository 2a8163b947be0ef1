import { TextDecoder } from "node:util";

/**
 * The decoder for the charset of a content type. JSON is UTF-8 by its standard, but some servers send and declare ISO-8859-1. null: an
 * unknown charset.
 */
export function decoderFor(contentType: string | null): TextDecoder | null {
  const label = /;\s{0,8}charset\s{0,8}=\s{0,8}"?([^\s;"]{1,40})/i.exec(contentType ?? "")?.[1];
  if (label === undefined) return utf8;
  try {
    const decoder = new TextDecoder(label);
    return decoder.encoding === "utf-8" ? utf8 : decoder;
  } catch {
    return null;
  }
}

export const utf8 = new TextDecoder();
