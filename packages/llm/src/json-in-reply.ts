/**
 * Finds the JSON in a reply. Models put it into a Markdown fence, with or without words around it, even when told not to.
 *
 * J1  A reply that is JSON is used unchanged. A byte order mark before it is ignored.
 * J2  Otherwise the only fenced block with JSON is used. With several such blocks none is used: we do not guess which one is the answer.
 * J3  If no such block contains JSON, fences in the middle of a line count too (`Here it is: ```json`, `} ``` I hope`). If the whole reply
 *     is one quotation (`> `), the fences inside it count as well. A quotation inside a reply is foreign text and never the answer.
 * J4  If a block is not valid JSON, comments and commas before a closing bracket are removed (`jsonc`): they have no meaning.
 * J5  Each character is read a fixed number of times. Text that is nested too deep, or has too many blocks, is not parsed.
 */
import { isTooDeep, mostDepth } from "./json-depth.ts";

export type ReadJson = { readonly value: unknown } | { readonly why: string };

export function readJsonReply(reply: string): ReadJson {
  const text = reply.startsWith("\ufeff") ? reply.slice(1) : reply;
  const whole = parseJson(text);
  if ("value" in whole) return whole;
  const read = readBlocks(fencedBlocks(text));
  if (read !== null && "value" in read) return read;
  if (read?.several === true) return { why: read.why };
  const loose = readBlocks(looseBlocks(text));
  if (loose !== null && "value" in loose) return loose;
  return loose?.several === true ? { why: loose.why } : (read ?? whole);
}

/** null: there are no blocks. */
function readBlocks(blocks: readonly string[]): (ReadJson & { readonly several?: true }) | null {
  if (blocks.length > mostBlocks) return { why: `it has more than ${mostBlocks} fenced blocks`, several: true };
  const found = blocks.map(parseBlock);
  const values = found.filter((one) => "value" in one);
  if (values.length > 1) return { why: `it has ${values.length} blocks of JSON`, several: true };
  return values[0] ?? found[0] ?? null;
}

/** The maximum number of blocks that are searched for the answer. */
const mostBlocks = 1_000;

export function parseJson(text: string): ReadJson {
  if (isTooDeep(text)) return { why: `it is nested more than ${mostDepth} deep` };
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { why: error instanceof Error ? error.message : String(error) };
  }
}

function parseBlock(block: string): ReadJson {
  const text = block.replace(/^[\s\u200b\u2060\ufeff]+/u, "");
  const strict = parseJson(text);
  if ("value" in strict) return strict;
  const bare = parseJson(withoutComments(text));
  return "value" in bare ? bare : strict;
}

/** Removes comments and trailing commas (J4). Text inside JSON strings stays. */
function withoutComments(text: string): string {
  const kept: string[] = [];
  /** The position of the last kept character that is not white space, if it is a comma after a value. */
  let comma = -1;
  let last = "";
  for (let at = 0; at < text.length; ) {
    const character = text.charAt(at);
    const next = text.charAt(at + 1);
    let end = at + 1;
    if (character === '"') end = endOfText(text, at);
    else if (character === "/" && next === "/") end = endAt(text, "\n", at, 0);
    else if (character === "/" && next === "*") end = endAt(text, "*/", at + 2, 2);
    const isComment = character === "/" && (next === "/" || next === "*");
    if (!isComment) {
      if ((character === "}" || character === "]") && comma >= 0) kept[comma] = "";
      if (character.trim() !== "") {
        comma = character === "," && !"[{,".includes(last) ? kept.length : -1;
        last = character;
      }
      kept.push(text.slice(at, end));
    }
    at = end;
  }
  return kept.join("");
}

function endOfText(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charAt(at) !== '"') at += text.charAt(at) === "\\" ? 2 : 1;
  return Math.min(at + 1, text.length);
}

function endAt(text: string, mark: string, from: number, length: number): number {
  const found = text.indexOf(mark, from);
  return found < 0 ? text.length : found + length;
}

/**
 * Returns the contents of blocks between lines that start with three or more backticks or tildes, also inside list items. The last block
 * may lack its end, or its end may be on its last line. A block on one line may have its tag before it.
 */
function fencedBlocks(text: string): string[] {
  const blocks: string[] = [];
  let open: { readonly mark: string; readonly lines: string[] } | null = null;
  for (const line of text.split("\n")) {
    const start = line.trimStart();
    if (open === null) {
      const item = /^(?:[-*+]|[0-9]{1,9}[.)]) {1,4}/.exec(start)?.[0] ?? "";
      const opening = start.slice(item.length);
      const mark = fenceAt(opening);
      if (mark === "") continue;
      const one = onOneLine(opening, mark);
      if (one === null) open = { mark, lines: [] };
      else blocks.push(one);
      if (blocks.length > mostBlocks) return blocks;
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

const quoted = /^ {0,3}(?:> ?){1,8}/;

/** Returns the contents between marks anywhere in their lines (J3). */
function looseBlocks(text: string): string[] {
  const blocks: string[] = [];
  let open: { readonly mark: string; readonly lines: string[] } | null = null;
  const lines = text.split("\n");
  const allQuoted = lines.every((line) => line.trim() === "" || quoted.test(line));
  for (const whole of lines) {
    if (!allQuoted && quoted.test(whole)) continue;
    const line = whole.replace(quoted, "");
    if (open !== null) {
      const end = line.indexOf(open.mark);
      open.lines.push(end < 0 ? line : line.slice(0, end));
      if (end < 0) continue;
      blocks.push(open.lines.join("\n"));
      open = null;
    } else {
      const at = line.search(/```|~~~/);
      if (at < 0) continue;
      const opening = line.slice(at);
      const mark = fenceAt(opening);
      const one = onOneLine(opening.slice(0, opening.lastIndexOf(mark) + mark.length), mark);
      if (one === null) open = { mark, lines: [] };
      else blocks.push(one);
    }
    if (blocks.length > mostBlocks) return blocks;
  }
  return open === null ? blocks : [...blocks, open.lines.join("\n")];
}

/** null: the line only opens a block. */
function onOneLine(line: string, mark: string): string | null {
  const whole = line.trimEnd();
  if (whole.length <= 2 * mark.length || !whole.endsWith(mark)) return null;
  const content = whole.slice(mark.length, -mark.length);
  return content.replace(/^[A-Za-z0-9]{0,20}[ \t]{0,4}(?=[[{"])/, "");
}

function fenceAt(line: string): string {
  const mark = line.startsWith("~") ? "~" : "`";
  let length = 0;
  while (line[length] === mark) length += 1;
  return length >= 3 ? line.slice(0, length) : "";
}
