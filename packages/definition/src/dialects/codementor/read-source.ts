/**
 * Reads the text of a workflow with all its includes as lines, each with its origin and its role in the Markdown.
 *
 * R1  An include is textual: the lines of the named file replace the directive. A directive is recognised only outside fences.
 * R2  No file includes itself, directly or through others. Nesting and total size are bounded.
 */

import { MAX_FILE_BYTES } from "../../decode-source.ts";
import type { Place } from "../../finding.ts";
import { BlockScanner, type Line } from "../../markdown/block-scanner.ts";
import { protectedFix, protectedReason } from "../../protected-path.ts";
import { locate } from "../../workspace.ts";
import type { WorkspaceReader } from "../../workspace-reader.ts";
import type { WorkflowReport } from "./workflow-codes.ts";

export interface SourceLine {
  readonly text: string;
  readonly file: string;
  /** Starts at 1. */
  readonly line: number;
  readonly block: Line;
}

const MAX_INCLUDE_DEPTH = 20;
const MAX_TOTAL_CHARACTERS = 2 * MAX_FILE_BYTES;
/** Each include counts as this number of characters, so that empty files that include each other are bounded, too. */
const INCLUDE_WEIGHT = 1000;

/** Passes each line to `each`, in order. `start`: the lines before it are front matter, not Markdown. */
export function readSource(
  lines: readonly string[],
  start: number,
  file: string,
  sources: WorkspaceReader,
  report: WorkflowReport,
  each: (line: SourceLine) => void,
): void {
  const scanner = new BlockScanner();
  let total = 0;

  const include = (written: string, at: Place, chain: readonly string[]): void => {
    const target = locate(sources.exists, at.file, written, sources.refuses);
    if ("outside" in target) {
      report.error(
        "INCLUDE_OUTSIDE",
        at,
        `${written} is outside the workflow folder.`,
        "Copy the file into the folder of the workflow, and include the copy.",
      );
      return;
    }
    if ("refused" in target) {
      report.error("INCLUDE_PROTECTED", at, `${written} is not read: ${protectedReason}.`, protectedFix);
      return;
    }
    if ("missing" in target) {
      const near = report.didYouMean(target.missing, sources.candidates);
      report.error(
        "INCLUDE_MISSING",
        at,
        `There is no file ${target.missing}.`,
        `${near}Correct the path or add the file.`,
      );
      return;
    }
    if (chain.includes(target.found)) {
      const loop = [...chain.slice(chain.indexOf(target.found)), target.found].join(" -> ");
      report.error("INCLUDE_CYCLE", at, `The file includes itself: ${loop}.`, "Remove one of these includes.");
      return;
    }
    if (chain.length > MAX_INCLUDE_DEPTH) {
      report.error(
        "INCLUDE_DEPTH",
        at,
        `Includes are nested deeper than ${MAX_INCLUDE_DEPTH} files.`,
        "Reduce the levels of includes.",
      );
      return;
    }
    const text = sources.text(target.found);
    if (text === null || text === undefined) return;
    const outer = scanner.inFence;
    append(text.replace(/\n$/, "").split("\n"), 0, target.found, [...chain, target.found]);
    if (scanner.inFence && !outer) {
      report.warn(
        "INCLUDE_OPEN_FENCE",
        at,
        `A code block in ${target.found} is never closed.`,
        "Close the block. The text after the include is read as if the block were closed.",
      );
      scanner.reset();
    }
  };

  const append = (source: readonly string[], from: number, origin: string, chain: readonly string[]): void => {
    for (let index = from; index < source.length; index++) {
      const text = source[index] ?? "";
      total += text.length + 1;
      if (total > MAX_TOTAL_CHARACTERS) return;
      const directive = scanner.inFence ? null : includeDirective(text);
      if (directive !== null) {
        total += INCLUDE_WEIGHT;
        include(directive.path, { file: origin, line: index + 1, column: directive.column }, chain);
        continue;
      }
      each({ text, file: origin, line: index + 1, block: scanner.next(text) });
    }
  };

  append(lines, start, file, [file]);
  if (total > MAX_TOTAL_CHARACTERS) {
    report.error(
      "INCLUDE_TOO_LARGE",
      { file, line: 1, column: 1 },
      `The workflow with its includes is longer than ${MAX_TOTAL_CHARACTERS / 1024 / 1024} Mi characters.`,
      "Include each file once, or split the workflow into sub-workflows with CALL.",
    );
  }
}

/** `!INCLUDE path`; the path may be in double quotes. */
export function includeDirective(line: string): { readonly path: string; readonly column: number } | null {
  const found = /^\s*!INCLUDE[ \t]+(?=\S)/.exec(line.slice(0, 4200));
  if (found === null) return null;
  const raw = line.slice(found[0].length).trim();
  const quoted = raw.length > 1 && raw.startsWith('"') && raw.endsWith('"');
  return { path: quoted ? raw.slice(1, -1) : raw, column: found[0].length + (quoted ? 2 : 1) };
}
