// Translates messages of the host's tools and kernel into our errors. They occur when a jail cannot be created. No other file reads these
// messages.

import { SandboxError } from "../sandbox-error.ts";

const INSTALL =
  "On Debian or Ubuntu: apt-get install bash mount perl-base tar util-linux; on Fedora: dnf install bash perl tar util-linux.";

export function toolMissing(tools: readonly string[]): SandboxError {
  return new SandboxError(
    "SANDBOX_TOOL_MISSING",
    `The jail needs ${tools.join(", ")}, which are missing on this machine.`,
    INSTALL,
  );
}

export function architectureUnsupported(architecture: string): SandboxError {
  return new SandboxError(
    "SANDBOX_SECCOMP_UNSUPPORTED",
    `There is no system call filter for ${architecture}.`,
    "Use the Docker sandbox (--sandbox docker), or a machine with x64 or arm64.",
  );
}

export function notLinux(platform: string): SandboxError {
  return new SandboxError(
    "SANDBOX_UNAVAILABLE",
    `The jail needs Linux namespaces, but this machine runs ${platform}.`,
    "Use the Docker sandbox (--sandbox docker).",
  );
}

export function pidsLimitUnsupported(release: string): SandboxError {
  return new SandboxError(
    "SANDBOX_LIMIT_UNSUPPORTED",
    `Linux ${release} counts processes per user, not per jail, so the limit of processes cannot be set for an ordinary user.`,
    "Use Linux 5.14 or newer, run the worker as root, or use the Docker sandbox.",
  );
}

export function programInvalid(name: string, path: string): SandboxError {
  return new SandboxError(
    "SANDBOX_SESSION_INVALID",
    `The program ${JSON.stringify(name)} at ${JSON.stringify(path)} cannot be shown in a jail.`,
    "Use a plain name and the full path of an executable file.",
  );
}

export function cgroupRefused(path: string, cause: unknown): SandboxError {
  return new SandboxError(
    "SANDBOX_CGROUP_REFUSED",
    `The cgroup ${path} was made but a limit could not be written to it.`,
    "Give the worker a cgroup it may write, or run it where cgroups are read-only so that the jail uses rlimits.",
    cause,
  );
}

/** Translates the output of unshare, mount, nsenter or our own perl from before the jail, or a command in it, started. */
export function translateLaunchFailure(said: string): SandboxError {
  const text = said
    .replace(/[^\x20-\x7e\n]/g, "?")
    .trim()
    .slice(0, 600);
  if (
    /unshare failed: (Operation not permitted|No space left|Invalid argument)|write failed .*\/[ug]id_map|creating new namespace failed|setting up uid map/i.test(
      text,
    )
  ) {
    return new SandboxError(
      "SANDBOX_NAMESPACES_REFUSED",
      `The kernel refuses user namespaces here (${text}).`,
      "Allow them (sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces=10000, " +
        "kernel.apparmor_restrict_unprivileged_userns=0, or a container profile that permits unshare), or use the Docker sandbox.",
    );
  }
  if (/prlimit/i.test(text)) {
    return new SandboxError(
      "SANDBOX_LIMIT_UNSUPPORTED",
      `The limit of processes cannot be set (${text}).`,
      "Ask for fewer processes than the worker's own limit (ulimit -u).",
    );
  }
  if (/seccomp/i.test(text)) {
    return new SandboxError(
      "SANDBOX_SECCOMP_UNSUPPORTED",
      `The system call filter was not accepted (${text}).`,
      "The kernel needs CONFIG_SECCOMP_FILTER.",
    );
  }
  if (/cgroup/i.test(text)) {
    return new SandboxError(
      "SANDBOX_CGROUP_REFUSED",
      `A process could not enter its cgroup (${text}).`,
      "Retry. If the problem remains, remove the session.",
    );
  }
  return new SandboxError(
    "SANDBOX_START_FAILED",
    `The jail did not start (${text === "" ? "no message" : text}).`,
    "Run `markmill sandbox self-test` for details, or use the Docker sandbox.",
  );
}

export function sessionLost(id: string): SandboxError {
  return new SandboxError(
    "SANDBOX_SESSION_LOST",
    `The session ${id} ended while it was in use.`,
    "Open the session again. Markmill restores it from its files and state.",
  );
}

export function sessionBusy(id: string): SandboxError {
  return new SandboxError(
    "SANDBOX_SESSION_BUSY",
    `Another worker runs a command in session ${id}.`,
    "Wait for the command, or end the session.",
  );
}

export function filesFailed(what: string): SandboxError {
  return new SandboxError("SANDBOX_FILES_FAILED", what, "Check the size and the kinds of the files.");
}

export function killFailed(id: string): SandboxError {
  return new SandboxError(
    "SANDBOX_KILL_FAILED",
    `Processes of session ${id} survived SIGKILL.`,
    "The session was ended. Check for processes in uninterruptible sleep.",
  );
}
