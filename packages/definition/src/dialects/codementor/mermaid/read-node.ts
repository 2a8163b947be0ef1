import { dot, equals, isIdCode } from "./character-codes.ts";
import { type ChartReader, shorten } from "./chart-reader.ts";
import type { Mention } from "./flowchart-draft.ts";
import { readAttributes } from "./read-attributes.ts";
import { readShape, shapeHere } from "./read-shape.ts";
import { scanArrow } from "./scan-arrow.ts";

/** Words that mermaid's lexer consumes at any position. */
const reservedIds = new Set(["click", "href", "call"]);

/** Words that mermaid's lexer consumes even if a dash follows. */
const reservedBeforeDash = new Set([
  "end",
  "style",
  "linkStyle",
  "classDef",
  "class",
  "subgraph",
  "graph",
  "flowchart",
  "interpolate",
  "_self",
  "_blank",
  "_parent",
  "_top",
]);

/** Returns null after a finding; the cursor is then at the next statement. `role`: the expected role of the node. */
export function readNode(reader: ChartReader, role: "statement" | "target" | "ampersand"): Mention | null {
  const { cursor } = reader;
  const offset = cursor.position;
  const end = reader.endOfId(offset);
  if (end === offset && !looksLikeId(reader, offset)) {
    const found = reader.atStatementEnd() ? "nothing" : `\`${reader.excerpt()}\``;
    if (role === "ampersand") {
      reader.report("MERMAID_MISSING_NODE", offset, `a node must follow \`&\`, found ${found}`, "write A & B --> C");
    } else {
      reader.report(
        "MERMAID_UNKNOWN_STATEMENT",
        offset,
        `${found} is neither a node nor a link nor a statement of a flowchart`,
        "write a node as ID[caption], a link as A --> B, a comment as %% text",
      );
    }
    reader.skipStatement();
    return null;
  }
  if (end === offset || looksLikeId(reader, end)) {
    let wrong = end;
    while (looksLikeId(reader, wrong) || reader.endOfId(wrong) > wrong)
      wrong = Math.max(wrong + 1, reader.endOfId(wrong));
    reader.report(
      "MERMAID_BAD_ID",
      offset,
      `\`${shorten(cursor.slice(offset, wrong))}\` cannot be the id of a node`,
      "start an id with a letter or `_`, and use only A-Z, a-z, 0-9, `_` and `-`; any other text goes into the caption: ID[text]",
    );
    reader.skipStatement();
    return null;
  }
  const id = cursor.slice(offset, end);
  const dashAt = id.indexOf("-");
  if (reservedIds.has(id) || reservedBeforeDash.has(dashAt < 0 ? id : id.slice(0, dashAt))) {
    reader.report(
      "MERMAID_RESERVED_ID",
      offset,
      `mermaid reserves the word \`${shorten(id)}\`, so no node can have it as its id`,
      `write it in capitals or lengthen it: ${shorten(id).toUpperCase()}, ${shorten(id).replaceAll("-", "_")}_node`,
    );
    reader.skipStatement();
    return null;
  }
  cursor.position = end;
  const mention: Mention = { id, offset, shape: null, caption: null, attributes: null };
  return readSuffixes(reader, mention) ? mention : null;
}

/** Whether mermaid, or an author, would read the character as part of an id, whether our grammar allows it or not. */
export function looksLikeId(reader: ChartReader, offset: number): boolean {
  const code = reader.cursor.code(offset);
  if (code === dot || code === equals)
    return (
      offset > 0 &&
      isIdCode(reader.cursor.code(offset - 1)) &&
      scanArrow(reader.cursor, offset) === null &&
      !reader.cursor.has("=>", offset)
    );
  return (
    isIdCode(code) ||
    code > 0xff ||
    (code >= 0xc0 && code <= 0xff) ||
    (code !== -1 && "/#$*+!?'^\\,".includes(String.fromCharCode(code)))
  );
}

/** Reads shape, attributes and class of a node, in any order. Returns false after a finding; the cursor is then at the next statement. */
export function readSuffixes(reader: ChartReader, mention: Mention): boolean {
  const { cursor } = reader;
  for (;;) {
    cursor.skipBlanks();
    if (cursor.has("@{")) {
      if (!readAttributes(reader, mention)) return false;
    } else if (cursor.has(":::")) {
      if (!skipClass(reader)) return false;
    } else {
      const shape = mention.shape === null ? shapeHere(reader) : undefined;
      if (shape === undefined) return true;
      if (!readShape(reader, mention, shape)) return false;
    }
  }
}

function skipClass(reader: ChartReader): boolean {
  const { cursor } = reader;
  const start = cursor.position;
  cursor.position += 3;
  cursor.skipBlanks();
  const name = cursor.position;
  cursor.position = reader.endOfId(name);
  if (cursor.position > name) return true;
  reader.report(
    "MERMAID_BAD_CLASS",
    start,
    "`:::` is not followed by the name of a class",
    "write ID:::class, or delete it",
  );
  reader.skipStatement();
  return false;
}
