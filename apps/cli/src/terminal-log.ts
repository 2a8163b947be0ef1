import { describeError, type StackLog } from "@markmill/stack";
import type { Terminal } from "./command.ts";

interface Fields {
  readonly err?: unknown;
  readonly trouble?: "began" | "lasts" | "ended";
  readonly code?: string;
  readonly error?: string;
  readonly fix?: string;
}

/** For commands with a person in front of them: trouble only, once; what passes is told once whatever its words. */
export function terminalLog(terminal: Pick<Terminal, "err">): StackLog {
  const told = new Set<string>();
  const isNew = (text: string) => told.size < told.add(text).size;
  const tell = (fields: object, message: string) => {
    const { err, trouble, code: named, error, fix: mend } = fields as Fields;
    if (trouble !== undefined) {
      // The reporter of the stack has held back what is no news (trouble-log.ts).
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
