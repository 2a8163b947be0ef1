/**
 * Removes the places of a program where text for a human reader can be hidden: comments, docstrings, texts in quotes, text between tags,
 * directives. Removed text becomes blanks, so that every line and column keeps its position. The text is read once from left to right; at
 * each position a fixed number of marks is tried. The scanner recognises languages by file ending, and parses only as far as needed to tell
 * code from words.
 *
 * A program that is written to confuse the scanner loses code. If the second pass then gives another mark, a person is notified. Words that
 * remain are found because no program looks like them (leftover-words.ts); they are removed and reported.
 */

import { blankLeftovers, cutLongNames } from "./leftover-words.ts";
import { scanConfig } from "./scan-config.ts";
import { scanMarkup, scanPhp } from "./scan-markup.ts";
import { grammarOf } from "./word-grammars.ts";
import { WordScanner } from "./word-scanner.ts";

export interface StrippedText {
  /** The text without comments and docstrings. */
  readonly code: string;
  /** The text without comments, docstrings, texts in quotes and other words. */
  readonly bare: string;
  /** true: the whole file is words, as in a readme, or may be words, because its language is unknown. Then `code` and `bare` are blank. */
  readonly prose: boolean;
  /** Whether the file ending is known. false: the file can still be a program. */
  readonly known: boolean;
  /** Lines, from 1, that contain words where a program has none. */
  readonly leftover: readonly number[];
}

export function stripWords(path: string, text: string): StrippedText {
  const grammar = grammarOf(path);
  if (grammar === "prose" || grammar === undefined) {
    const blank = text.replaceAll(/[^\n]/g, " ");
    return { code: blank, bare: blank, prose: true, known: grammar !== undefined, leftover: [] };
  }
  const scanner = new WordScanner(text);
  if (grammar.markup === true) scanMarkup(scanner, text);
  else if (grammar.php === true) scanPhp(scanner, grammar, text);
  else if (grammar.config === true) scanConfig(scanner, text);
  else scanner.scan(grammar, 0, text.length);
  const left = blankLeftovers(scanner.without("comment", "quote"), grammar.juxtaposed !== true);
  return {
    code: scanner.without("comment"),
    bare: cutLongNames(left.text),
    prose: false,
    known: true,
    leftover: left.lines,
  };
}
