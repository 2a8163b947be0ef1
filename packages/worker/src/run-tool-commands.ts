/**
 * The commands of one tool call share one time limit and one length limit: a model's text has up to a hundred commands.
 *
 * Commands after the end of the time are not run. A command whose output is too long is run, and its output is left
 * out. The text for the model names both.
 */
import { type CommandSpec, renderTranscript, type TranscriptEntry } from "@markmill/sandbox";
import { type CommandRunning, runCommands } from "./perform-execute.ts";

export interface CallBounds {
  /** A time of `performance.now()`. */
  readonly until: number;
  readonly maxBytes: number;
}

/** The minimum for a command's output, however little room is left. */
const leastBytes = 1_024;
/** For the notes of a command. */
const notesBytes = 512;

/** Executed commands are added to `entries`, as by `runCommands`. */
export async function runToolCommands(
  running: CommandRunning,
  commands: readonly CommandSpec[],
  { until, maxBytes }: CallBounds,
  entries: TranscriptEntry[],
): Promise<void> {
  let bytes = 0;
  for (const [at, command] of commands.entries()) {
    const wallMs = Math.floor(until - performance.now());
    if (wallMs <= 0) {
      entries.push({ kind: "note", text: `timed out: ${commands.length - at} more commands were not run` });
      return;
    }
    const left = maxBytes - bytes - Buffer.byteLength(command.text) - notesBytes;
    const limits = { wallMs, outputBytes: Math.max(leastBytes, left) };
    const before = entries.length;
    await runCommands(running, [{ ...command, limits }], entries);
    bytes += Buffer.byteLength(renderTranscript(entries.slice(before)));
  }
}

/** The first entry is always shown. */
export function renderWithin(entries: readonly TranscriptEntry[], maxBytes: number): string {
  let text = "";
  for (const [at, entry] of entries.entries()) {
    const next = renderTranscript([entry]);
    if (at > 0 && entry.kind !== "note" && Buffer.byteLength(text) + Buffer.byteLength(next) > maxBytes) {
      const left = entries.slice(at);
      const notes = left.filter(({ kind }) => kind === "note");
      const what = `output truncated: what ${left.length - notes.length} more commands came to is not shown`;
      return text + renderTranscript([{ kind: "note", text: what }, ...notes]);
    }
    text += next;
  }
  return text;
}
