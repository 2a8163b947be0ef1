/**
 * Reads a submission as texts, by path and decoded. Files that are not text are left out and reported. It reads the stored submission,
 * never a session in which commands ran.
 */
import { readNotebook } from "@markmill/grading";
import { readTar, type SessionFiles } from "@markmill/sandbox";

export interface SubmissionTexts {
  readonly texts: ReadonlyMap<string, string>;
  /** The submission has no files. */
  readonly empty: boolean;
  /** Left out for good reason: not a text, or not the student's own. */
  readonly notes: readonly string[];
  /** Left out because of its length: the submission was not seen completely. */
  readonly cut: readonly string[];
}

/** Limits for the characters of all texts together, and for files. A normal submission has a hundredth of that. */
const MOST_CHARACTERS = 8 * 1024 * 1024;
const MOST_FILES = 2_000;
/** Files that tools create or download: no student wrote them. */
const notOwn =
  /(?:^|\/)(?:\.git|\.svn|\.hg|node_modules|__pycache__|\.venv|venv|\.idea|\.vscode|\.gradle|\.pytest_cache|__MACOSX)\/|(?:^|\/)(?:package-lock\.json|yarn\.lock|pnpm-lock\.yaml|Cargo\.lock|poetry\.lock|\.DS_Store)$/;

export function submissionTexts(files: SessionFiles): SubmissionTexts {
  const texts = new Map<string, string>();
  const notes: string[] = [];
  const cut: string[] = [];
  const binary: string[] = [];
  let [seen, foreign, room] = [0, 0, MOST_CHARACTERS];
  for (const { path, bytes } of filesOf(files)) {
    seen += 1;
    if (notOwn.test(path)) {
      foreign += 1;
      continue;
    }
    const text = decode(bytes.subarray(0, MOST_CHARACTERS));
    if (text === null) binary.push(path);
    else if (texts.size === MOST_FILES || text.length > room) cut.push(`${path} is not shown: there is too much text`);
    else {
      room -= text.length;
      texts.set(path, path.toLowerCase().endsWith(".ipynb") ? readNotebook(text) : text);
    }
  }
  if (binary.length > 0) notes.push(`no text, not shown: ${binary.slice(0, 10).join(", ")}${more(binary.length)}`);
  if (foreign > 0) notes.push(`${foreign} files that tools make or fetch are not shown`);
  return { texts, empty: seen === 0, notes, cut: cut.slice(0, 10) };
}

function more(count: number): string {
  return count > 10 ? ` and ${count - 10} more` : "";
}

function* filesOf(files: SessionFiles): Generator<{ readonly path: string; readonly bytes: Uint8Array }> {
  if (files.kind === "list") {
    for (const { path, bytes } of files.files) yield { path, bytes };
    return;
  }
  for (const { path, type, bytes } of readTar(files.bytes)) {
    // Names in a tar are bytes.
    if (type === "file") yield { path: Buffer.from(path, "latin1").toString("utf8"), bytes };
  }
}

/** null: not a text. */
function decode(bytes: Uint8Array): string | null {
  const [first, second] = bytes;
  const wide = first === 0xff && second === 0xfe ? "utf-16le" : first === 0xfe && second === 0xff ? "utf-16be" : null;
  const text = new TextDecoder(wide ?? "utf-8").decode(bytes);
  return text.includes("\0") ? null : text;
}
