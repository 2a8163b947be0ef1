// The code blocks of a model's reply that are to be run, found as CommonMark finds them. Pure. Invariants:
// 1. Only a fenced, closed block runs: a reply cut off in mid-block must not run half a command.
// 2. A block of data is never executed; python and javascript only when the workflow says so; an untagged block only when it
//    is the one block of the reply.
// 3. What does not run is listed with the reason.

import { fromMarkdown } from "mdast-util-from-markdown";
import type { CommandKind } from "../port.ts";

type Root = ReturnType<typeof fromMarkdown>;
type Nodes = Root | Root["children"][number];
type Code = Extract<Nodes, { type: "code" }>;

export interface CommandBlock {
  readonly kind: CommandKind;
  readonly text: string;
  /** Of the opening fence in the reply, from 1. */
  readonly line: number;
}

export interface SkippedBlock {
  readonly line: number;
  readonly tag: string;
  readonly reason: "unclosed" | "data" | "not opted in" | "untagged among others" | "empty" | "too long";
}

export interface ExtractOptions {
  /** Interpreters the workflow allows besides the shell. */
  readonly interpreters?: readonly Exclude<CommandKind, "shell">[];
}

export const MAX_BLOCK_BYTES = 64 * 1024;
/** A reply beyond this is not searched: no model writes commands after a megabyte. */
export const MAX_REPLY_CHARS = 1024 * 1024;

const kinds: Readonly<Record<string, CommandKind>> = {
  sh: "shell",
  shell: "shell",
  bash: "shell",
  zsh: "shell",
  console: "shell",
  "shell-session": "shell",
  shellsession: "shell",
  terminal: "shell",
  python: "python",
  python3: "python",
  py: "python",
  javascript: "javascript",
  js: "javascript",
  node: "javascript",
};

export function extractCommands(
  reply: string,
  options: ExtractOptions = {},
): { blocks: CommandBlock[]; skipped: SkippedBlock[] } {
  const source = reply.slice(0, MAX_REPLY_CHARS);
  const found = collectFenced(fromMarkdown(source), source);
  const blocks: CommandBlock[] = [];
  const skipped: SkippedBlock[] = [];
  for (const { node, closed, line } of found) {
    const tag = (node.lang ?? "").toLowerCase();
    const kind = tag === "" ? "shell" : Object.hasOwn(kinds, tag) ? kinds[tag] : undefined;
    const text = kind === "shell" ? withoutPrompts(node.value) : node.value;
    const reason = reasonToSkip({ tag, kind, text, closed, only: found.length === 1 }, options);
    if (reason !== undefined) skipped.push({ line, tag, reason });
    else if (kind !== undefined) blocks.push({ kind, text, line });
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
  readonly node: Code;
  readonly closed: boolean;
  readonly line: number;
}

function collectFenced(root: Nodes, source: string): Fenced[] {
  const found: Fenced[] = [];
  const waiting: Nodes[] = [root];
  for (let node = waiting.shift(); node !== undefined; node = waiting.shift()) {
    if ("children" in node) waiting.unshift(...node.children);
    if (node.type !== "code" || node.position === undefined) continue;
    const text = source.slice(node.position.start.offset, node.position.end.offset);
    const fence = /^(`{3,}|~{3,})/.exec(text)?.[1];
    if (fence === undefined) continue;
    const lines = text.split("\n");
    const last = (lines.at(-1) ?? "").replace(/^[\s>]*/, "").trimEnd();
    const closed = lines.length > 1 && last.length >= fence.length && last === (fence[0] ?? "").repeat(last.length);
    found.push({ node, closed, line: node.position.start.line });
  }
  return found;
}

/**
 * A block that begins with a prompt is a transcript: `$ ` lines are commands, `> ` lines continue them, other lines are output
 * when they follow a finished command. A block that does not begin with one is taken as it is.
 */
function withoutPrompts(text: string): string {
  const lines = text.split("\n");
  const first = lines.find((line) => line.trim() !== "" && !line.trim().startsWith("#"));
  if (first === undefined || !/^\s*\$ /.test(first)) return text;
  const kept: string[] = [];
  let continued = false;
  for (const line of lines) {
    const prompt = /^\s*\$ (.*)$/.exec(line);
    const more = /^> ?(.*)$/.exec(line);
    const isComment = line.trim().startsWith("#");
    const command =
      prompt?.[1] ??
      (continued ? (more?.[1] ?? line) : isComment ? line : more !== null && kept.length > 0 ? more[1] : undefined);
    if (command === undefined) continue;
    kept.push(command);
    continued = /(^|[^\\])(\\\\)*\\$/.test(command);
  }
  return kept.join("\n");
}
