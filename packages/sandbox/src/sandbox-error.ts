// Every failure of the sandbox itself. A sandbox error is never the student's fault and never an exit code: callers retry,
// refuse or report it, but must not grade it (architecture I8).

/** `fix` in general; an error brings its own. */
export const sandboxErrorCodes = {
  SANDBOX_LIMITS_INVALID: {
    means: "A limit set has no wall clock, or a limit is not a positive number.",
    fix: "Correct the limit that the message names.",
  },
  SANDBOX_LIMIT_UNSUPPORTED: {
    means: "This machine cannot enforce a limit that was asked for.",
    fix: "Ask for less, or use the sandbox that can: `markmill sandbox self-test` shows which.",
  },
  SANDBOX_UNAVAILABLE: {
    means: "No sandbox can run on this machine.",
    fix: "Start a Docker engine, or on Linux install bash, mount, nsenter, perl, tar and unshare for the jail; `markmill doctor` says what is missing.",
  },
  SANDBOX_TOOL_MISSING: {
    means: "A program the sandbox needs is not installed.",
    fix: "Install the program that the message names.",
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
    means: "No system call filter can be loaded here.",
    fix: "Use a kernel with seccomp, or Docker.",
  },
  SANDBOX_IMAGE_REFUSED: {
    means: "The image is not on the allow-list or not on the host.",
    fix: "Name an image of SANDBOX_IMAGES that is on the host, or let the operator add it.",
  },
  SANDBOX_ENGINE_UNREACHABLE: {
    means: "The container engine does not answer.",
    fix: "Start Docker, or check who may use its socket.",
  },
  SANDBOX_ENGINE_FAILED: { means: "The container engine refused a request.", fix: "Read the engine's own message." },
  SANDBOX_SESSION_LOST: {
    means: "The session ended or vanished while it was in use.",
    fix: "Nothing: the session is made anew from its last checkpoint.",
  },
  SANDBOX_OUTCOME_UNKNOWN: {
    means: "The session was lost while a command ran in it: what the command did is not known.",
    fix: "Nothing, where the activity may be repeated: it is, from its checkpoint.",
  },
  SANDBOX_SESSION_BUSY: {
    means: "Another worker is running a command in this session.",
    fix: "Nothing: it is tried again.",
  },
  SANDBOX_SESSION_INVALID: {
    means: "A session id, label, path or environment name is malformed.",
    fix: "This is a defect in Markmill: please report it with this message.",
  },
  SANDBOX_FILES_REFUSED: {
    means: "A file to put into the session has an unsafe path, or the files exceed a cap.",
    fix: "Correct the path, or hand in fewer and smaller files.",
  },
  SANDBOX_FILES_FAILED: {
    means: "Files could not be unpacked into, or packed from, the workspace.",
    fix: "Check the disk of the host; the message has the cause.",
  },
  SANDBOX_CHECKPOINT_TOO_LARGE: {
    means: "What a session holds is more than a checkpoint may have: bytes, entries, depth or names.",
    fix: "Let the commands write less, or let the operator raise SANDBOX_CHECKPOINT_MB.",
  },
  SANDBOX_CHECKPOINT_TOO_SLOW: {
    means: "Looking through what a session holds took longer than it may.",
    fix: "Let the commands write fewer files.",
  },
  SANDBOX_PROCESSES_LOST: {
    means: "Background processes that a command needs were lost with their session.",
    fix: "Start the processes in the same EXECUTE that needs them.",
  },
  SANDBOX_WORKSPACE_LOST: {
    means: "The workspace cannot be put back as it was, and nothing is run in another one.",
    fix: "`markmill retry RUN --from START` begins again with the submission as handed in.",
  },
  SANDBOX_COMMAND_INVALID: {
    means: "A command is empty, too long, or holds a NUL byte.",
    fix: "Correct the command, or what filled it.",
  },
  SANDBOX_KILL_FAILED: {
    means: "Processes of a command survived SIGKILL.",
    fix: "Look at the host: a process that hangs in the kernel keeps its session.",
  },
  SANDBOX_UNSAFE: {
    means: "The sandbox did not pass its self-test, so nothing is run in it.",
    fix: "`markmill sandbox self-test` shows which wall did not hold.",
  },
  SANDBOX_THIN: {
    means: "A wall of the sandbox is thinner than it should be, and nobody has accepted that.",
    fix: "Mend the wall, or accept it in SANDBOX_ACCEPT.",
  },
  SANDBOX_JUDGE_UNPROTECTED: {
    means: "A judge session was asked of a sandbox that isolates nothing, so its verdict could be forged.",
    fix: "Use the sandbox docker or jail.",
  },
  SANDBOX_START_FAILED: {
    means: "The session's first process did not start.",
    fix: "Check the image and the host's memory; the message has the cause.",
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
