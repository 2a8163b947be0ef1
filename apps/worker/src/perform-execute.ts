/**
 * Runs commands in the run's sandbox session. The transcript is all that leaves it.
 *
 * kill -9 while a command runs: the session lives on, the next delivery finds the claim interrupted and reports the outcome as
 * unknown; the engine repeats it only where the workflow says that is safe.
 */
import type { NextStep, Program, Work } from "@markmill/engine";
import {
  type CommandSpec,
  exitCodeOf,
  extractCommands,
  judgeCommand,
  parseInSession,
  renderTranscript,
  SandboxError,
  type SandboxErrorCode,
  type Session,
  splitCommands,
  type TranscriptEntry,
} from "@markmill/sandbox";
import { done, failed, type Performed } from "./performed.ts";

export async function performExecute(
  session: Session,
  program: Program,
  work: Extract<Work, { kind: "execute" }>,
  signal: AbortSignal,
  save: () => Promise<void>,
): Promise<Performed> {
  const commands = await commandsOf(session, program, work);
  if (commands.length === 0) {
    return done({ kind: "executed", text: "[no commands found in the reply]\n", exitCode: 0, commands: 0 });
  }
  const entries: TranscriptEntry[] = [];
  try {
    for (const command of commands) {
      const verdict = judgeCommand(command.text, policyOf(program));
      if (verdict.allowed) {
        entries.push({ kind: "ran", command: command.text, outcome: await session.run(command, { signal }) });
        await save();
      } else entries.push({ kind: "refused", command: command.text, message: verdict.message });
    }
  } catch (error) {
    if (signal.aborted) return { did: "leave" };
    if (!(error instanceof SandboxError)) throw error;
    return failed(
      error.code,
      error.message,
      nextStep(
        error,
        entries.some((entry) => entry.kind === "ran"),
      ),
    );
  }
  const text = renderTranscript(entries);
  return done({ kind: "executed", text, exitCode: exitCodeOf(entries), commands: commands.length });
}

/** Trouble that passes by itself. */
const passing: readonly SandboxErrorCode[] = [
  "SANDBOX_ENGINE_UNREACHABLE",
  "SANDBOX_ENGINE_FAILED",
  "SANDBOX_SESSION_BUSY",
  "SANDBOX_SESSION_LOST",
  "SANDBOX_START_FAILED",
];

/** Once a command has run, trying again would run it twice. */
export function nextStep({ code }: SandboxError, acted: boolean): NextStep {
  if (acted || code === "SANDBOX_OUTCOME_UNKNOWN") return "unknown";
  return passing.includes(code) ? "retry" : "fail";
}

async function commandsOf(
  session: Session,
  program: Program,
  work: Extract<Work, { kind: "execute" }>,
): Promise<CommandSpec[]> {
  if (work.source === "literal") return [{ kind: "shell", text: work.text, trust: "author" }];
  const wanted = program.sandbox.languages ?? [];
  const interpreters = (["python", "javascript"] as const).filter((language) => wanted.includes(language));
  const commands: CommandSpec[] = [];
  for (const block of extractCommands(work.text, { interpreters }).blocks) {
    if (block.kind !== "shell") commands.push({ kind: block.kind, text: block.text, trust: "foreign" });
    else {
      const parts = await splitCommands(block.text, parseInSession(session));
      commands.push(...parts.map((text) => ({ kind: "shell", text, trust: "foreign" }) as const));
    }
  }
  return commands;
}

function policyOf({ sandbox }: Program) {
  return {
    ...(sandbox.allow === undefined ? {} : { allow: sandbox.allow }),
    ...(sandbox.deny === undefined ? {} : { deny: sandbox.deny }),
  };
}
