/**
 * Program text without the places where words to a reader can hide: comments, docstrings, texts in quotes, text between tags, directives. What is
 * taken out becomes blanks, so that every line keeps its number and every column its place. One pass from left to right, whatever the text: at
 * each place a fixed number of marks is tried. It knows languages by their endings and only as far as needed to tell code from words.
 *
 * A program that is made to confuse it loses code, and a second look at it that differs is told to a person. Words that are left all the
 * same are found by what no program looks like (leftover-words.ts), taken out, and told.
 */

import { blankLeftovers, cutLongNames } from "./leftover-words.ts";
import { scanConfig } from "./scan-config.ts";
import { scanMarkup, scanPhp } from "./scan-markup.ts";
import { grammarOf } from "./word-grammars.ts";
import { WordScanner } from "./word-scanner.ts";

export interface StrippedText {
  /** Without comments and docstrings. */
  readonly code: string;
  /** Also without texts in quotes and other words. */
  readonly bare: string;
  /** All of it is words, as a read-me is, or may be, as nobody knows the language; code and bare are blank. */
  readonly prose: boolean;
  /** By its ending. false: it may be a program all the same. */
  readonly known: boolean;
  /** Lines, from 1, in which words stood where a program has none. */
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
