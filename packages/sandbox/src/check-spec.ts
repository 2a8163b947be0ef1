// The checks that every adapter applies to a session or command before it acts. They make ids safe in paths, labels and container names,
// and they refuse commands without bounds.

import { checkLimits, type Limits } from "./limits.ts";
import type { CommandSpec, SessionSpec } from "./port.ts";
import { SandboxError } from "./sandbox-error.ts";

const MAX_COMMAND_BYTES = 64 * 1024;

export function checkSessionId(id: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(id)) {
    throw invalid(
      `The session id ${JSON.stringify(id.slice(0, 100))} is malformed.`,
      "Use 1 to 64 letters, digits, - or _, a letter or digit first.",
    );
  }
  return id;
}

export function checkSessionSpec(spec: SessionSpec): SessionSpec {
  checkSessionId(spec.id);
  checkLimits(spec.limits);
  if (Number.isNaN(Date.parse(spec.labels.deadline)))
    throw invalid("The label deadline is not a time.", "Write the time in ISO 8601.");
  for (const [name, value] of Object.entries(spec.environment)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name) || name.startsWith("__mm_") || value.includes("\0"))
      throw invalid(
        `The environment name ${JSON.stringify(name.slice(0, 100))} or its value is not allowed in a session.`,
        "Use letters, digits and _, and no NUL in the value.",
      );
  }
  return spec;
}

export function checkCommand(command: CommandSpec): CommandSpec {
  const problem =
    command.text.trim() === ""
      ? "The command is empty."
      : command.text.includes("\0")
        ? "The command contains a NUL byte."
        : Buffer.byteLength(command.text) > MAX_COMMAND_BYTES
          ? `The command is longer than ${MAX_COMMAND_BYTES} bytes.`
          : undefined;
  if (problem !== undefined)
    throw new SandboxError("SANDBOX_COMMAND_INVALID", problem, "Shorten or correct the command.");
  return command;
}

/** The session's limits, with the tighter clocks of the command. */
export function limitsOfCommand(session: Limits, command: CommandSpec): Limits {
  const own = command.limits ?? {};
  return checkLimits({
    ...session,
    wallMs: Math.min(session.wallMs, own.wallMs ?? session.wallMs),
    cpuMs: Math.min(session.cpuMs, own.cpuMs ?? session.cpuMs),
    silenceMs: Math.min(session.silenceMs, own.silenceMs ?? session.silenceMs),
    outputBytes: Math.min(session.outputBytes, own.outputBytes ?? session.outputBytes),
  });
}

function invalid(what: string, fix: string): SandboxError {
  return new SandboxError("SANDBOX_SESSION_INVALID", what, fix);
}
