/**
 * Parses one mermaid block as a flowchart.
 *
 * Mermaid's own parser is not used: it gives no positions, throws at the first error, needs a DOM, and is not linear. It is the reference
 * in tests: `differential.test.ts` compares the vertices and links of both parsers and lists the differences.
 *
 * Invariant 1: the parser never throws. Each mistake becomes a finding with a place inside the block, and reading continues at the next
 * statement. So all findings are reported at once.
 * Invariant 2: the parser is linear. The cursor goes back at most to the line of a quote that turns out to be plain text, or to the start
 * of a statement, and reads that text once more. There is no recursion, so the stack does not limit the length of a chain.
 *
 * The parser accepts more than mermaid because workflows need it. Captions may contain, without quotes, brackets of other kinds, balanced
 * brackets of their own kind (`[Execute: git clone {{REPO_URL}}]`), quotes and pipes.
 */
import type { Finding } from "../../../finding.ts";
import {
  ampersand,
  colon,
  dash,
  isIdCode,
  isIdStart,
  newline,
  openBrace,
  openBracket,
  semicolon,
} from "./character-codes.ts";
import { ChartReader, shorten } from "./chart-reader.ts";
import type { Flowchart } from "./flowchart.ts";
import { type DrawnArrow, FlowchartDraft, type Mention } from "./flowchart-draft.ts";
import { isEdgeId, readArrow } from "./read-arrow.ts";
import { looksLikeId, readNode, readSuffixes } from "./read-node.ts";
import { scanArrow } from "./scan-arrow.ts";
import { type Origin, TextCursor } from "./text-cursor.ts";

export interface ParsedFlowchart {
  /** null: the block is another kind of diagram, or empty. */
  readonly chart: Flowchart | null;
  readonly findings: Finding[];
}

export function parseFlowchart(text: string, origin: Origin): ParsedFlowchart {
  return new FlowchartParser(new ChartReader(new TextCursor(text, origin))).parse();
}

const directions = new Set(["TB", "TD", "BT", "LR", "RL"]);

/** Diagrams that may appear beside the workflow. They are skipped. Any other unknown first word is an error. */
const otherDiagrams =
  /^(?:sequenceDiagram|classDiagram(?:-v2)?|stateDiagram(?:-v2)?|erDiagram|gantt|pie|journey|gitGraph|mindmap|timeline|quadrantChart|requirementDiagram|C4[A-Za-z]+|zenuml|info|(?:sankey|xychart|block|packet|architecture|radar|treemap)(?:-beta)?|kanban)$/;

const ignoredStatements = new Set(["style", "classDef", "class", "linkStyle", "click"]);

class FlowchartParser {
  readonly #reader: ChartReader;
  readonly #draft: FlowchartDraft;
  /** Ids of edges and closed subgraphs. `id@{ … }` then concerns these and draws no vertex. */
  readonly #notVertices = new Set<string>();
  readonly #subgraphs = new Set<string>();
  readonly #openSubgraphs: { readonly id: string | null; readonly offset: number }[] = [];
  /** The end of the chain on the line before. A line that begins with an arrow continues it. */
  #lastGroup: readonly string[] | null = null;

  constructor(reader: ChartReader) {
    this.#reader = reader;
    this.#draft = new FlowchartDraft(reader);
  }

  parse(): ParsedFlowchart {
    const direction = this.#readHeader();
    if (direction !== null) this.#readStatements();
    for (const subgraph of this.#openSubgraphs) {
      this.#reader.report(
        "MERMAID_UNCLOSED_SUBGRAPH",
        subgraph.offset,
        "this subgraph is never closed",
        "write `end` on a line of its own after its last node",
      );
    }
    this.#reader.reportUnlisted();
    return {
      chart: direction === null ? null : this.#draft.finish(direction, this.#subgraphs),
      findings: this.#reader.findings,
    };
  }

  /** Returns the direction, or null if this is not a flowchart. */
  #readHeader(): string | null {
    const { cursor } = this.#reader;
    cursor.skipBlanksAndLines();
    if (this.#isRule(cursor.position)) this.#skipFrontMatter();
    this.#skipToStatement();
    const start = cursor.position;
    while (isIdCode(cursor.code()) || cursor.code() === dash) cursor.position++;
    const word = cursor.slice(start, cursor.position);
    if (word !== "flowchart" && word !== "graph" && word !== "flowchart-elk") {
      this.#reportNoFlowchart(start, word);
      return null;
    }
    cursor.skipBlanks();
    const direction = this.#readDirection();
    this.#reader.expectStatementEnd("the head of the flowchart");
    return direction;
  }

  #reportNoFlowchart(offset: number, word: string): void {
    const isOther = otherDiagrams.test(word);
    const found = word !== "" ? `it starts with \`${shorten(word)}\`` : "it is empty or does not start with a word";
    this.#reader.findings.push({
      severity: isOther ? "warning" : "error",
      code: "MERMAID_NOT_FLOWCHART",
      message: `this mermaid block is not a flowchart: ${found}`,
      fix: isOther
        ? "nothing, if the diagram is only an illustration; a workflow is drawn as `flowchart TD`"
        : "start the block with `flowchart TD`",
      at: this.#reader.cursor.place(offset),
    });
  }

  #readDirection(): string {
    const { cursor } = this.#reader;
    const start = cursor.position;
    while (isIdCode(cursor.code())) cursor.position++;
    const word = cursor.slice(start, cursor.position);
    if (word === "" || directions.has(word)) return word === "" ? "TB" : word;
    this.#reader.report(
      "MERMAID_UNKNOWN_DIRECTION",
      start,
      `\`${shorten(word)}\` is not a direction of a flowchart`,
      "write TD, TB, BT, LR or RL, or nothing; nodes begin on the next line",
    );
    this.#reader.skipStatement();
    return "TB";
  }

  #isRule(offset: number): boolean {
    if (!this.#reader.cursor.has("---", offset)) return false;
    const code = this.#reader.cursor.code(this.#reader.afterBlanks(offset + 3));
    return code === newline || code === -1;
  }

  #skipFrontMatter(): void {
    const { cursor } = this.#reader;
    const opening = cursor.position;
    for (let end = cursor.lineEnd(); end < cursor.text.length; end = cursor.lineEnd()) {
      cursor.position = end + 1;
      cursor.skipBlanks();
      if (this.#isRule(cursor.position)) {
        cursor.position = cursor.lineEnd();
        return;
      }
    }
    this.#reader.report(
      "MERMAID_UNCLOSED_FRONT_MATTER",
      opening,
      "the front matter of this block is never closed",
      "close it with a line `---` before `flowchart`",
    );
    cursor.position = cursor.lineEnd(opening);
  }

  #readStatements(): void {
    for (;;) {
      this.#skipToStatement();
      if (this.#reader.cursor.atEnd) return;
      this.#readStatement();
    }
  }

  /** Skips blanks, separators, comments and directives. */
  #skipToStatement(): void {
    const { cursor } = this.#reader;
    for (;;) {
      cursor.skipBlanksAndLines();
      if (cursor.code() === semicolon) {
        cursor.position++;
        this.#lastGroup = null;
      } else if (cursor.has("%%{")) this.#skipDirective();
      else if (cursor.has("%%")) cursor.position = cursor.lineEnd();
      else return;
    }
  }

  #skipDirective(): void {
    const { cursor } = this.#reader;
    const end = cursor.find("}%%", cursor.position);
    if (end >= 0) {
      cursor.position = end + 3;
      return;
    }
    this.#reader.report(
      "MERMAID_UNCLOSED_DIRECTIVE",
      cursor.position,
      "the directive `%%{` is never closed",
      "close it with `}%%`, or write `%% {` for a comment",
    );
    cursor.position = cursor.lineEnd();
  }

  #readStatement(): void {
    const { cursor } = this.#reader;
    const start = cursor.position;
    const end = this.#reader.endOfId(start);
    const word = cursor.slice(start, end);
    const after = this.#reader.afterBlanks(end);
    const isSpaced = after > end;
    const continued = this.#lastGroup;
    this.#lastGroup = null;

    if (ignoredStatements.has(word) && isSpaced && !this.#reader.endsStatement(after) && !this.#continuesNode(after)) {
      return this.#reader.skipStatement();
    }
    if (word === "direction" && isSpaced && directions.has(cursor.slice(after, after + 2))) {
      return this.#reader.skipStatement();
    }
    if (word === "subgraph" && (this.#reader.endsStatement(after) || (isSpaced && !this.#continuesNode(after)))) {
      return this.#openSubgraph(start, after);
    }
    if (word === "end" && this.#reader.endsStatement(after)) return this.#closeSubgraph(start, end);
    if ((word === "accTitle" || word === "accDescr") && cursor.code(after) === colon) {
      cursor.position = cursor.lineEnd();
      return;
    }
    if (word === "accDescr" && cursor.code(after) === openBrace) return this.#skipDescription(after);
    if (cursor.has("@{", end) && this.#notVertices.has(word)) {
      cursor.position = end;
      const mention: Mention = { id: word, offset: start, shape: null, caption: null, attributes: null };
      if (readSuffixes(this.#reader, mention)) this.#reader.expectStatementEnd(`\`${word}@{ … }\``);
      return;
    }
    this.#readChain(continued);
  }

  #openSubgraph(start: number, after: number): void {
    const { cursor } = this.#reader;
    const end = this.#reader.endOfId(after);
    const next = this.#reader.afterBlanks(end);
    const isId = end > after && (cursor.code(next) === openBracket || this.#reader.endsStatement(next));
    const id = isId ? cursor.slice(after, end) : null;
    if (id !== null) this.#subgraphs.add(id);
    this.#openSubgraphs.push({ id, offset: start });
    this.#reader.skipStatement();
  }

  #closeSubgraph(start: number, end: number): void {
    this.#reader.cursor.position = end;
    const subgraph = this.#openSubgraphs.pop();
    if (subgraph === undefined) {
      this.#reader.report(
        "MERMAID_END_WITHOUT_SUBGRAPH",
        start,
        "`end` closes a subgraph, but none is open",
        "delete the line; a node may not be called `end` in lower case",
      );
    } else if (subgraph.id !== null) this.#notVertices.add(subgraph.id);
  }

  #skipDescription(brace: number): void {
    const { cursor } = this.#reader;
    const end = cursor.find("}", brace);
    if (end < 0) {
      this.#reader.report("MERMAID_UNCLOSED_DESCRIPTION", brace, "`accDescr {` is never closed", "close it with `}`");
    }
    cursor.position = end < 0 ? cursor.lineEnd(brace) : end + 1;
  }

  /** Whether the text after a word can follow a node's id. Then the word is meant as an id. */
  #continuesNode(offset: number): boolean {
    const code = this.#reader.cursor.code(offset);
    return (
      code === ampersand || this.#reader.cursor.has("@{", offset) || scanArrow(this.#reader.cursor, offset) !== null
    );
  }

  #readChain(continued: readonly string[] | null): void {
    const { cursor } = this.#reader;
    const start = cursor.position;
    const isContinued = !this.#isId(start) && scanArrow(cursor, start) !== null;
    if (isContinued && continued === null) {
      this.#reader.report(
        "MERMAID_ARROW_WITHOUT_SOURCE",
        start,
        "this arrow has no node before it",
        "write the node it starts from before the arrow: A --> B",
      );
      return this.#reader.skipStatement();
    }
    let from = isContinued ? continued : this.#readFirstGroup();
    while (from !== null) {
      cursor.skipBlanks();
      if (this.#reader.atStatementEnd()) {
        this.#lastGroup = from;
        return;
      }
      const arrow = readArrow(this.#reader, this.#notVertices);
      if (arrow === null) return;
      const to = this.#readTarget(arrow);
      if (to === null) return;
      this.#draft.link(from, to, arrow);
      from = to;
    }
  }

  /** Any text that begins like an arrow may follow an id: `x--> B` starts at the node x. */
  #isId(offset: number): boolean {
    return this.#reader.endOfId(offset) > offset;
  }

  #readFirstGroup(): readonly string[] | null {
    const { cursor } = this.#reader;
    const start = cursor.position;
    const mentions = this.#readGroup("statement");
    if (mentions === null) return null;
    const [first] = mentions;
    const isBareWord =
      mentions.length === 1 && first?.shape === null && first.caption === null && first.attributes === null;
    cursor.skipBlanks();
    if (
      isBareWord &&
      isIdStart(cursor.code()) &&
      !isEdgeId(this.#reader, cursor.position) &&
      scanArrow(cursor, cursor.position) === null
    ) {
      cursor.position = start;
      this.#reader.report(
        "MERMAID_UNKNOWN_STATEMENT",
        start,
        `\`${this.#reader.excerpt()}\` is neither a node nor a link nor a statement of a flowchart`,
        "write a node as ID[caption], a link as A --> B, a comment as %% text",
      );
      this.#reader.skipStatement();
      return null;
    }
    return mentions.map((mention) => this.#draft.register(mention));
  }

  #readTarget(arrow: DrawnArrow): readonly string[] | null {
    const { cursor } = this.#reader;
    cursor.skipBlanks();
    if (this.#reader.atStatementEnd() || !looksLikeId(this.#reader, cursor.position)) {
      const found = this.#reader.atStatementEnd() ? "nothing" : `\`${this.#reader.excerpt()}\``;
      this.#reader.report(
        "MERMAID_ARROW_WITHOUT_TARGET",
        arrow.offset,
        `this arrow leads to no node: ${found} follows it`,
        "write the node it leads to on the same line, after the arrow and its label: A -->|label| B",
      );
      this.#reader.skipStatement();
      return null;
    }
    return this.#readGroup("target")?.map((mention) => this.#draft.register(mention)) ?? null;
  }

  #readGroup(role: "statement" | "target"): Mention[] | null {
    const { cursor } = this.#reader;
    const mentions: Mention[] = [];
    for (;;) {
      const mention = readNode(this.#reader, mentions.length === 0 ? role : "ampersand");
      if (mention === null) return null;
      mentions.push(mention);
      cursor.skipBlanks();
      if (cursor.code() !== ampersand) return mentions;
      cursor.position++;
      cursor.skipBlanks();
    }
  }
}
