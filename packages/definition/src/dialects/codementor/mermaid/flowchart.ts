/** A Mermaid flowchart as drawn: vertices and links with their places, before they get a meaning. */
import type { Place } from "../../../finding.ts";

export interface Flowchart {
  readonly direction: string;
  /** In the order of first mention, one per id. */
  readonly vertices: readonly Vertex[];
  /** In the order of drawing; `A & B --> C` gives two. */
  readonly links: readonly Link[];
  /** Ids of subgraphs. Mermaid draws edges to them, too. */
  readonly subgraphs: ReadonlySet<string>;
}

export interface Vertex {
  readonly id: string;
  /** The first mention. */
  readonly at: Place;
  /** The mermaid name of the bracket shape (square, round, stadium, subroutine, …), or the `shape:` attribute; null if neither is given. */
  readonly shape: string | null;
  /** The last caption, decoded: quotes, entities, line breaks. null if there is none. */
  readonly caption: string | null;
  readonly captionAt: Place | null;
  /** The first literal `\n` of the caption that became a line break. */
  readonly captionBreakAt: Place | null;
  /** `@{ key: value }`. The label is not included; it is in `caption`. */
  readonly attributes: Readonly<Record<string, { readonly text: string; readonly at: Place }>>;
}

export interface Link {
  readonly from: string;
  readonly to: string;
  readonly at: Place;
  readonly label: string | null;
  readonly labelAt: Place | null;
  /** false: a line without an arrow head (`---`, `-.-`). It marks a note and carries no flow. */
  readonly flow: boolean;
}
