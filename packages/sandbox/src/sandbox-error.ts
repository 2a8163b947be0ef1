// All failures of the sandbox itself. A sandbox error is never the student's fault and never an exit code: callers retry, refuse or report
// it, but must not grade it (architecture I8).

/** `fix` is the general advice; a thrown error may carry its own. */
export const sandboxErrorCodes = {
  SANDBOX_LIMITS_INVALID: {
    means: "A limit set has no wall clock, or a limit is not a positive number.",
    fix: "Correct the limit in the message.",
  },
  SANDBOX_LIMIT_UNSUPPORTED: {
    means: "This machine cannot enforce a requested limit.",
    fix: "Request a weaker limit, or use a sandbox that can enforce it. `markmill sandbox self-test` shows the limits.",
  },
  SANDBOX_UNAVAILABLE: {
    means: "No sandbox can run on this machine.",
    fix: "Start a Docker engine, or on Linux install bash, mount, nsenter, perl, tar and unshare for the jail; `markmill doctor` shows what is missing.",
  },
  SANDBOX_TOOL_MISSING: {
    means: "A program that the sandbox needs is not installed.",
    fix: "Install the program in the message.",
  },
  SANDBOX_NAMESPACES_REFUSED: {
    means: "The kernel or its policy refuses user namespaces.",
    fix: "Allow user namespaces on the host, or use Docker.",
  },
  SANDBOX_CGROUP_REFUSED: {
    means: "A cgroup exists but cannot be written.",
    fix: "Give the process the right to write its cgroup, or use Docker.",
  },
  SANDBOX_SECCOMP_UNSUPPORTED: {
    means: "This machine cannot load a system call filter.",
    fix: "Use a kernel with seccomp, or Docker.",
  },
  SANDBOX_IMAGE_REFUSED: {
    means: "The image is not on the allow-list or not on the host.",
    fix: "Use an image from SANDBOX_IMAGES that is on the host, or let the operator add the image.",
  },
  SANDBOX_ENGINE_UNREACHABLE: {
    means: "The container engine does not answer.",
    fix: "Start Docker, or check who may use its socket.",
  },
  SANDBOX_ENGINE_FAILED: { means: "The container engine refused a request.", fix: "Read the engine's own message." },
  SANDBOX_SESSION_LOST: {
    means: "The session ended or disappeared during its use.",
    fix: "Do nothing. Markmill creates the session again from its last checkpoint.",
  },
  SANDBOX_OUTCOME_UNKNOWN: {
    means: "The session was lost during a command. The effects of the command are unknown.",
    fix: "If the activity may be repeated, do nothing: Markmill repeats it from its checkpoint.",
  },
  SANDBOX_SESSION_BUSY: {
    means: "Another worker is running a command in this session.",
    fix: "Do nothing. Markmill retries the command.",
  },
  SANDBOX_SESSION_INVALID: {
    means: "A session id, label, path or environment name is malformed.",
    fix: "This is a defect in Markmill. Please report it with this message.",
  },
  SANDBOX_FILES_REFUSED: {
    means: "A file for the session has an unsafe path, or the files exceed a limit.",
    fix: "Correct the path, or submit fewer or smaller files.",
  },
  SANDBOX_FILES_FAILED: {
    means: "Files could not be unpacked into the workspace, or packed from it.",
    fix: "Check the disk of the host. The message contains the cause.",
  },
  SANDBOX_CHECKPOINT_TOO_LARGE: {
    means: "The files of a session exceed a limit for checkpoints: bytes, entries, depth or names.",
    fix: "Let the commands write less data, or let the operator raise SANDBOX_CHECKPOINT_MB.",
  },
  SANDBOX_CHECKPOINT_TOO_SLOW: {
    means: "Reading the files of a session for a checkpoint took too long.",
    fix: "Let the commands write fewer files.",
  },
  SANDBOX_PROCESSES_LOST: {
    means: "Background processes that a command needs were lost with their session.",
    fix: "Start the processes in the same EXECUTE that needs them.",
  },
  SANDBOX_WORKSPACE_LOST: {
    means: "The workspace cannot be restored, and Markmill runs nothing in a different workspace.",
    fix: "`markmill retry RUN --from START` starts again with the original submission.",
  },
  SANDBOX_COMMAND_INVALID: {
    means: "A command is empty or too long, or contains a NUL byte.",
    fix: "Correct the command, or the variables in it.",
  },
  SANDBOX_KILL_FAILED: {
    means: "Processes of a command survived SIGKILL.",
    fix: "Check the host. A process that hangs in the kernel keeps its session.",
  },
  SANDBOX_UNSAFE: {
    means: "The sandbox failed its self-test, so Markmill runs nothing in it.",
    fix: "`markmill sandbox self-test` shows the failed protection.",
  },
  SANDBOX_THIN: {
    means: "A protection of the sandbox is weak on this machine, and it is not accepted.",
    fix: "Repair the protection, or accept it in SANDBOX_ACCEPT.",
  },
  SANDBOX_JUDGE_UNPROTECTED: {
    means: "A judge session needs isolation, but this sandbox has none, so a submission could forge its results.",
    fix: "Use the sandbox docker or jail.",
  },
  SANDBOX_AUTOGRADER_INVALID: {
    means: "The teacher's autograder cannot be unpacked, or holds no run_autograder. No submission is graded with it.",
    fix: "Correct the zip, then grade the class again.",
  },
  SANDBOX_START_FAILED: {
    means: "The session's first process did not start.",
    fix: "Check the image and the memory of the host. The message contains the cause.",
  },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

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
