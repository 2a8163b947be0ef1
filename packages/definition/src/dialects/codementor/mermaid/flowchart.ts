/** A Mermaid flowchart as drawn: vertices and links with their places, before any meaning is given to them. */
import type { Place } from "../../../finding.ts";

export interface Flowchart {
  readonly direction: string;
  /** In order of first mention, one per id. */
  readonly vertices: readonly Vertex[];
  /** In order of drawing; `A & B --> C` gives two. */
  readonly links: readonly Link[];
  /** Ids of subgraphs. Mermaid draws edges to them, too. */
  readonly subgraphs: ReadonlySet<string>;
}

export interface Vertex {
  readonly id: string;
  /** First mention. */
  readonly at: Place;
  /** Bracket shapes by their mermaid name (square, round, stadium, subroutine, …), or the `shape:` attribute; null when never given. */
  readonly shape: string | null;
  /** Last caption given, decoded: quotes, entities, line breaks. null when none was. */
  readonly caption: string | null;
  readonly captionAt: Place | null;
  /** The first literal `\n` of the caption that became a line break. */
  readonly captionBreakAt: Place | null;
  /** `@{ key: value }`, the label among them only as `caption`. */
  readonly attributes: Readonly<Record<string, { readonly text: string; readonly at: Place }>>;
}

export interface Link {
  readonly from: string;
  readonly to: string;
  readonly at: Place;
  readonly label: string | null;
  readonly labelAt: Place | null;
  /** false: a line without an arrow head (`---`, `-.-`), a note that carries no flow. */
  readonly flow: boolean;
}
