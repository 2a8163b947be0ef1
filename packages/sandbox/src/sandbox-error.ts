// Every failure of the sandbox itself. A sandbox error is never the student's fault and never an exit code: callers retry,
// refuse or report it, but must not grade it (architecture I8).

export const sandboxErrorCodes = {
  SANDBOX_LIMITS_INVALID: "A limit set has no wall clock, or a limit is not a positive number.",
  SANDBOX_LIMIT_UNSUPPORTED: "This machine cannot enforce a limit that was asked for.",
  SANDBOX_UNAVAILABLE: "No sandbox can run on this machine.",
  SANDBOX_TOOL_MISSING: "A program the sandbox needs is not installed.",
  SANDBOX_NAMESPACES_REFUSED: "The kernel or its policy refuses user namespaces.",
  SANDBOX_CGROUP_REFUSED: "A cgroup exists but cannot be written.",
  SANDBOX_SECCOMP_UNSUPPORTED: "No system call filter can be loaded here.",
  SANDBOX_IMAGE_REFUSED: "The image is not on the allow-list or not on the host.",
  SANDBOX_ENGINE_UNREACHABLE: "The container engine does not answer.",
  SANDBOX_ENGINE_FAILED: "The container engine refused a request.",
  SANDBOX_SESSION_LOST: "The session ended or vanished while it was in use.",
  SANDBOX_OUTCOME_UNKNOWN: "The session was lost while a command ran in it: what the command did is not known.",
  SANDBOX_SESSION_BUSY: "Another worker is running a command in this session.",
  SANDBOX_SESSION_INVALID: "A session id, label, path or environment name is malformed.",
  SANDBOX_FILES_REFUSED: "A file to put into the session has an unsafe path, or the files exceed a cap.",
  SANDBOX_FILES_FAILED: "Files could not be unpacked into, or packed from, the workspace.",
  SANDBOX_CHECKPOINT_TOO_LARGE:
    "What a session holds is more than a checkpoint may have: bytes, entries, depth or names.",
  SANDBOX_CHECKPOINT_TOO_SLOW: "Looking through what a session holds took longer than it may.",
  SANDBOX_PROCESSES_LOST: "Background processes that a command needs were lost with their session.",
  SANDBOX_WORKSPACE_LOST: "The workspace cannot be put back as it was, and nothing is run in another one.",
  SANDBOX_COMMAND_INVALID: "A command is empty, too long, or holds a NUL byte.",
  SANDBOX_KILL_FAILED: "Processes of a command survived SIGKILL.",
  SANDBOX_UNSAFE: "The sandbox did not pass its self-test, so nothing is run in it.",
  SANDBOX_THIN: "A wall of the sandbox is thinner than it should be, and nobody has accepted that.",
  SANDBOX_JUDGE_UNPROTECTED:
    "A judge session was asked of a sandbox that isolates nothing, so its verdict could be forged.",
  SANDBOX_START_FAILED: "The session's first process did not start.",
} as const;

export type SandboxErrorCode = keyof typeof sandboxErrorCodes;

export class SandboxError extends Error {
  override readonly name = "SandboxError";
  readonly code: SandboxErrorCode;
  /** What the reader can do about it, one sentence. */
  readonly fix: string;

  constructor(code: SandboxErrorCode, what: string, fix: string, cause?: unknown) {
    super(`${code}: ${what} ${fix}`, cause === undefined ? undefined : { cause });
    this.code = code;
    this.fix = fix;
  }
}
