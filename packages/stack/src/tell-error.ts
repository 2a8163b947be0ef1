/** An error as text for the terminal: the problem, its reason, a fix and a code, without a stack. Only this file creates such texts. */
export interface Told {
  readonly code: string | null;
  readonly message: string;
  readonly fix: string | null;
  /** The same action may succeed later. */
  readonly passes: boolean;
}

export const systemErrorCodes = {
  PORT_IN_USE: { means: "Another program uses the port.", fix: "Stop that program, or choose another port." },
  DISK_FULL: {
    means: "The disk is full, or its quota is used up.",
    fix: "Free some space and start again: no data was lost.",
  },
  READ_ONLY: { means: "The file system is read-only.", fix: "Set MARKMILL_HOME to a directory that you may write." },
  NOT_ALLOWED: {
    means: "The operating system does not allow this operation.",
    fix: "Check who owns the file or directory in the message.",
  },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

type SystemError = { readonly code: keyof typeof systemErrorCodes; readonly say: string; readonly fix: string };

/** System errors that consist of a code only. All other errors have their own text. */
const systemErrors: Readonly<Record<string, SystemError>> = {
  EADDRINUSE: {
    code: "PORT_IN_USE",
    say: "Another program uses the port",
    fix: "Stop that program, or choose another port (HEALTH_PORT, --port; 0 chooses a free port).",
  },
  ENOSPC: { code: "DISK_FULL", say: "The disk is full", fix: "Free some space and start again: no data was lost." },
  EDQUOT: {
    code: "DISK_FULL",
    say: "The disk quota is used up",
    fix: "Free some space and start again: no data was lost.",
  },
  EROFS: {
    code: "READ_ONLY",
    say: "The file system is read-only",
    fix: "Set MARKMILL_HOME to a directory that you may write.",
  },
  EACCES: {
    code: "NOT_ALLOWED",
    say: "The operating system does not allow this operation",
    fix: "Check who owns the file or directory named above.",
  },
  EPERM: {
    code: "NOT_ALLOWED",
    say: "The operating system does not allow this operation",
    fix: "Check who owns the file or directory named above.",
  },
};

export function describeError(error: unknown): Told {
  if (!(error instanceof Error)) return { code: null, message: String(error), fix: null, passes: false };
  const code = "code" in error && typeof error.code === "string" ? error.code : null;
  const fix = "fix" in error && typeof error.fix === "string" ? error.fix : null;
  const system = code === null || fix !== null ? undefined : systemErrors[code];
  if (system !== undefined) {
    return { code: system.code, message: `${system.say}: ${error.message}`, fix: system.fix, passes: false };
  }
  let { message } = error;
  // Some errors repeat their code and their fix inside the message.
  if (code !== null && message.startsWith(`${code}: `)) message = message.slice(code.length + 2);
  if (fix !== null && message.endsWith(fix)) message = message.slice(0, -fix.length);
  return { code, message: message.trim(), fix, passes: "transient" in error && error.transient === true };
}

export function tellError(error: unknown, debug: boolean): string {
  const { code, message, fix } = describeError(error);
  const lines = [`markmill: ${code === null ? "" : `${code}: `}${message}`];
  if (fix !== null) lines.push(`fix: ${fix}`);
  if (debug && error instanceof Error) {
    for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
      lines.push(cause.stack ?? cause.message);
  } else if (code === null) lines.push("Run the command with '--debug' to see the stack trace.");
  return lines.join("\n");
}
