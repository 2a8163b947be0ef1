import { atSign, isIdCode, openBrace, pipe } from "./character-codes.ts";
import type { CaptionText, ChartReader } from "./chart-reader.ts";
import type { DrawnArrow } from "./flowchart-draft.ts";
import { type Arrow, type Closing, closingAt, findClosing, scanArrow } from "./scan-arrow.ts";

export function isEdgeId(reader: ChartReader, offset: number): boolean {
  const end = endOfEdgeId(reader, offset);
  return end > offset && scanArrow(reader.cursor, end) !== null;
}

/** Returns the offset after `e1@`, or the same offset if there is none. */
function endOfEdgeId(reader: ChartReader, offset: number): number {
  let end = offset;
  while (isIdCode(reader.cursor.code(end))) end++;
  return end > offset && reader.cursor.code(end) === atSign && reader.cursor.code(end + 1) !== openBrace
    ? end + 1
    : offset;
}

/**
 * Reads an arrow with its label. Returns null after a finding; the cursor is then at the next statement. The id of an edge is added to
 * `edgeIds`.
 */
export function readArrow(reader: ChartReader, edgeIds: Set<string>): DrawnArrow | null {
  const { cursor } = reader;
  const idEnd = endOfEdgeId(reader, cursor.position);
  if (idEnd > cursor.position) {
    edgeIds.add(cursor.slice(cursor.position, idEnd - 1));
    cursor.position = idEnd;
    cursor.skipBlanks();
  }
  const offset = cursor.position;
  const arrow = scanArrow(cursor, offset);
  if (arrow === null) {
    if (cursor.has("->") || cursor.has("=>")) {
      reader.report(
        "MERMAID_UNKNOWN_ARROW",
        offset,
        `\`${cursor.slice(offset, offset + 2)}\` is no arrow of a flowchart`,
        "write `-->`, `==>` or `-.->`",
      );
      reader.skipStatement();
    } else reader.reportTextAfter("a node");
    return null;
  }
  cursor.position = arrow.end;
  return arrow.kind === "opening" ? readInnerLabel(reader, offset, arrow) : readPipeLabel(reader, offset, arrow);
}

/** Reads `-- label -->`. */
function readInnerLabel(
  reader: ChartReader,
  offset: number,
  opening: Extract<Arrow, { kind: "opening" }>,
): DrawnArrow | null {
  const { cursor } = reader;
  cursor.skipBlanks();
  const start = cursor.position;
  const quoted = reader.readQuoted(start, (after) => closingAt(cursor, opening.stroke, after) !== null);
  const closing: Closing | null =
    quoted === null
      ? findClosing(cursor, opening.stroke, start, cursor.lineEnd())
      : closingAt(cursor, opening.stroke, quoted.after);
  if (closing === null) {
    const written = cursor.slice(offset, opening.end);
    reader.report(
      opening.backwards ? "MERMAID_BACKWARD_ARROW" : "MERMAID_UNCLOSED_LABEL",
      offset,
      opening.backwards
        ? `\`${written}\` points backwards, which mermaid cannot draw`
        : `\`${written}\` opens a label that no arrow closes on this line`,
      opening.backwards ? "reverse the link: B --> A" : "write A -- label --> B, A -->|label| B, or A --> B",
    );
    cursor.position = cursor.lineEnd();
    return null;
  }
  cursor.position = closing.end;
  const label = quoted?.caption ?? reader.caption(start, closing.start);
  return { offset, flow: closing.head, label: orNoLabel(reader, label, offset) };
}

/** Reads `-->|label|`, or no label. */
function readPipeLabel(
  reader: ChartReader,
  offset: number,
  arrow: Extract<Arrow, { kind: "whole" }>,
): DrawnArrow | null {
  const { cursor } = reader;
  if (arrow.backwards && !arrow.head) {
    reader.report(
      "MERMAID_BACKWARD_ARROW",
      offset,
      `\`${cursor.slice(offset, arrow.end)}\` points backwards, which mermaid draws as a line without an arrow head`,
      "reverse the link: B --> A",
    );
  }
  cursor.skipBlanks();
  if (cursor.code() !== pipe) return { offset, flow: arrow.head, label: null };
  const bar = cursor.position;
  const quoted = reader.readQuoted(reader.afterBlanks(bar + 1), (after) => cursor.code(after) === pipe);
  const end = quoted?.after ?? cursor.find("|", bar + 1);
  if (end < 0 || (quoted === null && end > cursor.lineEnd())) {
    reader.report(
      "MERMAID_UNCLOSED_LABEL",
      bar,
      "this label is not closed by a second `|` on its line",
      "write A -->|label| B",
    );
    cursor.position = cursor.lineEnd();
    return null;
  }
  cursor.position = end + 1;
  return { offset, flow: arrow.head, label: orNoLabel(reader, quoted?.caption ?? reader.caption(bar + 1, end), bar) };
}

function orNoLabel(reader: ChartReader, label: CaptionText, offset: number): CaptionText | null {
  if (label.text !== "") return label;
  reader.report(
    "MERMAID_EMPTY_LABEL",
    offset,
    "the label of this arrow is empty",
    "write the label's text, or a plain `-->`",
  );
  return null;
}
