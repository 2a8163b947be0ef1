/** `file:` values that live with the submission: read and written inside the session, where a path can reach nothing else. */
import type { Session } from "@markmill/sandbox";

/** null: there is no such file. */
export async function readInSession(session: Session, path: string): Promise<string | null> {
  const outcome = await session.run({ kind: "shell", text: `cat -- ${quote(path)} 2>/dev/null` });
  return outcome.exitCode === 0 ? outcome.output : null;
}

/** Returns what went wrong, or null. */
export async function writeInSession(session: Session, path: string, text: string): Promise<string | null> {
  const bytes = Buffer.from(text).toString("base64");
  const command = `mkdir -p -- "$(dirname -- ${quote(path)})" && printf %s ${quote(bytes)} | base64 -d > ${quote(path)}`;
  const outcome = await session.run({ kind: "shell", text: command });
  return outcome.exitCode === 0 ? null : `'${path}' could not be written: ${outcome.output.trim()}`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
