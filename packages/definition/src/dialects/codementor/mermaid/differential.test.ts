// @vitest-environment jsdom
/** mermaid itself is the reference: this parser must read the same chart that mermaid draws. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import mermaid from "mermaid";
import { beforeAll, describe, expect, inject, it } from "vitest";
import type { Flowchart } from "./flowchart.ts";
import { parseFlowchart } from "./parse-flowchart.ts";

interface FlowDb {
  getVertices(): Map<string, { id: string; text?: string; type?: string }>;
  getEdges(): { start: string; end: string; text: string; type?: string }[];
}

interface Drawing {
  readonly vertices: readonly { readonly id: string; readonly text: string; readonly shape: string | null }[];
  readonly links: readonly {
    readonly from: string;
    readonly to: string;
    readonly label: string;
    readonly flow: boolean;
  }[];
}

const fixtures = join(import.meta.dirname, "fixtures");

beforeAll(() => {
  mermaid.initialize({ startOnLoad: false, securityLevel: "loose", maxEdges: 10_000 });
});

describe("every chart of the fixtures has the same vertices and links as in mermaid", () => {
  const names = readdirSync(fixtures).filter((name) => name.endsWith(".mmd"));

  it("there are at least thirty charts", () => expect(names.length).toBeGreaterThanOrEqual(30));

  it.each(names)("%s", async (name) => {
    const text = readFileSync(join(fixtures, name), "utf8");
    const { chart, findings } = parseFlowchart(text, { file: name, line: 1, column: 1 });
    expect(findings).toEqual([]);
    expect(ours(chart)).toEqual(await mermaids(text));
  });
});

describe("every chart of the workflow fixtures and examples has the same ids and links as in mermaid", () => {
  const root = join(import.meta.dirname, "../../../../../..");
  const files = ["tests/fixtures/codementor", "examples/first", "examples/median"].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith(".wf.md"))
      .map((name) => join(folder, name)),
  );
  const charts = files.flatMap((file) =>
    [
      ...readFileSync(join(root, file), "utf8")
        .replaceAll("\r\n", "\n")
        .matchAll(/^```mermaid\n([\s\S]*?)^```$/gm),
    ].map((match, index) => ({ name: `${file} ${index + 1}`, text: match[1] ?? "" })),
  );

  it("there are enough charts, and mermaid can draw most of them", async () => {
    const drawn = await Promise.all(
      charts.map(({ text }) =>
        mermaids(text).then(
          () => true,
          () => false,
        ),
      ),
    );
    expect(charts.length).toBeGreaterThanOrEqual(25);
    expect(drawn.filter(Boolean).length).toBeGreaterThanOrEqual(Math.ceil(charts.length * 0.6));
  });

  it.each(charts)("$name", async ({ text }) => {
    const theirs = await mermaids(text).catch(() => null);
    // Some charts use syntax that only this parser accepts (below); all others must give the same result. Captions may differ where a
    // workflow writes `label:"start"` without a blank, because YAML, and so mermaid, sees no label there.
    const idsAndLinks = (drawing: Drawing | null) => [drawing?.vertices.map(({ id }) => id), drawing?.links];
    if (theirs !== null) expect(idsAndLinks(ours(parse(text).chart))).toEqual(idsAndLinks(theirs));
    else expect(parse(text).findings).toEqual([]);
  });
});

describe("syntax that only this parser accepts, because workflows or the dialect's grammar need it", () => {
  it.each([
    ["a comment behind a statement", "A --> B %% then hand in"],
    ["a comment behind the head", "%% sheet\nA", "flowchart TD %% sheet"],
    ["a variable in an unquoted caption", "A[Execute: git clone {{REPO_URL}}]"],
    ["a variable in an unquoted condition", "A{{{POINTS}} gt 5}"],
    ["balanced brackets of the same kind", "A[Set: LIST=[1]] --> B(f(x))"],
    ["a path as a caption", "A[/usr/bin/env]"],
    ["quotes inside an unquoted caption", 'A{RESULT == "yes"} --> B{"a" == "b"}'],
    ["a pipe inside an unquoted caption", "A[Execute: ls | wc -l]"],
    ["an empty caption", 'A[] --> B[""]'],
    ["a blank before a quoted caption", 'A[ "text" ]'],
    ["a blank before a bracket", "A [text] --> B"],
    ["brackets in a label", "A -->|f(x)| B"],
    ["commas in an attribute list of several lines", 'A@{\n  shape: rect,\n  label: "x"\n}'],
    ["a brace in a single-quoted attribute", "A@{ label: 'a } b' }"],
    ["an unknown shape: drawing is not ours to judge", "A@{ shape: marking-pen }"],
    ["an unknown escape: regular expressions have them", 'A@{ label: "RESULT MATCHES \\d+" }'],
    ["a line that starts with %% inside quotes", 'A["first\n%% second"]'],
    ["ids x and o right before an arrow", "x-->B\nC & o-->B"],
  ])("%s", async (_, body, head = "flowchart TD") => {
    const text = `${head}\n${body}\n`;
    expect(parse(text).findings).toEqual([]);
    await expect(mermaids(text)).rejects.toThrow();
  });
});

describe("syntax that only mermaid accepts", () => {
  it.each([
    ["a target on the next line: one statement per line", "A -->\nB", "MERMAID_ARROW_WITHOUT_TARGET"],
    [
      "an unquoted caption over several lines: an unclosed bracket would eat the chart",
      "A[two\nlines]",
      "MERMAID_UNCLOSED_BRACKET",
    ],
    ["a label over several lines", "A -- two\nlines --> B", "MERMAID_UNCLOSED_LABEL"],
    ["ids of other characters: they name activities", "1st --> B", "MERMAID_BAD_ID"],
    ["ids of other letters", "größe --> B", "MERMAID_BAD_ID"],
    ["a blank label", "A -->| | B", "MERMAID_EMPTY_LABEL"],
    ["a line drawn backwards, which loses its head", "A <--- B", "MERMAID_BACKWARD_ARROW"],
    ["an attribute without a value", "A@{ animate }", "MERMAID_BAD_ATTRIBUTE"],
    ["an attribute whose key is a number", "A@{ 1: x }", "MERMAID_BAD_ATTRIBUTE"],
    ["arrow signs as directions", "A", "MERMAID_TEXT_AFTER_STATEMENT", "flowchart >"],
    ["the word click before an arrow, of which mermaid draws nothing", "click --> A", "MERMAID_RESERVED_ID"],
  ])("%s", async (_, body, code, head = "flowchart TD") => {
    const text = `${head}\n${body}\n`;
    expect(parse(text).findings.map((finding) => finding.code)).toContain(code);
    await expect(mermaids(text)).resolves.toBeDefined();
  });
});

describe("syntax that both parsers accept but read differently", () => {
  it.each([
    [
      "`label:` without a blank is a label; YAML sees one long key",
      'A@{ label:"start"}',
      { texts: ["start"], labels: [] },
    ],
    [
      "a label that ends in o or x keeps it; mermaid takes it for an arrow's tail",
      "A --no--> B",
      { texts: ["A", "B"], labels: ["no"] },
    ],
    ["`&` parts nodes without blanks; mermaid reads one id", "A&B --> C", { texts: ["A", "B", "C"], labels: ["", ""] }],
    [
      "`&#124;` is one entity; mermaid decodes the `#124;` inside it",
      'A["a &#124; b"]',
      { texts: ["a | b"], labels: [] },
    ],
    [
      "`&notanentity;` is text; a browser reads `&not` in it",
      'A["&notanentity;"]',
      { texts: ["&notanentity;"], labels: [] },
    ],
    ["a style draws no node", "A\nstyle B fill:#fff", { texts: ["A"], labels: [] }],
    [
      "attributes of a subgraph draw no node",
      "subgraph s\nA\nend\ns@{ view: collapsed }",
      { texts: ["A"], labels: [] },
    ],
    [
      "a node named twice in one group: the later mention counts; mermaid applies attributes last",
      'A@{ label: "one" } & A[two] --> B',
      { texts: ["two", "B"], labels: ["", ""] },
    ],
    ["an empty caption does not undo an earlier one", "A[text]\nA[ ]", { texts: ["text"], labels: [] }],
  ])("%s", async (_, body, expected) => {
    const text = `flowchart TD\n${body}\n`;
    const { chart, findings } = parse(text);
    expect(findings).toEqual([]);
    const drawing = ours(chart);
    expect(drawing?.vertices.map((vertex) => vertex.text)).toEqual(expected.texts);
    expect(drawing?.links.map((link) => link.label)).toEqual(expected.labels);
    expect(drawing).not.toEqual(await mermaids(text));
  });
});

describe("generated charts", () => {
  it("have the same vertices and links as in mermaid", async () => {
    await fc.assert(
      fc.asyncProperty(generatedChart, async (text) => {
        const { chart, findings } = parse(text);
        expect(findings).toEqual([]);
        expect(ours(chart)).toEqual(await mermaids(text));
      }),
      inject("thorough") ? { numRuns: 200 } : { numRuns: 20, seed: 20 },
    );
  });
});

function parse(text: string) {
  return parseFlowchart(text, { file: "chart.mmd", line: 1, column: 1 });
}

function ours(chart: Flowchart | null): Drawing | null {
  return (
    chart && {
      vertices: chart.vertices.map(({ id, caption, shape }) => ({ id, text: caption || id, shape })),
      links: chart.links.map(({ from, to, label, flow }) => ({ from, to, label: label ?? "", flow })),
    }
  );
}

async function mermaids(text: string): Promise<Drawing> {
  const diagram = await mermaid.mermaidAPI.getDiagramFromText(text);
  const db = diagram.db as unknown as FlowDb;
  return {
    vertices: Array.from(db.getVertices().values(), (vertex) => ({
      id: vertex.id,
      text: shown(vertex.text ?? vertex.id),
      shape: vertex.type ?? null,
    })),
    links: db.getEdges().map((edge) => ({
      from: edge.start,
      to: edge.end,
      label: shown(edge.text),
      flow: edge.type !== "arrow_open",
    })),
  };
}

/** mermaid keeps entities masked until it renders. Here the DOM decodes them, independently of our decoder. */
function shown(text: string): string {
  const unmasked = text.replaceAll("ﬂ°°", "&#").replaceAll("ﬂ°", "&").replaceAll("¶ß", ";");
  const broken = unmasked.replaceAll(/<br ?\/?>|\\n/g, "\n");
  const { document } = globalThis as unknown as {
    document: { createElement(name: string): { innerHTML: string; value: string } };
  };
  const area = document.createElement("textarea");
  area.innerHTML = `.${broken}`;
  return area.value.slice(1);
}

const id = fc.constantFrom(
  "START",
  "SUCCESS",
  "PROMPT_A1",
  "CHECK_x",
  "a",
  "_under",
  "with-dash",
  "B2",
  "Zend",
  "xo",
  "o9",
);

/** Words that need no quotes. None ends in o or x, because mermaid would read that as the tail of an arrow. */
const words = fc
  .array(
    fc.constantFrom(
      "Prompt:",
      "grade",
      "5",
      "a>b",
      "it's",
      "50%",
      "==",
      "x=1,",
      "&gt;",
      "#quot;",
      "é",
      "a - b",
      "<br>",
    ),
    {
      minLength: 1,
      maxLength: 4,
    },
  )
  .map((parts) => parts.join(" "));

const plainWords = fc
  .array(fc.constantFrom("yes", "TRUE", "5", "it's", "a-b", "maybe", "#35;"), { minLength: 1, maxLength: 3 })
  .map((parts) => parts.join(" "));

const quotedWords = fc
  .array(fc.constantFrom("grade", "[", "]]", "(", ")", "{", "}", "|", "-->", "#amp;", ";", "50%%", "line\n   line"), {
    minLength: 1,
    maxLength: 5,
  })
  .map((parts) => `"a ${parts.join(" ")} z"`);

const brackets = fc.constantFrom(
  ["[", "]"],
  ["(", ")"],
  ["([", "])"],
  ["[[", "]]"],
  ["[(", ")]"],
  ["((", "))"],
  ["(((", ")))"],
  ["{", "}"],
  ["{{", "}}"],
  [">", "]"],
  ["[/", "/]"],
  ["[\\", "\\]"],
  ["[/", "\\]"],
  ["[\\", "/]"],
);

const node = fc.oneof(
  { weight: 3, arbitrary: id },
  {
    weight: 3,
    arbitrary: fc
      .tuple(id, brackets, fc.oneof(words, quotedWords), fc.constantFrom("", ":::late"))
      .map(([name, [open, close], text, style]) => `${name}${open}${text}${close}${style}`),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(id, fc.constantFrom("stadium", "rect", "manual-input", "f-circ"), plainWords)
      .map(([name, shape, text]) => `${name}@{ shape: ${shape}, label: "${text}" }`),
  },
);

const arrow = fc.oneof(
  fc.constantFrom(
    "-->",
    "--->",
    "==>",
    "-.->",
    "-..->",
    "--x",
    "--o",
    "<-->",
    "---",
    "-.-",
    "===",
    "~~~",
    "x--x",
    "o==o",
  ),
  fc
    .tuple(fc.constantFrom("-->", "==>", "-.->", "---", "---->"), plainWords, fc.constantFrom("", " "))
    .map(([line, text, gap]) => `${line}${gap}|${text}|`),
  fc.tuple(fc.constantFrom("-->", "==>"), quotedWords).map(([line, text]) => `${line}|${text}|`),
  fc
    .tuple(
      fc.constantFrom(["--", "-->"], ["==", "==>"], ["-.", ".->"], ["--", "---"], ["--", "--x"]),
      plainWords.filter((text) => !text.startsWith("x") && !text.startsWith("o")),
    )
    .map(([[open, close], text]) => `${open} ${text} ${close}`),
);

/** Ids within a group differ; see the case "a node named twice in one group". */
const group = fc
  .uniqueArray(node, { minLength: 1, maxLength: 3, selector: (text) => /^[\w-]+/.exec(text)?.[0] })
  .map((nodes) => nodes.join(" & "));

const chain = fc
  .tuple(group, fc.array(fc.tuple(arrow, group), { maxLength: 3 }))
  .map(([first, rest]) => [first, ...rest.flat()].join(" "));

const statement = fc.oneof(
  { weight: 8, arbitrary: chain },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      "%% a --> b",
      "classDef late fill:#f00;",
      "accTitle: a --> b",
      "subgraph s [T]\nq\nend",
      "",
    ),
  },
);

const generatedChart = fc
  .tuple(
    fc.constantFrom("flowchart TD", "graph LR", "flowchart"),
    fc.array(statement, { maxLength: 8 }),
    fc.constantFrom("\n", "\n    "),
  )
  .map(([head, statements, gap]) => [head, ...statements].join(gap));
