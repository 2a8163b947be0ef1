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
  /** Paths of files that were included or read, without the file itself. */
  readonly read: readonly string[];
  /** Nodes that call another file of any dialect, and tools by which models call it. */
  readonly calls: readonly {
    readonly node: string;
    readonly program: string;
    readonly found: boolean;
    readonly at: Place;
  }[];
  /** Names of variables that the file gives a value. */
  readonly defines: readonly string[];
  /**
   * Reports the names in the file that have no value. `known`: the names that get a value from any file of the definition or from the
   * engine.
   */
  readonly checkNames: (known: ReadonlySet<string>, report: FindingReport) => void;
}
