import { describeError, type StackLog } from "@markmill/stack";
import type { Terminal } from "./command.ts";

interface Fields {
  readonly err?: unknown;
  readonly trouble?: "began" | "lasts" | "ended";
  readonly code?: string;
  readonly error?: string;
  readonly fix?: string;
}

/**
 * The log for commands with a person at the terminal: only trouble, and each once. Temporary trouble is shown once even if its text
 * changes.
 */
export function terminalLog(terminal: Pick<Terminal, "err">): StackLog {
  const told = new Set<string>();
  const isNew = (text: string) => told.size < told.add(text).size;
  const tell = (fields: object, message: string) => {
    const { err, trouble, code: named, error, fix: mend } = fields as Fields;
    if (trouble !== undefined) {
      // The trouble log of the stack has already removed repetitions (trouble-log.ts).
      const why = err === undefined ? error : describeError(err).message;
      const words = [message, ...(trouble === "began" ? [named, why] : [])].filter((word) => word !== undefined);
      terminal.err(`markmill: ${words.join(": ")}`);
      if (mend !== undefined && isNew(mend)) terminal.err(`fix: ${mend}`);
      return;
    }
    if (err === undefined) {
      if (isNew(message)) terminal.err(`markmill: ${message}`);
      return;
    }
    const { code, message: why, fix, passes } = describeError(err);
    const text = `${message}: ${code === null ? "" : `${code}: `}${why}`;
    if (!isNew(passes ? `${message}: ${code}` : text)) return;
    terminal.err(`markmill: ${text}`);
    if (fix !== null && isNew(fix)) terminal.err(`fix: ${fix}`);
  };
  return { info: () => undefined, warn: tell, error: tell };
}
