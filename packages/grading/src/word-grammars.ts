/**
 * Describes, for each language, where text for a reader can be: the marks of comments and of texts in quotes. The file ending gives the
 * language.
 */

export interface Quote {
  readonly open: string;
  readonly close: string;
  /** A backslash escapes the next character. */
  readonly escape?: boolean;
  /** The text may span lines. */
  readonly long?: boolean;
  /** Two closing marks stand for one literal mark. */
  readonly doubled?: boolean;
  /** One character, or an escape. A lone mark opens no text. */
  readonly char?: boolean;
  /** `${…}` in it is code again. */
  readonly holes?: boolean;
}

export interface Grammar {
  readonly line?: readonly string[];
  /** A line comment must begin at the start of a word. */
  readonly lineBeginsWord?: boolean;
  /** Marks that begin a comment only at the start of a line. */
  readonly first?: readonly string[];
  readonly block?: readonly (readonly [string, string])[];
  readonly nested?: boolean;
  readonly quotes?: readonly Quote[];
  /** A text that is alone on its line is a comment. */
  readonly docstrings?: boolean;
  readonly regex?: boolean;
  readonly markup?: boolean;
  /** Texts whose opening mark names the closing mark: `close` receives the pattern's group `id`. */
  readonly named?: readonly NamedQuote[];
  /** `<<NAME`: the text begins on the next line and ends with a line of that name. */
  readonly heredoc?: RegExp;
  /** Nothing is read after a line that matches this. */
  readonly ends?: RegExp;
  /** A backslash at the end of a line comment continues it on the next line, and `#if 0` is a comment. */
  readonly preprocessor?: boolean;
  /** Lines with this start hold words for the reader or the compiler. The pattern is sticky. */
  readonly directive?: RegExp;
  /** Text that matches one of these patterns is words for a reader. The patterns are sticky and linear. */
  readonly words?: readonly RegExp[];
  /** The language has JSX elements: the content between tags is text. */
  readonly jsx?: boolean;
  /** Programs are between `<?php` and `?>`; all other text is markup. */
  readonly php?: boolean;
  /** The file consists of lines with keys and values. A value of several words is text. */
  readonly config?: boolean;
  /** Names may be next to each other, as in a shell or in Haskell. */
  readonly juxtaposed?: boolean;
}

interface NamedQuote {
  /** The pattern is sticky. */
  readonly open: RegExp;
  readonly close: (id: string) => string;
  /** The text is a comment. */
  readonly comment?: boolean;
  /** Without a closing mark, no text was opened. */
  readonly closed?: boolean;
}

const double: Quote = { open: '"', close: '"', escape: true };
const single: Quote = { open: "'", close: "'", escape: true };
const letter: Quote = { open: "'", close: "'", escape: true, char: true };
const longDouble: Quote = { open: '"""', close: '"""', escape: true, long: true };
const longSingle: Quote = { open: "'''", close: "'''", escape: true, long: true };
const tick: Quote = { open: "`", close: "`", escape: true, long: true };
const slashes = { line: ["//"], block: [["/*", "*/"]] } as const;

const mirrored: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}", "<": ">" };
const percent: NamedQuote = {
  open: /%[qQwWiIrx]?(?<id>[([{<|!/])/y,
  close: (id) => mirrored[id] ?? id,
};
const perlQuote: NamedQuote = {
  open: /\b(?:q|qq|qw|qx|m|qr|s|tr|y)\s?(?<id>[([{<|!/#~])/y,
  close: (id) => mirrored[id] ?? id,
};
const sigil: NamedQuote = { open: /~[A-Za-z](?<id>[([{<|/"'])/y, close: (id) => mirrored[id] ?? id };
const longQuotes: NamedQuote = { open: /(?<id>"{3,})/y, close: (id) => id };
/** `#pragma`, `#error`, `#region` and similar, also with the digraph and the trigraph for `#`. */
const hashWords =
  /(?:#|%:|\?\?=)[ \t]*(?:pragma|error|warning|region|endregion|ident|sccs|line|assert|unassert|mark|nullable)\b/iy;

const cLike: Grammar = { ...slashes, quotes: [longDouble, double, letter] };
export const script: Grammar = {
  ...slashes,
  line: ["//", "<!--"],
  first: ["-->"],
  quotes: [double, single, { ...tick, holes: true }],
  regex: true,
};
export const styles: Grammar = {
  ...slashes,
  quotes: [double, single],
  words: [
    /(?<=--[\w-]{1,60}:[ \t]{0,9})[^;{}]+/y,
    /(?<=@(?:charset|layer|namespace)[ \t]{1,9})[^;{}]+/y,
    /(?<=url\()[^)"']+/y,
  ],
  juxtaposed: true,
};
const hash: Grammar = {
  line: ["#"],
  lineBeginsWord: true,
  quotes: [longDouble, longSingle, { ...double, long: true }, { ...single, escape: false, long: true }],
  juxtaposed: true,
};
const heredoc = /<<[~-]?\\?(["'`]?)(?<id>[A-Za-z_]\w*)\1/y;
/** Text that a shell prints without quotes. */
const echoed = [
  /(?<=(?:^|[\s;&|@(])(?:echo|printf|:|true|false|title|info|warning|error|Write-Host|Write-Output)[ \t]{1,9})[^\n;|&>"'`$<]+/y,
];
const markup: Grammar = { block: [["<!--", "-->"]], markup: true, juxtaposed: true };
const config: Grammar = { line: ["#", ";"], config: true, juxtaposed: true };
const dashes = { line: ["--"], juxtaposed: true } as const;

const grammars: readonly (readonly [string, Grammar | "prose"])[] = [
  ["java sol", cLike],
  ["proto", { ...cLike, juxtaposed: true }],
  [
    "c h cc cpp cxx hpp hh ino cu mm glsl frag vert",
    {
      ...cLike,
      preprocessor: true,
      directive: hashWords,
      named: [{ open: /\b(?:u8|[uUL])?R"(?<id>[^\s()\\"]{0,16})\(/y, close: (id) => `)${id}"` }],
    },
  ],
  // Two languages share the ending: Objective-C and MATLAB.
  [
    "m",
    {
      line: ["//", "%"],
      first: ["#"],
      block: [
        ["/*", "*/"],
        ["%{", "%}"],
      ],
      quotes: [double, single],
      directive: hashWords,
      words: [/(?<=\.\.\.[ \t]{0,9})[^\n]+/y, /(?<=(?:^|\n)[ \t]{0,40}(?:disp|title|help|echo)[ \t]{1,9})[^\n("';]+/y],
      juxtaposed: true,
    },
  ],
  ["json jsonc json5 geojson", { ...slashes, quotes: [double, single], juxtaposed: true }],
  [
    "kt kts scala",
    {
      ...cLike,
      nested: true,
      // A text between three marks has no escapes.
      quotes: [{ ...longDouble, escape: false }, double, single, { ...tick, long: false }],
      juxtaposed: true,
    },
  ],
  [
    "swift groovy gradle dart",
    {
      ...cLike,
      nested: true,
      quotes: [longDouble, longSingle, double, single, { ...tick, long: false }],
      named: [{ open: /(?<id>#+)"(?:"")?/y, close: (id) => `"${id}` }],
      directive: hashWords,
      juxtaposed: true,
    },
  ],
  [
    "rs",
    {
      ...cLike,
      nested: true,
      quotes: [{ ...double, long: true }, letter],
      named: [{ open: /\bb?c?r(?<id>#*)"/y, close: (id) => `"${id}` }],
    },
  ],
  [
    "cs",
    {
      ...cLike,
      preprocessor: true,
      directive: hashWords,
      quotes: [
        { open: '@"', close: '"', long: true, doubled: true },
        { open: '@$"', close: '"', long: true, doubled: true },
        { open: '$@"', close: '"', long: true, doubled: true },
        double,
        letter,
      ],
      named: [longQuotes],
    },
  ],
  [
    "fs fsx fsi",
    {
      ...slashes,
      block: [["(*", "*)"]],
      nested: true,
      directive: hashWords,
      quotes: [longDouble, { open: '@"', close: '"', long: true, doubled: true }, { ...double, long: true }, letter],
      named: [{ open: /(?<id>``)/y, close: (id) => id }],
      juxtaposed: true,
    },
  ],
  ["go", { ...slashes, quotes: [double, letter, { ...tick, escape: false }] }],
  ["js jsx mjs cjs tsx", { ...script, jsx: true }],
  ["ts mts cts", script],
  ["css scss less", styles],
  [
    "php phtml",
    {
      ...slashes,
      php: true,
      line: ["//", "#"],
      quotes: [
        { ...double, long: true },
        { ...single, long: true },
        { ...tick, long: true },
      ],
      heredoc: /<<<[ \t]*(["']?)(?<id>[A-Za-z_]\w*)\1/y,
    },
  ],
  ["py pyw pyi ipynb", { line: ["#"], quotes: [longDouble, longSingle, double, single], docstrings: true }],
  [
    "rb cr rake gemspec",
    {
      ...hash,
      block: [["=begin", "\n=end"]],
      quotes: [...(hash.quotes ?? []), tick],
      named: [percent],
      heredoc,
      ends: /^__END__$/,
      regex: true,
    },
  ],
  [
    "pl pm pro prolog",
    {
      ...hash,
      first: ["% ", "%%", "%-"],
      quotes: [...(hash.quotes ?? []), tick],
      named: [{ open: /(?<![^\n])=[a-zA-Z]\w*/y, close: () => "\n=cut", comment: true }, perlQuote],
      block: [["/*", "*/"]],
      heredoc,
      ends: /^__(?:END|DATA)__$/,
    },
  ],
  ["sh bash zsh ksh fish dockerfile makefile mk", { ...hash, heredoc, words: echoed }],
  [
    "r",
    {
      ...hash,
      quotes: [...(hash.quotes ?? []), tick],
      named: [{ open: /\b[rR]"(?<id>-*)\(/y, close: (id) => `)${id}"` }],
    },
  ],
  ["coffee", { ...hash, block: [["###", "###"]], quotes: [...(hash.quotes ?? []), tick], regex: true }],
  ["yml yaml toml ini cfg conf properties env gitignore editorconfig", config],
  ["ex exs", { ...hash, named: [sigil] }],
  ["nim", { ...hash, block: [["#[", "]#"]] }],
  ["tcl awk", { ...hash, words: [/(?<=\bputs[ \t]\{)[^}\n]*/y] }],
  ["jl", { ...hash, block: [["#=", "=#"]], nested: true, quotes: [...(hash.quotes ?? []), tick] }],
  [
    "ps1 psm1",
    {
      ...hash,
      block: [["<#", "#>"]],
      // A backslash is a literal backslash.
      quotes: [
        { ...double, escape: false, doubled: true, long: true },
        { ...single, escape: false, doubled: true, long: true },
      ],
      named: [{ open: /@(?<id>["'])(?=[ \t]*\n)/y, close: (id) => `\n${id}@` }],
      directive: hashWords,
      words: echoed,
    },
  ],
  ["html htm xhtml xml svg vue svelte fxml xaml kml xsl xsd", markup],
  [
    "sql",
    {
      ...dashes,
      first: ["#", "rem ", "prompt "],
      block: [["/*", "*/"]],
      quotes: [
        { ...single, escape: false, doubled: true, long: true },
        { ...double, escape: false },
        { ...tick, escape: false, long: false },
      ],
      named: [
        { open: /(?<id>\$\w*\$)/y, close: (id) => id },
        { open: /\b[nN]?[qQ]'(?<id>[[({<!|])/y, close: (id) => `${mirrored[id] ?? id}'` },
        { open: /\[(?<id>)(?=[A-Za-z]+ )/y, close: () => "]", closed: true },
      ],
    },
  ],
  [
    "lua",
    {
      line: ["--"],
      quotes: [double, single],
      named: [
        { open: /--\[(?<id>=*)\[/y, close: (id) => `]${id}]`, comment: true },
        { open: /\[(?<id>=*)\[/y, close: (id) => `]${id}]` },
      ],
      juxtaposed: true,
    },
  ],
  [
    "hs elm purs",
    {
      ...dashes,
      block: [["{-", "-}"]],
      nested: true,
      quotes: [longDouble, double, letter],
      named: [{ open: /\[(?<id>[a-z]\w*)\|/y, close: () => "|]", closed: true }],
    },
  ],
  ["adb ads", { ...dashes, quotes: [{ ...double, escape: false, doubled: true }] }],
  ["vhd vhdl", { ...dashes, block: [["/*", "*/"]], quotes: [{ ...double, escape: false, doubled: true }] }],
  [
    "clj cljs lisp lsp el scm rkt",
    { line: [";", "#!"], block: [["#|", "|#"]], nested: true, quotes: [{ ...double, long: true }], juxtaposed: true },
  ],
  [
    "asm s",
    {
      line: [";", "#", "//", "@", "!"],
      lineBeginsWord: true,
      block: [["/*", "*/"]],
      quotes: [double, single],
      words: [/(?<=(?:^|\n)[ \t]{0,40}(?:title|subttl|%macro|comment)[ \t]{1,9})[^\n]+/iy],
      juxtaposed: true,
    },
  ],
  [
    "ml mli sml",
    {
      block: [["(*", "*)"]],
      nested: true,
      quotes: [{ ...double, long: true }],
      named: [{ open: /\{%?%?(?<id>[a-z_]*)\|/y, close: (id) => `|${id}}` }],
      juxtaposed: true,
    },
  ],
  [
    "pas pp dpr",
    {
      line: ["//"],
      block: [
        ["{", "}"],
        ["(*", "*)"],
      ],
      quotes: [{ ...single, escape: false, doubled: true }],
      juxtaposed: true,
    },
  ],
  ["erl hrl", { line: ["%"], quotes: [longDouble, { ...double, long: true }, single], juxtaposed: true }],
  [
    "f f90 f95 f03 for",
    {
      line: ["!"],
      first: ["c ", "* "],
      quotes: [
        { ...double, escape: false, doubled: true },
        { ...single, escape: false, doubled: true },
      ],
      juxtaposed: true,
    },
  ],
  ["zig", { line: ["//"], first: ["\\\\"], quotes: [double, letter] }],
  [
    "d",
    {
      ...cLike,
      block: [
        ["/*", "*/"],
        ["/+", "+/"],
      ],
      quotes: [{ ...double, long: true }, tick, letter],
    },
  ],
  [
    "vb bas",
    {
      line: ["'"],
      first: ["rem ", "data ", "#region", "#end region"],
      quotes: [{ ...double, escape: false, doubled: true }],
      juxtaposed: true,
    },
  ],
  [
    "bat cmd",
    {
      first: ["rem ", "@rem ", "::"],
      quotes: [{ ...double, escape: false }],
      words: [/(?<=(?:^|[\s&|@(])(?:echo|title|prompt)[ \t.]{1,9})[^\n&|>]+/iy],
      juxtaposed: true,
    },
  ],
  ["md markdown txt text rst adoc org tex sty bib readme license log csv tsv", "prose"],
];
const byEnding: ReadonlyMap<string, Grammar | "prose"> = new Map(
  grammars.flatMap(([endings, grammar]) => endings.split(" ").map((ending) => [ending, grammar] as const)),
);

/** prose: the whole file is words. undefined: the language is unknown. */
export function grammarOf(path: string): Grammar | "prose" | undefined {
  const name = (path.split("/").at(-1) ?? path).toLowerCase();
  return byEnding.get(name.includes(".") ? (name.split(".").at(-1) ?? "") : name);
}
