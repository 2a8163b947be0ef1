/**
 * The JSON of a reply. Models wrap it in a Markdown fence, with or without words around it, even when told not to.
 *
 * J1  A reply that is JSON as it stands is taken as it stands. A byte order mark before it means nothing.
 * J2  Otherwise the one fenced block that holds JSON is taken. Of several, none: which of them is the answer is not ours to guess.
 * J3  Each character is looked at a fixed number of times. What is nested too deep, or has too many blocks, is not parsed.
 */
import { countValues, mostDepth } from "./json-depth.ts";

export type ReadJson = { readonly value: unknown } | { readonly why: string };

export function readJsonReply(reply: string): ReadJson {
  const text = reply.startsWith("\ufeff") ? reply.slice(1) : reply;
  const whole = parseJson(text);
  if ("value" in whole) return whole;
  const blocks = fencedBlocks(text);
  if (blocks.length > mostBlocks) return { why: `it has more than ${mostBlocks} fenced blocks` };
  const found = blocks.map(parseJson);
  const values = found.filter((one) => "value" in one);
  const [first, ...others] = values;
  if (first !== undefined) return others.length === 0 ? first : { why: `it has ${values.length} blocks of JSON` };
  return found[0] ?? whole;
}

/** Of which the one with the answer is looked for. */
const mostBlocks = 1_000;

export function parseJson(text: string): ReadJson {
  if (countValues(text) === null) return { why: `it is nested more than ${mostDepth} deep` };
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { why: error instanceof Error ? error.message : String(error) };
  }
}

/** Contents of blocks between lines that begin with three backticks or more. The last one may lack its end, or end its last line with it. */
function fencedBlocks(text: string): string[] {
  const blocks: string[] = [];
  let open: { readonly mark: string; readonly lines: string[] } | null = null;
  for (const line of text.split("\n")) {
    const start = line.trimStart();
    if (open === null) {
      const mark = fenceAt(start);
      if (mark !== "") open = { mark, lines: [] };
    } else if (start.startsWith(open.mark)) {
      blocks.push(open.lines.join("\n"));
      if (blocks.length > mostBlocks) return blocks;
      open = null;
    } else {
      open.lines.push(line);
    }
  }
  if (open !== null) {
    const rest = open.lines.join("\n").trimEnd();
    blocks.push(rest.endsWith(open.mark) ? rest.slice(0, -open.mark.length) : rest);
  }
  return blocks;
}

function fenceAt(line: string): string {
  let length = 0;
  while (line[length] === "`") length += 1;
  return length >= 3 ? line.slice(0, length) : "";
}
