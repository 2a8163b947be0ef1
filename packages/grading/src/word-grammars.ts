/** Where words to a reader can stand in each language, known by a file's ending: marks of comments and of texts in quotes. */

export interface Quote {
  readonly open: string;
  readonly close: string;
  /** A backslash takes the next character with it. */
  readonly escape?: boolean;
  /** It may run over lines. */
  readonly long?: boolean;
  /** Two closing marks are one of the text. */
  readonly doubled?: boolean;
  /** One character, or an escape: a lone mark is none. */
  readonly char?: boolean;
  /** `${…}` in it is code again. */
  readonly holes?: boolean;
}

export interface Grammar {
  readonly line?: readonly string[];
  /** A line comment only begins a word. */
  readonly lineBeginsWord?: boolean;
  /** Marks that comment a line out only where they begin it. */
  readonly first?: readonly string[];
  readonly block?: readonly (readonly [string, string])[];
  readonly nested?: boolean;
  readonly quotes?: readonly Quote[];
  /** A text that stands alone on its line is a comment. */
  readonly docstrings?: boolean;
  readonly regex?: boolean;
  readonly markup?: boolean;
  /** Texts whose closing mark is named where they open: the pattern's group `id` stands in `close`. */
  readonly named?: readonly NamedQuote[];
  /** `<<NAME`: the text begins on the next line and ends with a line of that name. */
  readonly heredoc?: RegExp;
  /** From a line that is this, nothing is read any more. */
  readonly ends?: RegExp;
  /** A backslash at the end of a line comment takes the next line with it, and `#if 0` is a comment. */
  readonly preprocessor?: boolean;
}

interface NamedQuote {
  /** Sticky. */
  readonly open: RegExp;
  readonly close: (id: string) => string;
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
  open: /%[qQwWiIr]?(?<id>[([{<|!/])/y,
  close: (id) => mirrored[id] ?? id,
};
const perlQuote: NamedQuote = {
  open: /\b(?:q|qq|qw|m|qr)\s?(?<id>[([{<|!/#~])/y,
  close: (id) => mirrored[id] ?? id,
};

const cLike: Grammar = { ...slashes, quotes: [longDouble, double, letter] };
export const script: Grammar = { ...slashes, quotes: [double, single, { ...tick, holes: true }], regex: true };
const hash: Grammar = {
  line: ["#"],
  lineBeginsWord: true,
  quotes: [longDouble, longSingle, { ...double, long: true }, { ...single, escape: false, long: true }],
};
const heredoc = /<<[~-]?(["'`]?)(?<id>[A-Za-z_]\w*)\1/y;
const pod = ["=pod", "=head1", "=head2", "=over", "=item", "=encoding", "=for", "=begin"].map(
  (open) => [open, "\n=cut"] as const,
);
const markup: Grammar = { block: [["<!--", "-->"]], markup: true };

const grammars: readonly (readonly [string, Grammar | "prose"])[] = [
  ["java glsl proto", cLike],
  [
    "c h cc cpp cxx hpp hh ino cu mm",
    {
      ...cLike,
      preprocessor: true,
      named: [{ open: /\b(?:u8|[uUL])?R"(?<id>[^\s()\\"]{0,16})\(/y, close: (id) => `)${id}"` }],
    },
  ],
  // Two languages share the ending.
  ["m", { line: ["//", "%"], block: [["/*", "*/"]], quotes: [double, single] }],
  ["json jsonc json5 geojson", { ...slashes, quotes: [double, single] }],
  [
    "kt kts scala swift groovy gradle dart",
    {
      ...cLike,
      nested: true,
      quotes: [longDouble, longSingle, double, single],
      named: [{ open: /(?<id>#+)"(?:"")?/y, close: (id) => `"${id}` }],
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
    "cs fs fsx",
    {
      ...cLike,
      block: [
        ["/*", "*/"],
        ["(*", "*)"],
      ],
      quotes: [longDouble, { open: '@"', close: '"', long: true, doubled: true }, double, letter],
    },
  ],
  ["go", { ...slashes, quotes: [double, letter, { ...tick, escape: false }] }],
  ["js jsx mjs cjs ts tsx mts cts", script],
  ["css scss less", { ...slashes, quotes: [double, single] }],
  [
    "php",
    {
      ...slashes,
      line: ["//", "#"],
      quotes: [
        { ...double, long: true },
        { ...single, long: true },
      ],
      heredoc: /<<<[ \t]*(["']?)(?<id>[A-Za-z_]\w*)\1/y,
    },
  ],
  ["py pyw pyi ipynb", { line: ["#"], quotes: [longDouble, longSingle, double, single], docstrings: true }],
  ["rb", { ...hash, block: [["=begin", "\n=end"]], named: [percent], heredoc, ends: /^__END__$/ }],
  ["pl pm", { ...hash, named: [perlQuote], heredoc, block: pod, ends: /^__(?:END|DATA)__$/ }],
  ["sh bash zsh ksh fish dockerfile", { ...hash, heredoc }],
  ["r", { ...hash, named: [{ open: /\b[rR]"(?<id>-*)\(/y, close: (id) => `)${id}"` }] }],
  ["coffee", { ...hash, block: [["###", "###"]] }],
  ["yml yaml toml tcl awk ex exs nim makefile ini cfg conf properties env gitignore", { ...hash, line: ["#", ";"] }],
  ["jl", { ...hash, block: [["#=", "=#"]] }],
  [
    "ps1",
    { ...hash, block: [["<#", "#>"]], named: [{ open: /@(?<id>["'])(?=[ \t]*\n)/y, close: (id) => `\n${id}@` }] },
  ],
  ["html htm xhtml xml svg vue svelte", markup],
  [
    "sql",
    {
      line: ["--"],
      block: [["/*", "*/"]],
      quotes: [
        { ...single, escape: false, doubled: true, long: true },
        { ...double, escape: false },
      ],
      named: [{ open: /(?<id>\$\w*\$)/y, close: (id) => id }],
    },
  ],
  [
    "lua",
    {
      line: ["--"],
      block: [
        ["--[[", "]]"],
        ["--[=[", "]=]"],
        ["--[==[", "]==]"],
      ],
      quotes: [double, single],
      named: [{ open: /\[(?<id>=*)\[/y, close: (id) => `]${id}]` }],
    },
  ],
  ["hs elm purs", { line: ["--"], block: [["{-", "-}"]], nested: true, quotes: [longDouble, double, letter] }],
  ["adb ads vhd vhdl", { line: ["--"], quotes: [{ ...double, escape: false, doubled: true }] }],
  ["clj cljs lisp lsp el scm rkt asm s", { line: [";"], block: [["#|", "|#"]], quotes: [{ ...double, long: true }] }],
  [
    "ml mli sml",
    {
      block: [["(*", "*)"]],
      nested: true,
      quotes: [{ ...double, long: true }],
      named: [{ open: /\{%?%?(?<id>[a-z_]*)\|/y, close: (id) => `|${id}}` }],
    },
  ],
  [
    "pas pp",
    {
      line: ["//"],
      block: [
        ["{", "}"],
        ["(*", "*)"],
      ],
      quotes: [{ ...single, escape: false, doubled: true }],
    },
  ],
  ["erl hrl tex sty", { line: ["%"], quotes: [] }],
  ["vb bas", { line: ["'"], first: ["rem "], quotes: [{ ...double, escape: false, doubled: true }] }],
  ["bat cmd", { first: ["rem ", "::"], quotes: [double] }],
  ["md markdown txt text rst adoc org readme license log csv tsv", "prose"],
];
const byEnding: ReadonlyMap<string, Grammar | "prose"> = new Map(
  grammars.flatMap(([endings, grammar]) => endings.split(" ").map((ending) => [ending, grammar] as const)),
);

/** prose: all of such a file is words. undefined: nobody knows the language. */
export function grammarOf(path: string): Grammar | "prose" | undefined {
  const name = (path.split("/").at(-1) ?? path).toLowerCase();
  return byEnding.get(name.includes(".") ? (name.split(".").at(-1) ?? "") : name);
}
