/**
 * Separates a model's reasoning from its answer: `<think>…</think>` and similar tags. One pass, linear in the text.
 *
 * R1  A closed block is reasoning anywhere, except in code (a fence, or backticks on its line): there it is only mentioned.
 * R2  An end tag without a start tag makes everything before it reasoning: servers whose template opens the block send only its end.
 * R3  A block that never ends is reasoning up to the end of the text if its tag starts the text or a line. Within a line the tag is an
 *     ordinary word.
 */
export interface SplitReply {
  readonly text: string;
  /** "": none. */
  readonly reasoning: string;
}

const TAG = /[<◁](\/?)(?:seed:)?(?:think(?:ing)?|thought)[>▷]/giu;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

interface Tag {
  readonly from: number;
  readonly to: number;
  readonly closes: boolean;
}

export function splitReasoning(whole: string): SplitReply {
  const tags = [...whole.matchAll(TAG)].map(
    (found): Tag => ({ from: found.index, to: found.index + found[0].length, closes: found[1] === "/" }),
  );
  if (tags.length === 0) return { text: whole, reasoning: "" };
  const lastClose = tags.findLastIndex(({ closes }) => closes);
  const code = codeReader(whole);
  let kept: string[] = [];
  const thought: string[] = [];
  let at = 0;
  for (let index = 0; index < tags.length; index++) {
    const tag = tags[index] as Tag;
    if (code.holds(tag.from)) continue;
    if (tag.closes) {
      thought.push(...kept, whole.slice(at, tag.from));
      kept = [];
      at = tag.to;
      code.restart(at);
      continue;
    }
    if (index > lastClose && !opensLine(whole, tag.from)) continue;
    let end = index > lastClose ? tags.length : index + 1;
    while (end < lastClose && !tags[end]?.closes) end += 1;
    const close = tags[end];
    kept.push(whole.slice(at, tag.from));
    thought.push(whole.slice(tag.to, close?.from ?? whole.length));
    at = close?.to ?? whole.length;
    code.restart(at);
    // The tags up to the end are inside the block.
    index = end;
  }
  kept.push(whole.slice(at));
  const reasoning = joined(thought);
  if (at === 0) return { text: whole, reasoning: "" };
  return { text: kept.join("").trim(), reasoning };
}

export function joined(parts: readonly string[]): string {
  return parts
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .join("\n\n");
}

/** Looks back only a few characters, so that a long line does not make this quadratic. */
function opensLine(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - 200), at);
  const line = before.slice(before.lastIndexOf("\n") + 1);
  return line.trim() === "" && line.length < 200;
}

/** Tells whether a position is inside code. Positions must be passed in rising order, so that each character is read once. */
function codeReader(text: string) {
  let at = 0;
  let lineStart = 0;
  let ticks = 0;
  let fence: string | null = null;
  return {
    holds(place: number): boolean {
      for (; at < place; at++) {
        const character = text[at];
        if (character === "`") ticks += 1;
        if (character !== "\n") continue;
        const found = FENCE.exec(text.slice(lineStart, Math.min(at, lineStart + 80)))?.[1];
        if (found !== undefined) {
          if (fence === null) fence = found;
          else if (found[0] === fence[0] && found.length >= fence.length) fence = null;
        }
        lineStart = at + 1;
        ticks = 0;
      }
      return fence !== null || ticks % 2 === 1;
    },
    /** The text in between was reasoning. */
    restart(place: number) {
      at = place;
      lineStart = place;
      ticks = 0;
    },
  };
}
