// Finds the code blocks of a model's reply that are to be run. It follows CommonMark, in linear time. Pure. Invariants:
// 1. Only a fenced, closed block runs: a reply that was cut off inside a block must not run half a command.
// 2. A data block is never executed. Python and javascript blocks run only when the workflow allows them. An untagged block runs only when
//    it is the only block of the reply.
// 3. Every skipped block, or skipped lines of a block, is listed with the reason.

import { BlockScanner } from "@markmill/definition/markdown";
import type { CommandKind } from "../port.ts";
import { readCommands } from "./read-commands.ts";

export interface CommandBlock {
  readonly kind: CommandKind;
  readonly text: string;
  /** The line of the opening fence in the reply, from 1. */
  readonly line: number;
}

export interface SkippedBlock {
  /** The line of the opening fence, from 1. */
  readonly line: number;
  readonly tag: string;
  readonly reason:
    | "unclosed"
    | "data"
    | "not opted in"
    | "untagged among others"
    | "empty"
    | "too long"
    /** `lines` lines of a session block are output and are skipped. The block's commands run. */
    | "output"
    /** The rest of the reply, from this line on, was not searched. */
    | "beyond the cap";
  readonly lines?: number;
}

export interface ExtractOptions {
  /** Interpreters that the workflow allows besides the shell. */
  readonly interpreters?: readonly Exclude<CommandKind, "shell">[];
}

export const MAX_BLOCK_BYTES = 64 * 1024;
/** A longer reply is searched only up to here: no model writes commands after a megabyte. */
export const MAX_REPLY_CHARS = 1024 * 1024;

const kinds: Readonly<Record<string, CommandKind>> = {
  sh: "shell",
  shell: "shell",
  bash: "shell",
  zsh: "shell",
  console: "shell",
  "shell-session": "shell",
  shellsession: "shell",
  "sh-session": "shell",
  "bash-session": "shell",
  terminal: "shell",
  python: "python",
  python3: "python",
  py: "python",
  javascript: "javascript",
  js: "javascript",
  node: "javascript",
};
/** Only blocks with these tags show output between their commands. */
const sessionTags = new Set(["console", "shell-session", "shellsession", "sh-session", "bash-session", "terminal"]);

export function extractCommands(
  reply: string,
  options: ExtractOptions = {},
): { blocks: CommandBlock[]; skipped: SkippedBlock[] } {
  const source = reply.slice(0, MAX_REPLY_CHARS);
  const found = collectFenced(source);
  const blocks: CommandBlock[] = [];
  const skipped: SkippedBlock[] = [];
  for (const { info, value, closed, line } of found) {
    const tag = (/^\S*/.exec(info)?.[0] ?? "").toLowerCase();
    const kind = tag === "" ? "shell" : Object.hasOwn(kinds, tag) ? kinds[tag] : undefined;
    const reason = reasonToSkip({ tag, kind, text: value, closed, only: found.length === 1 }, options);
    if (reason !== undefined || kind === undefined) {
      skipped.push({ line, tag, reason: reason ?? "data" });
      continue;
    }
    const { text, outputLines } =
      kind === "shell"
        ? readCommands(value, sessionTags.has(tag) ? "session" : "commands")
        : { text: value, outputLines: 0 };
    if (outputLines > 0) skipped.push({ line, tag, reason: "output", lines: outputLines });
    if (text.trim() === "") skipped.push({ line, tag, reason: "empty" });
    else blocks.push({ kind, text, line });
  }
  if (source.length < reply.length) {
    skipped.push({ line: source.split("\n").length, tag: "", reason: "beyond the cap" });
  }
  return { blocks, skipped };
}

function reasonToSkip(
  block: { tag: string; kind: CommandKind | undefined; text: string; closed: boolean; only: boolean },
  options: ExtractOptions,
): SkippedBlock["reason"] | undefined {
  if (block.kind === undefined) return "data";
  if (!block.closed) return "unclosed";
  if (block.tag === "" && !block.only) return "untagged among others";
  if (block.kind !== "shell" && !options.interpreters?.includes(block.kind)) return "not opted in";
  if (block.text.trim() === "") return "empty";
  if (Buffer.byteLength(block.text) > MAX_BLOCK_BYTES) return "too long";
  return undefined;
}

interface Fenced {
  readonly info: string;
  readonly value: string;
  readonly closed: boolean;
  readonly line: number;
}

function collectFenced(source: string): Fenced[] {
  const scanner = new BlockScanner();
  const found: Fenced[] = [];
  let open: { info: string; lines: string[]; line: number } | null = null;
  const end = (closed: boolean) => {
    if (open !== null) found.push({ info: open.info, value: open.lines.join("\n"), closed, line: open.line });
    open = null;
  };
  const lines = source.replaceAll("\0", "\ufffd").split(/\r\n?|\n/);
  for (const [index, text] of lines.entries()) {
    const line = scanner.next(text);
    if (line.is === "fenced") {
      if (line.closes) end(true);
      else open?.lines.push(scanner.contentOf(text));
      continue;
    }
    // The list or quote that contained the block has ended, so the block has ended too.
    end(false);
    if (line.is === "fence") open = { info: line.info, lines: [], line: index + 1 };
  }
  end(false);
  return found;
}

/** One sentence for people and models. */
export function tellSkipped({ line, tag, reason, lines }: SkippedBlock): string {
  const block = `the ${tag === "" ? "untagged" : tag.slice(0, 40)} block at line ${line} of the reply`;
  switch (reason) {
    case "output":
      return `${lines === 1 ? "1 line" : `${lines} lines`} of ${block} had no prompt and ${lines === 1 ? "was" : "were"} taken for output, not run`;
    case "beyond the cap":
      return `the reply was searched for commands only up to line ${line}: it is longer than ${MAX_REPLY_CHARS} characters`;
    case "data":
      return `${block} was not run: its language is not one that runs here`;
    case "unclosed":
      return `${block} was not run: it is not closed, so the reply may have been cut off`;
    case "not opted in":
      return `${block} was not run: the workflow does not allow its language`;
    case "untagged among others":
      return `${block} was not run: it names no language and is not the only block`;
    case "empty":
      return `${block} was not run: it contains no command`;
    case "too long":
      return `${block} was not run: it is longer than ${MAX_BLOCK_BYTES} bytes`;
  }
}
