// Reads the commands of a shell block and removes the prompts in front of them. Pure. Invariants:
// 1. In a shell block (`bash`, `sh`, ...) every line is kept; only a prompt before a command is removed.
// 2. In a session block (`console`, ...) that shows prompts, lines that belong to no command are output. They are counted.
// 3. Here-documents and quotations stay whole, including their prompts. Only the `> ` that bash itself would show is removed.

import { ShellReader } from "./shell-reader.ts";

export interface ReadCommands {
  readonly text: string;
  /** The number of lines treated as output. */
  readonly outputLines: number;
}

const prompt = /^\s*\$(?: (.*))?$/;
/** Also matches `name@host:~/folder$ `, as terminals show it. */
const sessionPrompt = /^\s*(?:\[?[\w.-]{1,64}@[\w.-]{1,64}[ :][^$#]{0,200}[$#]|\$)(?: (.*))?$/;
const secondPrompt = /^> ?(.*)$/;

export function readCommands(block: string, shows: "commands" | "session"): ReadCommands {
  const lines = block.split("\n");
  const first = shows === "session" ? sessionPrompt : prompt;
  if (!showsPrompts(lines, first)) return { text: block, outputLines: 0 };

  const reader = new ShellReader();
  const kept: string[] = [];
  let outputLines = 0;
  /** The current command started with a prompt, so lines with `> ` continue it. */
  let prompted = false;
  /** Lines of the current here-document start with `> `. */
  let led = false;
  const keep = (line: string) => {
    reader.next(line);
    kept.push(line);
  };
  for (const [index, line] of lines.entries()) {
    if (reader.inText) {
      const before = reader.document;
      keep(led || (prompted && before === undefined) ? (secondPrompt.exec(line)?.[1] ?? line) : line);
      if (reader.document !== before) led = prompted && isLed(lines, index + 1, reader);
      continue;
    }
    const command = first.exec(line);
    const more = prompted ? secondPrompt.exec(line) : null;
    if (command !== null) {
      prompted = true;
      keep(command[1] ?? "");
    } else if (more !== null && reader.isOpen) keep(more[1] ?? "");
    else if (shows === "session" && !reader.isOpen && !isBlankOrComment(line)) {
      outputLines += 1;
      prompted = false;
      continue;
    } else {
      prompted = prompted && reader.isOpen;
      keep(line);
    }
    led = prompted && isLed(lines, index + 1, reader);
  }
  return { text: kept.join("\n"), outputLines };
}

/** Text inside a here-document is not a prompt. */
function showsPrompts(lines: readonly string[], first: RegExp): boolean {
  const reader = new ShellReader();
  return lines.some((line) => {
    if (reader.document === undefined && first.test(line)) return true;
    reader.next(line);
    return false;
  });
}

/** Whether each line of the here-document, including its end, starts with bash's second prompt. */
function isLed(lines: readonly string[], from: number, reader: ShellReader): boolean {
  const { document } = reader;
  if (document === undefined) return false;
  for (let at = from; at < lines.length; at += 1) {
    const body = secondPrompt.exec(lines[at] ?? "")?.[1];
    if (body === undefined) return false;
    if ((document.withoutTabs ? body.replace(/^\t+/, "") : body) === document.delimiter) return true;
  }
  return false;
}

function isBlankOrComment(line: string): boolean {
  return /^\s*(#.*)?$/.test(line);
}
