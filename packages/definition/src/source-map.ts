import type { Place } from "./finding.ts";

/** The places of the parts of a program in its source. */
export interface SourceMap {
  readonly nodes: Readonly<Record<string, Place>>;
  /** By position in the program's edges. */
  readonly edges: readonly Place[];
  readonly prompts: Readonly<Record<string, Place>>;
  readonly params: Readonly<Record<string, Place>>;
  /** The place of the rubric's heading, or of its file's name. */
  readonly rubric?: Place;
}
