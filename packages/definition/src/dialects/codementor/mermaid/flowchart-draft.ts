/** The chart while it is read. All mentions of one id become one vertex. */
import type { Place } from "../../../finding.ts";
import type { CaptionText, ChartReader } from "./chart-reader.ts";
import type { Flowchart, Link, Vertex } from "./flowchart.ts";

/** `A & B --> C & D` multiplies links. Without a bound, a short block could request more links than fit into memory. */
const mostMultipliedLinks = 10_000;

/** One mention of a vertex that is not yet part of the chart. */
export interface Mention {
  readonly id: string;
  readonly offset: number;
  shape: string | null;
  caption: CaptionText | null;
  attributes: Map<string, CaptionText> | null;
}

interface VertexDraft {
  readonly id: string;
  readonly at: Place;
  shape: string | null;
  caption: CaptionText | null;
  attributes: Map<string, CaptionText> | null;
}

export interface DrawnArrow {
  readonly offset: number;
  readonly flow: boolean;
  readonly label: CaptionText | null;
}

export class FlowchartDraft {
  readonly #reader: ChartReader;
  readonly #vertices = new Map<string, VertexDraft>();
  readonly #links: Link[] = [];
  #multipliedLinks = 0;

  constructor(reader: ChartReader) {
    this.#reader = reader;
  }

  finish(direction: string, subgraphs: ReadonlySet<string>): Flowchart {
    return {
      direction,
      subgraphs,
      vertices: Array.from(this.#vertices.values(), (draft) => this.#finishVertex(draft)),
      links: this.#links,
    };
  }

  /** An empty caption does not remove an earlier one. */
  register(mention: Mention): string {
    let draft = this.#vertices.get(mention.id);
    if (draft === undefined) {
      const at = this.#reader.cursor.place(mention.offset);
      draft = { id: mention.id, at, shape: null, caption: null, attributes: null };
      this.#vertices.set(mention.id, draft);
    }
    draft.shape = mention.shape ?? draft.shape;
    if (mention.caption !== null && (mention.caption.text !== "" || draft.caption === null))
      draft.caption = mention.caption;
    if (draft.attributes === null) draft.attributes = mention.attributes;
    else for (const [key, value] of mention.attributes ?? []) draft.attributes.set(key, value);
    return mention.id;
  }

  link(from: readonly string[], to: readonly string[], arrow: DrawnArrow): void {
    if (from.length > 1 && to.length > 1) {
      this.#multipliedLinks += from.length * to.length;
      if (this.#multipliedLinks > mostMultipliedLinks) {
        this.#reader.report(
          "MERMAID_TOO_MANY_LINKS",
          arrow.offset,
          `\`&\` on both sides of arrows draws more than ${mostMultipliedLinks} links`,
          "draw each link separately",
        );
        return;
      }
    }
    const at = this.#reader.cursor.place(arrow.offset);
    const label = arrow.label?.text ?? null;
    const labelAt = arrow.label === null ? null : this.#reader.cursor.place(arrow.label.offset);
    for (const source of from) {
      for (const target of to) this.#links.push({ from: source, to: target, at, label, labelAt, flow: arrow.flow });
    }
  }

  #finishVertex(draft: VertexDraft): Vertex {
    const { id, at, shape, caption, attributes } = draft;
    const place = (offset: number | undefined | null) =>
      offset === undefined || offset === null ? null : this.#reader.cursor.place(offset);
    return {
      id,
      at,
      shape,
      caption: caption?.text ?? null,
      captionAt: place(caption?.offset),
      captionBreakAt: place(caption?.escapedBreak),
      attributes: attributes === null ? {} : this.#finishAttributes(attributes),
    };
  }

  /** fromEntries defines own properties, so `__proto__` is an ordinary key. */
  #finishAttributes(attributes: Map<string, CaptionText>): Vertex["attributes"] {
    return Object.fromEntries(
      Array.from(attributes, ([key, { text, offset }]) => [key, { text, at: this.#reader.cursor.place(offset) }]),
    );
  }
}
