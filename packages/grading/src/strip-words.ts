/**
 * Program text without the places where words to a reader can hide: comments, docstrings, texts in quotes. What is taken out becomes blanks,
 * so that every line keeps its number and every column its place. One pass from left to right, whatever the text: at each place a fixed
 * number of marks is tried. It knows languages by their endings and only as far as needed to tell code from words; a program that is made
 * to confuse it loses code, and a second look at it that differs is told to a person.
 */

import { scanMarkup } from "./scan-markup.ts";
import { grammarOf } from "./word-grammars.ts";
import { WordScanner } from "./word-scanner.ts";

export interface StrippedText {
  /** Without comments and docstrings. */
  readonly code: string;
  /** Also without texts in quotes. */
  readonly bare: string;
  /** All of it is words, as a read-me is, or may be, as nobody knows the language; code and bare are blank. */
  readonly prose: boolean;
  /** By its ending. false: it may be a program all the same. */
  readonly known: boolean;
}

export function stripWords(path: string, text: string): StrippedText {
  const grammar = grammarOf(path);
  if (grammar === "prose" || grammar === undefined) {
    const blank = text.replaceAll(/[^\n]/g, " ");
    return { code: blank, bare: blank, prose: true, known: grammar !== undefined };
  }
  const scanner = new WordScanner(text);
  if (grammar.markup === true) scanMarkup(scanner, text);
  else scanner.scan(grammar, 0, text.length);
  return { code: scanner.without("comment"), bare: scanner.without("comment", "quote"), prose: false, known: true };
}
