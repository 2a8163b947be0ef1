import {
  backslash,
  closeBrace,
  closeBracket,
  closeParenthesis,
  dash,
  openBrace,
  openBracket,
  openParenthesis,
  quote,
  slash,
} from "./character-codes.ts";
import { type ChartReader, shorten } from "./chart-reader.ts";
import type { Mention } from "./flowchart-draft.ts";

export interface Shape {
  readonly opener: string;
  /** The closing brackets, each with the name of the resulting shape. */
  readonly closers: readonly (readonly [closer: string, name: string])[];
  /** The bracket that may be nested, balanced, inside an unquoted caption. */
  readonly nests: readonly [number, number];
}

const square = [openBracket, closeBracket] as const;
const round = [openParenthesis, closeParenthesis] as const;
const curly = [openBrace, closeBrace] as const;

/** The longest opener comes first. */
const shapes: readonly Shape[] = [
  { opener: "(((", closers: [[")))", "doublecircle"]], nests: round },
  { opener: "((", closers: [["))", "circle"]], nests: round },
  { opener: "([", closers: [["])", "stadium"]], nests: square },
  { opener: "(-", closers: [["-)", "ellipse"]], nests: round },
  { opener: "(", closers: [[")", "round"]], nests: round },
  { opener: "[[", closers: [["]]", "subroutine"]], nests: square },
  { opener: "[(", closers: [[")]", "cylinder"]], nests: round },
  {
    opener: "[/",
    closers: [
      ["/]", "lean_right"],
      ["\\]", "trapezoid"],
    ],
    nests: square,
  },
  {
    opener: "[\\",
    closers: [
      ["\\]", "lean_left"],
      ["/]", "inv_trapezoid"],
    ],
    nests: square,
  },
  { opener: "[", closers: [["]", "square"]], nests: square },
  { opener: "{{", closers: [["}}", "hexagon"]], nests: curly },
  { opener: "{", closers: [["}", "diamond"]], nests: curly },
  { opener: ">", closers: [["]", "odd"]], nests: square },
];

export function shapeHere(reader: ChartReader): Shape | undefined {
  const { cursor } = reader;
  // Three braces are a diamond around `{{NAME}}`, because a hexagon's caption cannot begin with a single brace.
  const isTemplate = cursor.has("{{{") && !cursor.has("{{{{");
  return shapes.find(({ opener }) => cursor.has(opener) && !(isTemplate && opener === "{{"));
}

/** Returns false after a finding; the cursor is then at the end of the line. */
export function readShape(reader: ChartReader, mention: Mention, shape: Shape): boolean {
  const { cursor } = reader;
  const opening = cursor.position;
  const start = opening + shape.opener.length;
  const quoted = reader.readQuoted(reader.afterBlanks(start), (after) => closerAt(reader, shape, after) !== undefined);
  if (quoted !== null) {
    const [closer = "", name = null] = closerAt(reader, shape, quoted.after) ?? [];
    cursor.position = quoted.after + closer.length;
    mention.shape = name;
    mention.caption = quoted.caption;
    return true;
  }
  const end = findCloser(reader, shape, start);
  if (end === null) {
    const expected = shape.closers.map(([closer]) => closer).join("` or `");
    reader.report(
      "MERMAID_UNCLOSED_BRACKET",
      opening,
      `the bracket \`${shape.opener}\` of node ${shorten(mention.id)} is not closed by \`${expected}\` on its line`,
      `close it with \`${expected}\`; quote a caption that contains brackets or takes several lines: ${shape.opener}"…"${shape.closers[0]?.[0]}`,
    );
    cursor.position = cursor.lineEnd(opening);
    return false;
  }
  const first = reader.afterBlanks(start);
  if (cursor.code(first) === quote && hasOddQuotes(reader, first, end.start)) {
    reader.report(
      "MERMAID_UNCLOSED_QUOTE",
      first,
      `the caption of node ${shorten(mention.id)} opens a quote and does not close it before \`${cursor.slice(end.start, end.end)}\``,
      'end the caption with a quote before the bracket; write #quot; for a quote inside it: ["say #quot;yes#quot;"]',
    );
    cursor.position = cursor.lineEnd(opening);
    return false;
  }
  cursor.position = end.end;
  mention.shape = end.shape;
  mention.caption = reader.caption(end.captionStart, end.start);
  return true;
}

function closerAt(reader: ChartReader, shape: Shape, offset: number): Shape["closers"][number] | undefined {
  return shape.closers.find(([closer]) => reader.cursor.has(closer, offset));
}

/** Finds the end of an unquoted caption: the closing bracket outside all inner brackets of the same kind. */
function findCloser(
  reader: ChartReader,
  shape: Shape,
  start: number,
): { readonly shape: string; readonly captionStart: number; readonly start: number; readonly end: number } | null {
  const { cursor } = reader;
  const [opens, closes] = shape.nests;
  const limit = cursor.lineEnd();
  let depth = 0;
  for (let offset = start; offset < limit; offset++) {
    const code = cursor.code(offset);
    if (code === opens) depth++;
    if (code !== closes) continue;
    if (depth > 0) {
      depth--;
      continue;
    }
    const mark = cursor.code(start - 1);
    if (mark !== slash && mark !== backslash && mark !== dash) {
      const [closer, name] = closerAt(reader, shape, offset) ?? [];
      if (closer === undefined || name === undefined) return null;
      return { shape: name, captionStart: start, start: offset, end: offset + closer.length };
    }
    // `[/`, `[\` and `(-` need the same mark before the closing bracket. Without it, the mark is text: [/bin/ls]
    const marked = offset > start ? closerAt(reader, shape, offset - 1) : undefined;
    return marked === undefined
      ? { shape: mark === dash ? "round" : "square", captionStart: start - 1, start: offset, end: offset + 1 }
      : { shape: marked[1], captionStart: start, start: offset - 1, end: offset + 1 };
  }
  return null;
}

function hasOddQuotes(reader: ChartReader, from: number, to: number): boolean {
  let isOdd = false;
  for (let offset = from; offset < to; offset++) if (reader.cursor.code(offset) === quote) isOdd = !isOdd;
  return isOdd;
}
