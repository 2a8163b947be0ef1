// Translates errors of the engine and of dockerode into SandboxErrors. No other file of this adapter interprets a status code or an
// engine's message.

import { neutraliseText } from "../neutralise-output.ts";
import { SandboxError } from "../sandbox-error.ts";

export interface EngineAct {
  /** The engine's address, as configured. */
  readonly host: string;
  /** The attempted action, for example "create a container". */
  readonly act: string;
  readonly image?: string;
  readonly session?: string;
}

const unreachableCodes = new Set([
  "ECONNREFUSED",
  "ENOENT",
  "EACCES",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EHOSTUNREACH",
]);

export function translateEngineError(error: unknown, act: EngineAct): SandboxError {
  if (error instanceof SandboxError) return error;
  const message = whyOf(error);
  if (isUnreachable(error)) return engineUnreachable(act.host, message, error);
  if (/no such image|not found: manifest/i.test(message)) {
    return new SandboxError(
      "SANDBOX_IMAGE_REFUSED",
      `The image ${act.image ?? "of the session"} is not on the Docker host ${act.host}, and Markmill never pulls images.`,
      "Build or pull the image on that host (infra/images/sandbox), or remove it from the allow-list.",
      error,
    );
  }
  if (/unknown or invalid runtime|unknown runtime/i.test(message)) {
    return new SandboxError(
      "SANDBOX_LIMIT_UNSUPPORTED",
      `The Docker host ${act.host} does not have the requested runtime (${message}).`,
      "Register the runtime in the engine's daemon.json, or set no runtime.",
      error,
    );
  }
  if (/docker-init|\btini\b/i.test(message)) {
    return new SandboxError(
      "SANDBOX_TOOL_MISSING",
      `The Docker host ${act.host} has no init program (${message}).`,
      "Install tini there, or start dockerd with --init-path.",
      error,
    );
  }
  if (/seccomp/i.test(message)) {
    return new SandboxError(
      "SANDBOX_SECCOMP_UNSUPPORTED",
      `The Docker host ${act.host} does not support the system call filter (${message}).`,
      "Use an engine and kernel built with seccomp.",
      error,
    );
  }
  if (act.session !== undefined && isGone(error)) return sessionLost(act.session, error);
  return new SandboxError(
    "SANDBOX_ENGINE_FAILED",
    `The Docker host ${act.host} would not ${act.act} (${message}).`,
    "Read the engine's log on that host.",
    error,
  );
}

/** The container does not exist or does not run, so it cannot serve a session. */
function isGone(error: unknown): boolean {
  const status = statusOf(error);
  return (
    status === 404 || (status === 409 && /is not running|paused|marked for removal|is restarting/i.test(whyOf(error)))
  );
}

export function isNotFound(error: unknown): boolean {
  return statusOf(error) === 404;
}

/** Another container has the name, or a removal is under way. */
export function isConflict(error: unknown): boolean {
  return statusOf(error) === 409;
}

function isUnreachable(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return unreachableCodes.has(code) || (statusOf(error) === undefined && /socket hang up/i.test(whyOf(error)));
}

export function engineUnreachable(host: string, why: string, cause?: unknown): SandboxError {
  return new SandboxError(
    "SANDBOX_ENGINE_UNREACHABLE",
    `The Docker engine at ${host} does not answer (${why}).`,
    "Start the engine, correct SANDBOX_HOSTS, or give this user access to its socket.",
    cause,
  );
}

export function sessionLost(session: string, cause?: unknown): SandboxError {
  return new SandboxError(
    "SANDBOX_SESSION_LOST",
    `The container of session ${session} no longer exists, so the command did not start.`,
    "Open the session again. Markmill restores it from the submission.",
    cause,
  );
}

export function outcomeUnknown(session: string, why: string, cause?: unknown): SandboxError {
  return new SandboxError(
    "SANDBOX_OUTCOME_UNKNOWN",
    `Session ${session} was lost while a command ran in it (${why}). The effects of the command are unknown.`,
    "Open the session again, and repeat the command only if the workflow says that is safe.",
    cause,
  );
}

export function sessionBusy(session: string): SandboxError {
  return new SandboxError(
    "SANDBOX_SESSION_BUSY",
    `Another worker is still running a command in session ${session}.`,
    "Try again when it has ended.",
  );
}

export function launchFailed(session: string, said: string): SandboxError {
  return new SandboxError(
    "SANDBOX_START_FAILED",
    `A command of session ${session} could not be started (${plain(said)}).`,
    "The image needs the standard programs of Debian: bash, coreutils, findutils, tar, util-linux, perl-base; see infra/images/sandbox.",
  );
}

export function filesFailed(session: string, said: string): SandboxError {
  return new SandboxError(
    "SANDBOX_FILES_FAILED",
    `The files of session ${session} could not be moved (${plain(said)}).`,
    "Check the archive and the session's disk limit.",
  );
}

export function limitUnsupported(host: string, what: string): SandboxError {
  return new SandboxError(
    "SANDBOX_LIMIT_UNSUPPORTED",
    `The Docker host ${host} cannot enforce a limit: ${plain(what)}.`,
    "Enable the limit on that host (kernel, cgroups), or remove the host from SANDBOX_HOSTS. No session starts without this limit.",
  );
}

export function imageRefused(image: string, allowed: readonly string[]): SandboxError {
  return new SandboxError(
    "SANDBOX_IMAGE_REFUSED",
    `The image ${plain(image)} is not on the allow-list.`,
    allowed.length === 0 ? "Add the image to the allow-list." : `Use one of: ${allowed.join(", ")}.`,
  );
}

export function addressInvalid(address: string): SandboxError {
  return new SandboxError(
    "SANDBOX_ENGINE_UNREACHABLE",
    `${JSON.stringify(address)} is not a Docker host address.`,
    "Use unix:///path/to.sock, tcp://host:port, http://host:port or https://host:port, separated by commas.",
  );
}

function statusOf(error: unknown): number | undefined {
  return error instanceof Error && "statusCode" in error && typeof error.statusCode === "number"
    ? error.statusCode
    : undefined;
}

/** The error's message without line breaks and control characters. If no address of a name answers, Node gives only a code. */
export function whyOf(error: unknown): string {
  if (!(error instanceof Error)) return plain(String(error));
  return plain(error.message) || ("code" in error ? plain(String(error.code)) : error.name);
}

function plain(text: string): string {
  return neutraliseText(text).replace(/\s+/g, " ").trim().slice(0, 400);
}
