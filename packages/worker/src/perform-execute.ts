/**
 * Runs commands in the run's sandbox session. Only the transcript leaves the session.
 *
 * kill -9 while a command runs: the next delivery finds the claim interrupted and reports the outcome as unknown. The engine requests the
 * activity again unless the workflow forbids that, and the session is restored to the state before the first command
 * (session-checkpoints.ts).
 */
import type { NextStep, Program, Work } from "@markmill/engine";
import {
  type CommandSpec,
  exitCodeOf,
  judgeCommand,
  parseInSession,
  renderTranscript,
  SandboxError,
  type SandboxErrorCode,
  type Session,
  type SkippedBlock,
  splitCommands,
  type TranscriptEntry,
  tellSkipped,
} from "@markmill/sandbox";
import type { Watched } from "@markmill/telemetry";
import { readForeign } from "./foreign-text.ts";
import { done, failed, type Performed } from "./performed.ts";
import { watchedCommand } from "./watch-activity.ts";

export async function performExecute(
  session: Session,
  program: Program,
  work: Extract<Work, { kind: "execute" }>,
  signal: AbortSignal,
  save: () => Promise<void>,
  watched: Watched | null = null,
): Promise<Performed> {
  const { commands, skipped } = await commandsOf(session, program, work);
  const notes = notesOf(skipped);
  const told = notes.length === 0 ? {} : { notes };
  const entries: TranscriptEntry[] = notesOf(
    skipped.filter(({ reason }) => reason !== "data" && reason !== "empty"),
  ).map((text) => ({ kind: "note", text }));
  if (commands.length === 0) {
    const text = `${renderTranscript(entries)}[no commands found in the reply]\n`;
    return done({ kind: "executed", text, exitCode: 0, commands: 0, ...told });
  }
  try {
    await runCommands({ session, program, signal, save, watched }, commands, entries);
  } catch (error) {
    if (signal.aborted) return { did: "leave" };
    if (!(error instanceof SandboxError)) throw error;
    const acted = entries.some((entry) => entry.kind === "ran");
    return sandboxFailed(error, nextStep(error, acted));
  }
  const text = await transcriptOf(entries);
  return done({ kind: "executed", text, exitCode: exitCodeOf(entries), commands: commands.length, ...told });
}

/** Below this length, reading the output takes some milliseconds. The output of a hundred commands takes a second. */
const shortTranscript = 256 * 1024;

async function transcriptOf(entries: readonly TranscriptEntry[]): Promise<string> {
  const length = entries.reduce((sum, one) => sum + (one.kind === "ran" ? one.outcome.output.length : 0), 0);
  return length > shortTranscript ? await readForeign(length, "renderTranscript", entries) : renderTranscript(entries);
}

export interface CommandRunning {
  readonly session: Session;
  readonly program: Program;
  readonly signal: AbortSignal;
  readonly save: () => Promise<void>;
  readonly watched: Watched | null;
}

/**
 * Runs the commands one after the other. Each executed or refused command is added to `entries`, even if a later one meets trouble of the
 * sandbox.
 */
export async function runCommands(
  { session, program, signal, save, watched }: CommandRunning,
  commands: readonly CommandSpec[],
  entries: TranscriptEntry[],
): Promise<void> {
  for (const command of commands) {
    const verdict = judgeCommand(command.text, policyOf(program));
    if (verdict.allowed) {
      const outcome = await watchedCommand(
        watched,
        command,
        () => session.run(command, { signal }),
        (ran) => ran,
      );
      entries.push({ kind: "ran", command: command.text, outcome });
      await save();
      if (session.endedByCommand === true) {
        entries.push({
          kind: "note",
          text: "the session ended during this command: its memory was full, or its processes stopped Markmill's programs; later commands were not run",
        });
        return;
      }
    } else entries.push({ kind: "refused", command: command.text, message: verdict.message });
  }
}

const mostNotes = 20;

/** Lists the blocks that were not run, for the model in the transcript (except blocks of data) and for people in the notes. */
function notesOf(skipped: readonly SkippedBlock[]): string[] {
  const notes = skipped.slice(0, mostNotes).map(tellSkipped);
  const left = skipped.length - notes.length;
  return left === 0 ? notes : [...notes, `${left} more blocks of the reply were not run`];
}

/** Trouble that passes without help. */
const passing: readonly SandboxErrorCode[] = [
  "SANDBOX_ENGINE_UNREACHABLE",
  "SANDBOX_ENGINE_FAILED",
  "SANDBOX_SESSION_BUSY",
  "SANDBOX_SESSION_LOST",
  "SANDBOX_START_FAILED",
];

/**
 * The workflow, the model or the submission asked for something impossible. All other errors are trouble of the installation, and the run
 * takes no edge for them.
 */
const refused: readonly SandboxErrorCode[] = [
  "SANDBOX_COMMAND_INVALID",
  "SANDBOX_FILES_REFUSED",
  "SANDBOX_LIMITS_INVALID",
  "SANDBOX_SESSION_INVALID",
];

export function isRefused({ code }: SandboxError): boolean {
  return refused.includes(code);
}

/** Once a command has run, a retry would run it twice. */
export function nextStep({ code }: SandboxError, acted: boolean): NextStep {
  if (acted || code === "SANDBOX_OUTCOME_UNKNOWN") return "unknown";
  if (passing.includes(code)) return "park";
  return refused.includes(code) ? "fail" : "hold";
}

export function sandboxFailed(error: SandboxError, next: NextStep): Performed {
  const reason = error.message.replace(`${error.code}: `, "");
  const trouble = { model: "the sandbox", endpoint: "this installation", reason };
  return failed(error.code, error.message, next, next === "park" || next === "hold" ? { trouble } : {});
}

async function commandsOf(
  session: Session,
  program: Program,
  work: Extract<Work, { kind: "execute" }>,
): Promise<{ commands: readonly CommandSpec[]; skipped: readonly SkippedBlock[] }> {
  if (work.source === "literal")
    return { commands: [{ kind: "shell", text: work.text, trust: "author", ...cleanOf(work) }], skipped: [] };
  const wanted = program.sandbox.languages ?? [];
  const interpreters = (["python", "javascript"] as const).filter((language) => wanted.includes(language));
  const commands: CommandSpec[] = [];
  const { blocks, skipped } = await readForeign(work.text.length, "extractCommands", work.text, { interpreters });
  for (const block of blocks) {
    if (block.kind !== "shell") commands.push({ kind: block.kind, text: block.text, trust: "foreign" });
    else {
      const parts = await splitCommands(block.text, parseInSession(session));
      commands.push(...parts.map((text) => ({ kind: "shell", text, trust: "foreign" }) as const));
    }
  }
  // Only the first command starts clean: the others continue from it.
  return { commands: commands.map((one, index) => (index === 0 ? { ...one, ...cleanOf(work) } : one)), skipped };
}

const cleanOf = ({ clean }: Extract<Work, { kind: "execute" }>) => (clean === undefined ? {} : { clean });

function policyOf({ sandbox }: Program) {
  return {
    ...(sandbox.allow === undefined ? {} : { allow: sandbox.allow }),
    ...(sandbox.deny === undefined ? {} : { deny: sandbox.deny }),
  };
}
