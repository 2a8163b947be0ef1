import type { Flowchart, Vertex } from "./mermaid/flowchart.ts";

/** Merges several blocks of one workflow into one flowchart. A later caption or attribute replaces an earlier one. */
export function mergeCharts(charts: readonly Flowchart[]): Pick<Flowchart, "vertices" | "links" | "subgraphs"> {
  const [only] = charts;
  if (only !== undefined && charts.length === 1) return only;
  const vertices = new Map<string, { vertex: Vertex; attributes: Map<string, Vertex["attributes"][string]> }>();
  for (const vertex of charts.flatMap((chart) => chart.vertices)) {
    const known = vertices.get(vertex.id);
    if (known === undefined) {
      vertices.set(vertex.id, { vertex, attributes: new Map(Object.entries(vertex.attributes)) });
      continue;
    }
    const { caption, captionAt, captionBreakAt } =
      vertex.caption !== null && (vertex.caption !== "" || known.vertex.caption === null) ? vertex : known.vertex;
    known.vertex = {
      ...known.vertex,
      shape: vertex.shape ?? known.vertex.shape,
      caption,
      captionAt,
      captionBreakAt,
    };
    for (const [key, value] of Object.entries(vertex.attributes)) known.attributes.set(key, value);
  }
  return {
    vertices: Array.from(vertices.values(), ({ vertex, attributes }) => ({
      ...vertex,
      attributes: Object.fromEntries(attributes),
    })),
    links: charts.flatMap((chart) => chart.links),
    subgraphs: new Set(charts.flatMap((chart) => [...chart.subgraphs])),
  };
}
