import type { Fragment, Program } from "@markmill/engine";
import type { CodeEntry } from "../finding-codes.ts";
import type { LoadedFile } from "../loaded-file.ts";
import type { Workspace } from "../workspace.ts";

/** What a dialect answers. Its own folder holds all that is particular to it; nothing outside knows which dialects there are. */
export interface DialectRules {
  /** Its files in a few words, after "a file is". */
  readonly files: string;
  /** Its own findings, beside those that all dialects share. */
  readonly codes: Readonly<Record<string, CodeEntry>>;
  /** By what a file is known as one of this dialect; null: by nothing. Cheap, and never wrong about a file of another dialect's content. */
  readonly recognises: (file: SourceFile) => "content" | "name" | null;
  /** One file as one program. Total: what cannot be read is a finding with its place. The workspace holds what it includes, calls and reads. */
  readonly load: (file: SourceFile, workspace: Workspace) => LoadedFile;
  /** A program as a source file that loads as the same program; throws NotExpressible. */
  readonly format: (program: Program, options: FormatOptions) => string;
  /** A program as a Mermaid flowchart for people; throws NotExpressible. */
  readonly draw: (program: Program) => Drawing;
  /** A plan that a model wrote while a run goes on, as a piece of its program; null: nothing of this dialect plans. */
  readonly plan: ((text: string, program: Program) => Planned) | null;
}

export interface SourceFile {
  readonly path: string;
  /** Decoded: UTF-8, line feeds, no byte order mark. */
  readonly text: string;
}

export interface FormatOptions {
  /** Path of the file to be written; paths are written so that they lead from there to the same files. */
  readonly file?: string;
}

export interface Drawing {
  /** From `flowchart TD` on, without a fence. */
  readonly lines: readonly string[];
  /** By node, for those that have one. */
  readonly captions: ReadonlyMap<string, string>;
  /** By node, the id it has in the chart. Absent: its own. */
  readonly names?: ReadonlyMap<string, string>;
}

type Planned = { readonly ok: true; readonly fragment: Fragment } | { readonly ok: false; readonly problem: string };
