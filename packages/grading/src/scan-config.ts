/**
 * Removes words from settings files (YAML, TOML, INI, .env). Keys and single-word values are kept. Values of several words, lines that are
 * not a key and a value, and blocks are text.
 */
import type { WordScanner } from "./word-scanner.ts";

const entry =
  /^([ \t]*(?:-[ \t]+)*)(?:(\[{1,2}[\w.:-]{1,60}\]{1,2})|((?:export[ \t]+)?[\w.@/$-]{1,60})[ \t]*([:=])(.*)|(.*))$/s;
/** One word, a number, a list of these, or a path. */
const plain = /^[ \t]*(?:[\w.@:/+$*%<>=~^-]{1,80}|\[[\w.,: "'@/+*-]{0,200}\]|["']?[\w.@:/+-]{1,80}["']?)[ \t]*$/;

export function scanConfig(scanner: WordScanner, text: string): void {
  let at = 0;
  for (const line of text.split("\n")) {
    const [, indent = "", section, key, , value = "", other = ""] = entry.exec(line.slice(0, 2_000)) ?? [];
    if (/^[ \t]*[#;]/.test(line)) scanner.add("comment", at, at + line.length);
    else if (section === undefined && key !== undefined) {
      const bare = value.replace(/[ \t]#.*$/s, "");
      const from = at + line.indexOf(value, indent.length + key.length);
      if (bare.length < value.length) scanner.add("comment", from + bare.length, at + line.length);
      if (bare.trim() !== "" && (!plain.test(bare) || line.length > 2_000))
        scanner.add("quote", from, from + bare.length);
    } else if (section === undefined && (!plain.test(other) || line.length > 2_000))
      scanner.add("quote", at + indent.length, at + line.length);
    at += line.length + 1;
  }
}
