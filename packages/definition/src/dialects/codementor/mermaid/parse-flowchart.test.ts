import fc from "fast-check";
import { describe, expect, inject, it } from "vitest";
import type { Place } from "../../../finding.ts";
import type { Flowchart } from "./flowchart.ts";
import { parseFlowchart } from "./parse-flowchart.ts";

const origin = { file: "sheet.wf.md", line: 1, column: 1 };

/** The chart of a body below `flowchart TD`. The body must have no findings. */
function draw(body: string): Flowchart {
  const { chart, findings } = parseFlowchart(`flowchart TD\n${body}`, origin);
  expect(findings).toEqual([]);
  if (chart === null) throw new Error("no chart");
  return chart;
}

function links(body: string): string[] {
  return draw(body).links.map(({ from, to, label, flow }) => {
    const name = label === null ? "" : `(${label})`;
    return `${from} ${flow ? "->" : "--"}${name} ${to}`;
  });
}

/** `CODE line:column` of every finding of a body below `flowchart TD`; the first line of the body is line 2. */
function faults(body: string): string[] {
  const { findings } = parseFlowchart(`flowchart TD\n${body}`, origin);
  return findings.map(({ code, at }) => `${code} ${at.line}:${at.column}`);
}

const tokens = fc.constantFrom(
  ..."flowchart TD|graph|A|B1|end|subgraph|style|class|accDescr|[|]|(|)|{|}|[[|]]|{{|}}|>|/|\\|\"|'|`|@{|:|:::|,|;|&|-->|--|---|==>|==|-.->|-.|.->|~~~|<--|x--|o|e1@|%%|%%{|}%%|#quot;|&amp;|<br>|é|🎓| |  |\r|\t|.|-|=|label: |shape: "
    .split("|")
    .concat("|", "\n", "\n", "\n"),
);

describe("the head of a chart", () => {
  it.each([
    ["flowchart TD\nA", "TD"],
    ["flowchart LR\nA", "LR"],
    ["graph RL\nA", "RL"],
    ["graph BT; A", "BT"],
    ["flowchart\nA", "TB"],
    ["flowchart-elk TB\nA", "TB"],
    ["\n\n  flowchart TD %% note\nA", "TD"],
    ["---\ntitle: x\n---\n%%{init: {}}%%\n%% c\nflowchart TD\nA", "TD"],
    ["\uFEFFflowchart TD\r\nA\r\n", "TD"],
  ])("%j is a flowchart with direction %s", (text, direction) => {
    const { chart, findings } = parseFlowchart(text, origin);
    expect(findings).toEqual([]);
    expect(chart?.direction).toBe(direction);
    expect(chart?.vertices.map((vertex) => vertex.id)).toEqual(["A"]);
  });

  it.each([
    ["sequenceDiagram\nA->>B: hi", "warning", "1:1"],
    ["%% c\n  stateDiagram-v2\n", "warning", "2:3"],
    ["flowchrt TD\nA --> B", "error", "1:1"],
    ["", "error", "1:1"],
    ["  \n--> B", "error", "2:1"],
  ])("%j is not a flowchart: %s at %s", (text, severity, place) => {
    const { chart, findings } = parseFlowchart(text, origin);
    expect(chart).toBeNull();
    expect(findings.map(({ code, at, ...finding }) => [code, finding.severity, `${at.line}:${at.column}`])).toEqual([
      ["MERMAID_NOT_FLOWCHART", severity, place],
    ]);
  });

  it.each([
    ["flowchart XY\nA", ["MERMAID_UNKNOWN_DIRECTION 1:11"]],
    ["flowchart TD A --> B\nA", ["MERMAID_TEXT_AFTER_STATEMENT 1:14"]],
    ["---\ntitle: x\nflowchart TD\nA", ["MERMAID_UNCLOSED_FRONT_MATTER 1:1", "MERMAID_NOT_FLOWCHART 2:1"]],
    ["%%{init\nflowchart TD\nA", ["MERMAID_UNCLOSED_DIRECTIVE 1:1"]],
  ])("%j has the findings %j", (text, expected) => {
    const { findings } = parseFlowchart(text, origin);
    expect(findings.map(({ code, at }) => `${code} ${at.line}:${at.column}`)).toEqual(expected);
  });
});

describe("places of vertices and captions", () => {
  it("are counted from the position of the block in its file", () => {
    const { chart, findings } = parseFlowchart(
      'flowchart TD\n  A["`hi`"] -->|yes| B@{ label: "x", owner: " me" }\n  A[oops',
      { file: "f.md", line: 40, column: 5 },
    );
    const [a, b] = chart?.vertices ?? [];
    expect(a?.at).toEqual({ file: "f.md", line: 41, column: 7 });
    expect(a?.captionAt).toEqual({ file: "f.md", line: 41, column: 11 });
    expect(chart?.links[0]?.at).toEqual({ file: "f.md", line: 41, column: 17 });
    expect(chart?.links[0]?.labelAt).toEqual({ file: "f.md", line: 41, column: 21 });
    expect(b?.at).toEqual({ file: "f.md", line: 41, column: 26 });
    expect(b?.captionAt).toEqual({ file: "f.md", line: 41, column: 38 });
    expect(b?.attributes).toEqual({ owner: { text: "me", at: { file: "f.md", line: 41, column: 51 } } });
    expect(findings.map((finding) => finding.at)).toEqual([{ file: "f.md", line: 42, column: 8 }]);
  });

  it("a vertex's place is its first mention, and a caption's place is that of the last caption", () => {
    const [a] = draw("A --> B\nA[one]\nA[two]\nA").vertices;
    expect([a?.at.line, a?.caption, a?.captionAt?.line]).toEqual([2, "two", 4]);
  });
});

describe("shapes of vertices", () => {
  it.each([
    ["A[text]", "square"],
    ["A(text)", "round"],
    ["A([text])", "stadium"],
    ["A[[text]]", "subroutine"],
    ["A[(text)]", "cylinder"],
    ["A((text))", "circle"],
    ["A(((text)))", "doublecircle"],
    ["A(-text-)", "ellipse"],
    ["A{text}", "diamond"],
    ["A{{text}}", "hexagon"],
    ["A>text]", "odd"],
    ["A[/text/]", "lean_right"],
    ["A[\\text\\]", "lean_left"],
    ["A[/text\\]", "trapezoid"],
    ["A[\\text/]", "inv_trapezoid"],
    ['A[ "text" ]', "square"],
    ['A{{"text"}}', "hexagon"],
    ['A[/"text"\\]', "trapezoid"],
    ["A@{ shape: stadium, label: text }", "stadium"],
    ["A [text] ::: late", "square"],
    ["A:::late[text]", "square"],
  ])("reads the shape of %s", (body, shape) => {
    expect(draw(body).vertices.map((vertex) => [vertex.id, vertex.shape, vertex.caption])).toEqual([
      ["A", shape, "text"],
    ]);
  });

  it("a mention without brackets has neither shape nor caption", () => {
    expect(draw("A").vertices[0]).toMatchObject({ shape: null, caption: null, captionAt: null, attributes: {} });
  });
});

describe("captions of vertices", () => {
  it.each([
    ["A[Execute: git clone {{REPO_URL}}]", "Execute: git clone {{REPO_URL}}"],
    ["A{{{POINTS}} gt 5}", "{{POINTS}} gt 5"],
    ["A{{{{POINTS}}}}", "{{POINTS}}"],
    ["A{RESULT MATCHES '[0-9]{3}'}", "RESULT MATCHES '[0-9]{3}'"],
    ["A[Set: LIST=[1, 2]]", "Set: LIST=[1, 2]"],
    ["A[a | b --> c; d %% e]", "a | b --> c; d %% e"],
    ["A[/usr/bin/env]", "/usr/bin/env"],
    ["A(-1)", "-1"],
    ['A{RESULT == "yes"}', 'RESULT == "yes"'],
    ['A{"a" == "b"}', '"a" == "b"'],
    ['A["a ] b"]', "a ] b"],
    ['A["a\n     b"]', "a\n     b"],
    ['A["a\r\n     b\r\n\tc"]', "a\n     b\n\tc"],
    ['A["`**a** b`"]', "**a** b"],
    ["A[`a`]", "`a`"],
    ["A[  padded  ]", "padded"],
    ["A[]", ""],
    ['A[""]', ""],
    ["A[say #quot;x#quot; &amp;gt; &#124; &#x7c; #35;]", 'say "x" &gt; | | #'],
    ["A[&nosuch; #nosuch; &; #; &#0; &#1114112; &#xD800;]", "&nosuch; #nosuch; &; #; &#0; &#1114112; &#xD800;"],
    ["A[one<br>two<BR/>three<br />four\\nfive]", "one\ntwo\nthree\nfour\nfive"],
    ["A[<b>kept</b> *as* \\d text]", "<b>kept</b> *as* \\d text"],
    ["A[Prüfung 🎓]", "Prüfung 🎓"],
  ])("reads %j as %j", (body, caption) => {
    expect(draw(body).vertices[0]?.caption).toBe(caption);
  });

  it("stay if a later mention has no caption or an empty one", () => {
    expect(draw("A[text] --> B\nA\nA[]").vertices[0]?.caption).toBe("text");
  });
});

describe("attributes of vertices", () => {
  it.each([
    ['A@{ label:"start"}', "start", {}],
    ["A@{ label: 'it''s } fine', w: 60 }", "it's } fine", { w: "60" }],
    ["A@{label: bare words}", "bare words", {}],
    ['A@{ "label": "a, b } c", \'model\': x-1 , }', "a, b } c", { model: "x-1" }],
    ['A@{\n  shape: rect\n  label: "a\n    b"\n  agent: grader\n}', "a\n    b", { agent: "grader" }],
    ['A@{ label: "a\\nb\\\\c\\td \\d" }', "a\nb\\c\td \\d", {}],
    ['A@{ label: "" }', "", {}],
    ["A@{ x: 1 }\nA@{ x: 2, y: 3 }", null, { x: "2", y: "3" }],
    ["A@{ __proto__: x }", null, JSON.parse('{ "__proto__": "x" }')],
    ["A@{ }", null, {}],
  ])("reads %j", (body, caption, attributes) => {
    const [vertex] = draw(body).vertices;
    expect(vertex?.caption).toBe(caption);
    const texts = Object.entries(vertex?.attributes ?? {}).map(([key, value]) => [key, value.text]);
    expect(texts).toEqual(Object.entries(attributes));
  });

  it("attributes of an edge or of a subgraph draw no vertex", () => {
    const chart = draw("A e1@--> B\ne1@{ animate: true }\nsubgraph s [Title]\nC\nend\ns@{ view: collapsed }");
    expect(chart.vertices.map((vertex) => vertex.id)).toEqual(["A", "B", "C"]);
  });
});

describe("links", () => {
  it.each([
    ["A --> B", ["A -> B"]],
    ["A-->B", ["A -> B"]],
    ["A-b-->C-d", ["A-b -> C-d"]],
    ["A ----> B ====> C -..-> D", ["A -> B", "B -> C", "C -> D"]],
    ["A --x B --o C <--> D", ["A -> B", "B -> C", "C -> D"]],
    ["A--oB", ["A -> B"]],
    ["A x--x B o==o C <-.-> D", ["A -> B", "B -> C", "C -> D"]],
    ["A --- B -.- C === D ~~~ E", ["A -- B", "B -- C", "C -- D", "D -- E"]],
    ["A -->|yes| B", ["A ->(yes) B"]],
    ["A --> |yes| B", ["A ->(yes) B"]],
    ['A -->|"a | b"| B', ["A ->(a | b) B"]],
    ["A -->|f(x) [y]| B", ["A ->(f(x) [y]) B"]],
    ["A -- yes --> B", ["A ->(yes) B"]],
    ["A--yes-->B", ["A ->(yes) B"]],
    ["A --no--> B", ["A ->(no) B"]],
    ["A == sure ==> B -. may be .-> C", ["A ->(sure) B", "B ->(may be) C"]],
    ["A -. v1.2 -.-> B", ["A ->(v1.2) B"]],
    ['A -- "x --> y" --> B', ["A ->(x --> y) B"]],
    ["A -- note --- B -. note .- C == note === D", ["A --(note) B", "B --(note) C", "C --(note) D"]],
    ["A -->|a #124; b<br>c| B", ["A ->(a | b\nc) B"]],
    ["A & B --> C & D", ["A -> C", "A -> D", "B -> C", "B -> D"]],
    ["A&B-->C", ["A -> C", "B -> C"]],
    ["A --> B & C --> D", ["A -> B", "A -> C", "B -> D", "C -> D"]],
    ["A e1@--> B e_2@==>|x| C", ["A -> B", "B ->(x) C"]],
    ["A\n  --> B %% one\n  %% two\n  --> C", ["A -> B", "B -> C"]],
    ["A --> B; B --> C;C-->D;", ["A -> B", "B -> C", "C -> D"]],
    ["A --> B%% comment", ["A -> B"]],
    ["A[x] -->|y| B{z}:::c --> C@{ shape: rect }", ["A ->(y) B", "B -> C"]],
    ["x-->o-->v", ["x -> o", "o -> v"]],
    ["A --> A", ["A -> A"]],
  ])("reads %j", (body, expected) => {
    expect(links(body)).toEqual(expected);
  });
});

describe("statements that concern only the appearance", () => {
  it.each([
    "style A fill:#f9f,stroke:#333",
    "classDef late fill:#f00;",
    "class A,B late",
    "linkStyle 0 stroke:#f00; linkStyle default color:red",
    'click A "https://example.org/a;b --> c" "tip"',
    'click A call show("a;b")',
    "direction LR",
    "style A fill:#fff %% then; this",
    "accTitle: a --> b; c",
    "accDescr: a --> b",
    "accDescr {\n a --> b\n c[ }",
    "%% a --> b",
    "%%{ init: {\n} }%%",
    "subgraph s [Title; with --> all]\nend",
    'subgraph "Only a title"\nend',
    "subgraph two words\ndirection TB\nsubgraph inner\nend\nend",
  ])("%j adds no vertex and no link", (body) => {
    expect(draw(body)).toMatchObject({ vertices: [], links: [] });
  });

  it("a subgraph does not hide its content or the statements after it", () => {
    expect(links("subgraph s\nA --> B\nend\nB --> C")).toEqual(["A -> B", "B -> C"]);
  });
});

describe("findings about broken charts", () => {
  it.each([
    ["A[text", ["MERMAID_UNCLOSED_BRACKET 2:2"]],
    ["A --> B([text]", ["MERMAID_UNCLOSED_BRACKET 2:8"]],
    ["A[(cd x) && ls]", ["MERMAID_UNCLOSED_BRACKET 2:2"]],
    ["A[two\nlines]", ["MERMAID_UNCLOSED_BRACKET 2:2", "MERMAID_TEXT_AFTER_STATEMENT 3:6"]],
    ['A["text]', ["MERMAID_UNCLOSED_QUOTE 2:3"]],
    ['A["text]\nB["more"]', ["MERMAID_UNCLOSED_QUOTE 2:3"]],
    ["some words of prose", ["MERMAID_UNKNOWN_STATEMENT 2:1"]],
    ["  | A", ["MERMAID_UNKNOWN_STATEMENT 2:3"]],
    ["A[x] B[y]", ["MERMAID_TEXT_AFTER_STATEMENT 2:6"]],
    ["A{a} == 'x'}", ["MERMAID_UNCLOSED_LABEL 2:6"]],
    ["A[a]]", ["MERMAID_TEXT_AFTER_STATEMENT 2:5"]],
    ["A -->", ["MERMAID_ARROW_WITHOUT_TARGET 2:3"]],
    ["A -->; B", ["MERMAID_ARROW_WITHOUT_TARGET 2:3"]],
    ["A -->|yes|", ["MERMAID_ARROW_WITHOUT_TARGET 2:3"]],
    ["A --> --> B", ["MERMAID_ARROW_WITHOUT_TARGET 2:3"]],
    ["A --> [text]", ["MERMAID_ARROW_WITHOUT_TARGET 2:3"]],
    ["--> B", ["MERMAID_ARROW_WITHOUT_SOURCE 2:1"]],
    ["A; --> B", ["MERMAID_ARROW_WITHOUT_SOURCE 2:4"]],
    ["A -> B", ["MERMAID_UNKNOWN_ARROW 2:3"]],
    ["A->B", ["MERMAID_UNKNOWN_ARROW 2:2"]],
    ["A => B", ["MERMAID_UNKNOWN_ARROW 2:3"]],
    ["A <-- B", ["MERMAID_BACKWARD_ARROW 2:3"]],
    ["A <--- B", ["MERMAID_BACKWARD_ARROW 2:3"]],
    ["A -- yes B", ["MERMAID_UNCLOSED_LABEL 2:3"]],
    ["A -->|yes B", ["MERMAID_UNCLOSED_LABEL 2:6"]],
    ["A -->|| B", ["MERMAID_EMPTY_LABEL 2:6"]],
    ["A & --> B", ["MERMAID_MISSING_NODE 2:5"]],
    ["A --> B &", ["MERMAID_MISSING_NODE 2:10"]],
    ["A@{ shape }", ["MERMAID_BAD_ATTRIBUTE 2:5"]],
    ["A@{ label: a, 5: b, label: c }", ["MERMAID_BAD_ATTRIBUTE 2:15", "MERMAID_BAD_ATTRIBUTE 2:21"]],
    ['A@{ label: "a" b }', ["MERMAID_BAD_ATTRIBUTE 2:16"]],
    ["A@{ label: 'a }", ["MERMAID_UNCLOSED_QUOTE 2:12"]],
    ['A@{ label: "a }\nB --> C', ["MERMAID_UNCLOSED_QUOTE 2:12"]],
    ['A@{ label: "a }\nB["c"]', ["MERMAID_UNCLOSED_QUOTE 2:12"]],
    ["A@{ shape: rect", ["MERMAID_UNCLOSED_ATTRIBUTES 2:2"]],
    ["A@{\n  shape: rect\nB --> C", ["MERMAID_UNCLOSED_ATTRIBUTES 2:2"]],
    ["A@{\n  what is this\n  label: x\n}", ["MERMAID_BAD_ATTRIBUTE 3:3"]],
    ["A --> end", ["MERMAID_RESERVED_ID 2:7"]],
    ["end[text]", ["MERMAID_RESERVED_ID 2:1"]],
    ["end-game --> A", ["MERMAID_RESERVED_ID 2:1"]],
    ["style --> A", ["MERMAID_RESERVED_ID 2:1"]],
    ["class", ["MERMAID_RESERVED_ID 2:1"]],
    ["end", ["MERMAID_END_WITHOUT_SUBGRAPH 2:1"]],
    ["A\n subgraph s\nB", ["MERMAID_UNCLOSED_SUBGRAPH 3:2"]],
    ["1st --> B", ["MERMAID_BAD_ID 2:1"]],
    ["A --> größe", ["MERMAID_BAD_ID 2:7"]],
    ["A.b --> C", ["MERMAID_BAD_ID 2:1"]],
    ["A:::", ["MERMAID_BAD_CLASS 2:2"]],
    ["accDescr { a", ["MERMAID_UNCLOSED_DESCRIPTION 2:10"]],
    ["%%{ a", ["MERMAID_UNCLOSED_DIRECTIVE 2:1"]],
  ])("%j has %j", (body, expected) => {
    expect(faults(body)).toEqual(expected);
  });

  it("are reported all at once, and all valid statements are still read", () => {
    const { chart, findings } = parseFlowchart(
      "flowchart TD\nSTART --> A[one\nA --> end; A --> B\nwhat is this\nB -->|x SUCCESS\nB --> C{two}\nC -> D\nC --> FAILED",
      origin,
    );
    expect(findings.map(({ code, at }) => `${code} ${at.line}`)).toEqual([
      "MERMAID_UNCLOSED_BRACKET 2",
      "MERMAID_RESERVED_ID 3",
      "MERMAID_UNKNOWN_STATEMENT 4",
      "MERMAID_UNCLOSED_LABEL 5",
      "MERMAID_UNKNOWN_ARROW 7",
    ]);
    expect(chart?.links.map(({ from, to }) => `${from} ${to}`)).toEqual(["A B", "B C", "C FAILED"]);
  });

  it("contain the mistake and the fix", () => {
    const [finding] = parseFlowchart("flowchart TD\nA --> end", origin).findings;
    expect(finding).toMatchObject({ severity: "error", at: { file: "sheet.wf.md", line: 2, column: 7 } });
    expect(finding?.message).toContain("mermaid reserves the word `end`");
    expect(finding?.fix).toContain("END");
  });

  it("beyond a thousand are counted but not listed", () => {
    const { findings } = parseFlowchart(`flowchart TD\n${"A[x\n".repeat(1500)}`, origin);
    expect(findings).toHaveLength(1001);
    expect(findings.at(-1)).toMatchObject({ code: "MERMAID_TOO_MANY_FINDINGS", at: { line: 1002, column: 2 } });
    expect(findings.at(-1)?.message).toContain("500 more");
  });

  it("a group that multiplies too many links gives one finding and creates no links", () => {
    const group = Array.from({ length: 200 }, (_, index) => `N${index}`).join(" & ");
    const { chart, findings } = parseFlowchart(`flowchart TD\n${group} --> ${group}\nA & B --> C`, origin);
    expect(findings.map((finding) => finding.code)).toEqual(["MERMAID_TOO_MANY_LINKS"]);
    expect(chart?.links).toHaveLength(2);
  });
});

describe("parsing any text", () => {
  const soup = fc.array(tokens, { maxLength: 60 }).map((parts) => parts.join(""));
  const sound =
    'flowchart TD\n  START@{ shape: f-circ, label: "start" } --> A["x ] y"] & B{{z}}\n  subgraph s [T]\n    A -->|yes| C{RESULT == \'a\'}\n  end\n  C -- "no" --> D([e]):::late\n  %% c\n  style A fill:#fff;\n  accDescr {\n t }\n  D e1@-.-> E@{\n label: "m\n n"\n }\n';
  const mutated = fc
    .array(fc.tuple(fc.nat(sound.length), fc.nat(6), fc.oneof(tokens, fc.string({ maxLength: 3 }))), { maxLength: 6 })
    .map((edits) => edits.reduce((text, [at, cut, put]) => text.slice(0, at) + put + text.slice(at + cut), sound));

  it.each([
    ["random characters", fc.string({ unit: "binary", maxLength: 200 })],
    ["a soup of tokens", soup.map((text) => `flowchart TD\n${text}`)],
    ["a soup without a head", soup],
    ["a sound chart, mutated", mutated],
  ])("never throws, and every place lies inside the text: %s", (_, texts) => {
    fc.assert(
      fc.property(texts, (text) => {
        const { chart, findings } = parseFlowchart(text, { file: "f", line: 7, column: 3 });
        const lines = text.split("\n");
        const places = [
          ...findings.map((finding) => finding.at),
          ...(chart?.vertices ?? []).flatMap(({ at, captionAt, attributes }) => [
            at,
            captionAt,
            ...Object.values(attributes).map((attribute) => attribute.at),
          ]),
          ...(chart?.links ?? []).flatMap(({ at, labelAt }) => [at, labelAt]),
        ];
        const isInside = (place: Place) =>
          place.column >= 3 && place.column - 3 <= (lines[place.line - 7]?.length ?? Number.NaN);
        expect(places.filter((place) => place !== null && !isInside(place))).toEqual([]);
        const misplaced = (chart?.vertices ?? []).filter(
          ({ id, at }) => !lines[at.line - 7]?.startsWith(id, at.column - 3),
        );
        expect(misplaced).toEqual([]);
        const known = new Set(chart?.vertices.map((vertex) => vertex.id));
        expect(chart?.links.filter((link) => !known.has(link.from) || !known.has(link.to)) ?? []).toEqual([]);
        if (chart === null) expect(findings).not.toEqual([]);
      }),
      { numRuns: inject("thorough") ? 2000 : 200 },
    );
  });
});

describe("large charts", () => {
  it("the stack does not limit the length of a chain: 100,000 nodes", () => {
    const chain = Array.from({ length: 100_000 }, (_, index) => `N${index}`).join(" --> ");
    const chart = draw(chain);
    expect([chart.vertices.length, chart.links.length]).toEqual([100_000, 99_999]);
  });

  // The test counts work, not time: the parser reads every unit through one of these methods of its text.
  it.each([
    ["sound lines", "PROMPT_A[\"Prompt: x\"] -->|yes| CHECK_B{RESULT == 'a'}\n"],
    ["one long chain", "A[a] -- b --> "],
    ["one long group", "A & "],
    ["unclosed quotes", 'A["x\n'],
    ["unclosed quotes without a second one", 'A["x ]" y\nB[`\n'],
    ["quoted beginnings on one line", 'A["x" y] --> '],
    ["unclosed brackets", "A[x\n"],
    ["brackets opened on one line", "A[("],
    ["mismatched brackets on one line", "A[(x] --> "],
    ["unclosed directives", "%%{ x\n"],
    ["unclosed descriptions", "accDescr { x\n"],
    ["unclosed attribute lists", "A@{ x: y\n"],
    ["attribute lists opened within attributes", "k: v; A@{\n"],
    ["unclosed attribute quotes", 'A@{ label: "x\n'],
    ["unclosed single quotes", "A@{ label: 'x, "],
    ["bad attributes", "x y,\n", "A@{\n"],
    ["bad attributes behind a long first line", "x y\n", `A@{ ${",".repeat(2_000)}\n`],
    ["open labels", "A -- x\n"],
    ["open labels on one line", "A -- x ; "],
    ["open pipes", "A -->|x\n"],
    ["dashes", "-"],
    ["dots", "."],
    ["a label of dashes", "-- x ", "A -. "],
    ["entities that are none", "&", "A["],
    ["backslashes", "\\", "A["],
    ["tag openers", "<b", "A["],
    ["subgraphs", "subgraph s\n"],
    ["blanks", " ", "A"],
    ["edge ids", "A e1@"],
    ["digits", "1"],
    ["prose", "lorem ipsum; "],
    ["semicolons", ";"],
    ["colons", ":"],
    ["blank lines", " \n"],
  ])("work is linear in the length: %s", (_, unit, start = "") => {
    const small = work(`flowchart TD\n${start}${unit.repeat(Math.ceil(20_000 / unit.length))}`);
    const large = work(`flowchart TD\n${start}${unit.repeat(Math.ceil(200_000 / unit.length))}`);
    expect(large / small).toBeLessThan(12);
  });

  it("work is linear for any repeated text", () => {
    const pieces = fc.array(tokens, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(pieces, pieces, (start, unit) => {
        const head = `flowchart TD\n${start}`;
        const small = work(head + unit.repeat(Math.ceil(3_000 / unit.length)));
        const large = work(head + unit.repeat(Math.ceil(30_000 / unit.length)));
        expect(large / small).toBeLessThan(12);
      }),
      { numRuns: inject("thorough") ? 200 : 50 },
    );
  });
});

/** The number of UTF-16 units that are read while a text is parsed. */
function work(text: string): number {
  let units = 0;
  const { charCodeAt, indexOf, slice, startsWith } = String.prototype;
  try {
    String.prototype.charCodeAt = function (index) {
      units++;
      return charCodeAt.call(this, index);
    };
    String.prototype.indexOf = function (needle, from = 0) {
      const found = indexOf.call(this, needle, from);
      units += (found < 0 ? this.length : found) - from + 1;
      return found;
    };
    String.prototype.slice = function (from, to) {
      const part = slice.call(this, from, to);
      units += part.length;
      return part;
    };
    String.prototype.startsWith = function (token, from) {
      units += token.length;
      return startsWith.call(this, token, from);
    };
    parseFlowchart(text, origin);
  } finally {
    Object.assign(String.prototype, { charCodeAt, indexOf, slice, startsWith });
  }
  return units;
}
