import type { Fragment, Program } from "@markmill/engine";
import type { CodeEntry } from "../finding-codes.ts";
import type { LoadedFile } from "../loaded-file.ts";
import type { Workspace } from "../workspace.ts";

/** The functions of a dialect. The dialect's own folder contains all its specific code. No code outside knows which dialects exist. */
export interface DialectRules {
  /** A short description of its files, for a sentence that begins "a file is". */
  readonly files: string;
  /** Its own findings, in addition to those that all dialects share. */
  readonly codes: Readonly<Record<string, CodeEntry>>;
  /**
   * Decides whether a file belongs to this dialect, and by which property; null if it does not. It must be cheap, and never wrong about a
   * file whose content belongs to another dialect.
   */
  readonly recognises: (file: SourceFile) => "content" | "name" | null;
  /**
   * Compiles one file to one program. Total: each mistake is a finding with its place. The workspace contains the files that it includes,
   * calls and reads.
   */
  readonly load: (file: SourceFile, workspace: Workspace) => LoadedFile;
  /** Writes a program as a source file that loads as the same program. Throws NotExpressible. */
  readonly format: (program: Program, options: FormatOptions) => string;
  /** Draws a program as a Mermaid flowchart for people. Throws NotExpressible. */
  readonly draw: (program: Program) => Drawing;
  /** Compiles a plan that a model wrote during a run to a fragment of its program. null: this dialect has no plans. */
  readonly plan: ((text: string, program: Program) => Planned) | null;
}

export interface SourceFile {
  readonly path: string;
  /** Decoded: UTF-8, line feeds, no byte order mark. */
  readonly text: string;
}

export interface FormatOptions {
  /** The path of the file that will be written. Paths in it are written so that they lead from there to the same files. */
  readonly file?: string;
}

export interface Drawing {
  /** The lines from `flowchart TD` on, without a fence. */
  readonly lines: readonly string[];
  /** By node, for nodes that have a caption. */
  readonly captions: ReadonlyMap<string, string>;
  /** By node, its id in the chart. Default: the node's own id. */
  readonly names?: ReadonlyMap<string, string>;
}

type Planned = { readonly ok: true; readonly fragment: Fragment } | { readonly ok: false; readonly problem: string };
