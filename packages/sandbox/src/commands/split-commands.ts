// Splits a shell block into complete commands, with the shell's own parser. Invariants:
// 1. Every line of the block is in exactly one command, in order. Joined by newlines, the commands are the block again. Comments and blank
//    lines belong to the command that follows.
// 2. The split never executes the block: bash only parses it (`-n`).
// 3. Commands that need the same shell stay together, since each command gets a fresh bash. After a command that changes the shell itself
//    (`set -e`, `trap`, `umask`, ...), the rest of the block stays with it. A background job stays with the commands that refer to it
//    (`$!`, `wait`, `%1`).

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Session } from "../port.ts";
import { quoteForBash } from "../session-script.ts";
import { trimFirstBlankLines, trimLastNewlines } from "./trim-newlines.ts";

/** Runs a constant bash script of ours, with the block as quoted data, and returns its output. */
export type BashParser = (script: string) => Promise<string>;

/** Parsing costs one bash per line. A longer block runs as one script. */
export const MAX_SPLIT_LINES = 200;
export const MAX_COMMANDS = 100;

export async function splitCommands(block: string, parse: BashParser): Promise<string[]> {
  const lines = trimLastNewlines(block.replaceAll("\r\n", "\n")).split("\n");
  if (lines.every(isBlankOrComment)) return [];
  if (lines.length > MAX_SPLIT_LINES) return [lines.join("\n")];
  const ends = lines.every(isPlainLine)
    ? lines.map((_, index) => index + 1)
    : readEnds(await parse(renderParse(lines)), lines.length);
  const commands = keepTogether(attachComments(cut(lines, ends)));
  if (commands.length <= MAX_COMMANDS) return commands;
  return [...commands.slice(0, MAX_COMMANDS - 1), commands.slice(MAX_COMMANDS - 1).join("\n")];
}

/** Parses inside the session, under the session's limits. Use it for text of unknown origin. */
export function parseInSession(session: Session): BashParser {
  return async (script) => (await session.run({ kind: "shell", text: script, trust: "foreign", aside: true })).output;
}

/** Parses on this machine, with little memory and time. Use it for our own text and for tests. */
export function parseOnHost(): BashParser {
  return async (script) => {
    const limited = `ulimit -t 10 -v 1048576 -c 0; ${script}`;
    const { stdout } = await promisify(execFile)("bash", ["--noprofile", "--norc", "-c", limited], {
      env: { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C" },
      timeout: 20_000,
      maxBuffer: 1024 * 1024,
    });
    return stdout;
  };
}

/**
 * Prints the number of each line that completes a command. `bash -n` only warns about an open here-document, so any message counts as
 * incomplete. A trailing backslash at the end causes no message, so the script checks for it. The script keeps `$?`, so that the block's
 * first command sees the status of the previous command.
 */
function renderParse(lines: readonly string[]): string {
  return `(
__mm_status=$? __mm_prefix= __mm_number=0
while IFS= builtin read -r __mm_line; do
  __mm_number=$((__mm_number + 1))
  __mm_prefix+=$__mm_line$'\\n'
  [[ $__mm_line =~ (^|[^\\\\])(\\\\\\\\)*\\\\$ ]] && continue
  if __mm_said=$(LC_ALL=C builtin command bash --noprofile --norc -n <<<"$__mm_prefix" 2>&1) && [[ -z $__mm_said ]]; then
    builtin printf '%s\\n' "$__mm_number"
    __mm_prefix=
  fi
done <<<${quoteForBash(lines.join("\n"))}
builtin exit "$__mm_status"
)`;
}

/** Accepts only increasing line numbers within the block. Other output cannot make a line run twice or not at all. */
function readEnds(printed: string, count: number): number[] {
  const ends: number[] = [];
  for (const line of printed.split("\n")) {
    const end = /^\d{1,4}$/.test(line) ? Number(line) : 0;
    if (end > (ends.at(-1) ?? 0) && end <= count) ends.push(end);
  }
  return ends;
}

function cut(lines: readonly string[], ends: readonly number[]): string[] {
  const starts = [0, ...ends];
  return starts
    .map((start, index) => lines.slice(start, ends[index] ?? lines.length).join("\n"))
    .filter((_, index) => (starts[index] ?? 0) < lines.length);
}

function attachComments(commands: readonly string[]): string[] {
  const attached: string[] = [];
  let waiting: string[] = [];
  for (const command of commands) {
    waiting.push(command);
    if (command.split("\n").every(isBlankOrComment)) continue;
    attached.push(waiting.join("\n"));
    waiting = [];
  }
  const last = attached.pop();
  return last === undefined
    ? []
    : [...attached, [last, ...waiting].join("\n")].map((command) => trimFirstBlankLines(command).trimEnd());
}

const setsTheShell = /^[ \t]*(set|shopt|trap|umask|ulimit|alias|exec|enable)\b/m;
const startsJob = /(^|[^&|>])&\s*(#.*)?$/m;
const speaksOfJobs = /\$!|(^|[\s;&|(])(wait|jobs|fg|bg|disown)\b|\s%(\d+|%|\+|-)/m;

function keepTogether(commands: readonly string[]): string[] {
  const together: string[] = [];
  for (let index = 0; index < commands.length; index += 1) {
    const command = commands[index] ?? "";
    let last = index;
    if (setsTheShell.test(command)) last = commands.length - 1;
    else if (startsJob.test(command)) {
      last = Math.max(
        index,
        commands.findLastIndex((later) => speaksOfJobs.test(later)),
      );
    }
    together.push(commands.slice(index, last + 1).join("\n"));
    index = last;
  }
  return together;
}

const reserved = /^(if|then|else|elif|fi|for|while|until|do|done|case|esac|select|function|time|coproc|in)$/;

/** Whether the line is certainly one complete command, or no command: it has no quotes, no nesting, and nothing left open. */
function isPlainLine(line: string): boolean {
  if (isBlankOrComment(line)) return true;
  if (!/^[A-Za-z0-9_./=:,@%+\- ~*?$>&|;]+$/.test(line) || /(\||&&)\s*$/.test(line) || /^\s*[&|;]/.test(line))
    return false;
  return !line.split(/[\s;&|]+/).some((word) => reserved.test(word));
}

function isBlankOrComment(line: string): boolean {
  return /^\s*(#.*)?$/.test(line);
}
