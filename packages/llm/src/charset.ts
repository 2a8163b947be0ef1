import { TextDecoder } from "node:util";

/**
 * The charset that a content type names. JSON is UTF-8 by its standard, and yet servers send it as ISO-8859-1 and say so.
 * null: a name that nobody knows.
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
