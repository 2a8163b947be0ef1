import type { Program } from "@markmill/engine";
import type { Finding, Place } from "./finding.ts";
import type { FindingReport } from "./finding-codes.ts";
import type { SourceMap } from "./source-map.ts";

/** One file of a definition, compiled by its dialect. */
export interface LoadedFile {
  /** null: there is at least one error. */
  readonly program: Program | null;
  readonly sources: SourceMap;
  readonly findings: readonly Finding[];
  /** Paths of files that were included or read, the file itself apart. */
  readonly read: readonly string[];
  /** Nodes that call another file, of whatever dialect, and tools by which models do. */
  readonly calls: readonly {
    readonly node: string;
    readonly program: string;
    readonly found: boolean;
    readonly at: Place;
  }[];
  /** Names of variables that the file gives a value. */
  readonly defines: readonly string[];
  /** Reports the names it uses that have no value. `known`: those that any file of the definition, or the engine, gives one. */
  readonly checkNames: (known: ReadonlySet<string>, report: FindingReport) => void;
}
