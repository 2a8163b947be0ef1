/**
 * `file:` values, which live with the submission. Our own program reads and writes them inside the session, by a path from the workspace.
 * So changes that a command made to its shell have no effect, and a path can reach only the workspace.
 *
 * X1  A file is read completely or not at all. Above the cap it fails with FILE_TOO_LONG: otherwise a part would be judged as if it were
 *     the whole.
 * X2  A value is text: UTF-8, or UTF-16 with its byte order mark. A NUL byte fails with FILE_NOT_TEXT. Bytes that are not UTF-8 become
 *     U+FFFD, and invisible characters are written out, both with a note.
 * X3  A copy of a file has the same bytes as the original.
 *
 * kill -9 while a file is written: the file is complete, old or new. The activity is delivered again and writes the same.
 */
import type { Failure, SandboxNeeds } from "@markmill/engine";
import { neutraliseText, type Session, WORKSPACE } from "@markmill/sandbox";
import { readForeign } from "./foreign-text.ts";

export const defaultFileBytes = 1024 * 1024;

/** The value of the workflow, but at most the limit of the installation. */
export function fileCapOf({ fileBytes }: SandboxNeeds, ceilingBytes: number): number {
  return Math.min(fileBytes ?? defaultFileBytes, ceilingBytes);
}

export type BytesRead =
  | { readonly is: "read"; readonly bytes: Uint8Array }
  | { readonly is: "missing" }
  | { readonly is: "failed"; readonly failure: Failure };

export type TextRead =
  | { readonly is: "read"; readonly text: string; readonly notes: readonly string[] }
  | Exclude<BytesRead, { is: "read" }>;

export async function readBytesInSession(session: Session, path: string, maxBytes: number): Promise<BytesRead> {
  const file = await session.readFile(fromWorkspace(path), { maxBytes });
  switch (file.kind) {
    case "read":
      return { is: "read", bytes: file.bytes };
    case "missing":
      return { is: "missing" };
    case "too long":
      return failed("FILE_TOO_LONG", tooLong(path, file.size, maxBytes));
    case "refused":
      return failed("FILE_REFUSED", `The file '${shown(path)}' is not read: ${file.why}.`);
  }
}

export async function readTextInSession(session: Session, path: string, maxBytes: number): Promise<TextRead> {
  const file = await readBytesInSession(session, path, maxBytes);
  if (file.is !== "read") return file;
  const text = await readForeign(file.bytes.length, "decodeText", file.bytes);
  if (text === null) {
    return failed(
      "FILE_NOT_TEXT",
      `The file '${shown(path)}' contains NUL bytes: it is not text, and a value is text.`,
    );
  }
  const notes = text.notes.map((note) => `The file '${shown(path)}' ${note}.`);
  return { is: "read", text: text.text, notes };
}

/** Returns a failure, or null. */
export async function writeInSession(
  session: Session,
  path: string,
  bytes: Uint8Array,
  maxBytes: number,
): Promise<Failure | null> {
  if (bytes.length > maxBytes) return { code: "FILE_TOO_LONG", message: tooLong(path, bytes.length, maxBytes) };
  const written = await session.writeFile(fromWorkspace(path), bytes);
  if (written.kind === "written") return null;
  return { code: "FILE_NOT_WRITTEN", message: `The file '${shown(path)}' could not be written: ${written.why}.` };
}

/** `~` and the workspace's own path mean its root. */
function fromWorkspace(path: string): string {
  for (const start of [`${WORKSPACE}/`, "~/"]) if (path.startsWith(start)) return path.slice(start.length);
  return path;
}

function tooLong(path: string, size: number, cap: number): string {
  return `The file '${shown(path)}' has ${size} bytes, more than the ${cap} that a value may have here (sandbox.file, SANDBOX_FILE_KB).`;
}

function shown(path: string): string {
  return neutraliseText(path.length > 200 ? `${path.slice(0, 200)}…` : path).replaceAll("\n", "␤");
}

function failed(code: string, message: string): { readonly is: "failed"; readonly failure: Failure } {
  return { is: "failed", failure: { code, message } };
}
