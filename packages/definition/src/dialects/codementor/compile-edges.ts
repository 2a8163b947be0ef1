import type { Edge } from "@markmill/engine";
import type { Place } from "../../finding.ts";
import { activityKind, handledEvent } from "./activity-kind.ts";
import type { Link } from "./mermaid/flowchart.ts";
import type { WorkflowReport } from "./workflow-codes.ts";

const success = ["YES", "TRUE", "OK", "SUCCESS"];
const failure = ["NO", "FALSE", "ERROR", "FAILED", "ELSE", "FAIL", "OTHER"];

/** Returns the outcome that a label names, or null. */
function outcomeOf(label: string | null): "ok" | "fail" | null {
  const word = label?.trim().toUpperCase() ?? null;
  if (word === null || success.includes(word)) return "ok";
  return failure.includes(word) ? "fail" : null;
}

/**
 * Compiles links to edges in the order of the drawing, at most one per node and outcome. `places` contains the place of each edge, by
 * position.
 */
export function compileEdges(links: readonly Link[], report: WorkflowReport): { edges: Edge[]; places: Place[] } {
  const drawn: ({ edge: Edge; at: Place } | null)[] = [];
  const taken = new Map<string, number>();
  for (const link of links) {
    if (!link.flow) continue;
    const { from, to, at, label } = link;
    const on = outcomeOf(label);
    if (on === null) {
      report.error(
        "EDGE_LABEL",
        link.labelAt ?? at,
        `"${(label ?? "").slice(0, 40)}" is not a known outcome of this edge.`,
        `${report.didYouMean(label ?? "", [...success, ...failure])}For success write nothing or ${success.join(", ")}; for failure ${failure.join(", ")}.`,
      );
      continue;
    }
    const source = activityKind(from);
    const target = activityKind(to);
    if (source === "PARAMS" || target === "PARAMS") {
      report.warn(
        "PARAMS_EDGE",
        at,
        "PARAMS is not a step of the flow, so this edge has no effect.",
        "Remove the edge, or draw it as a note with -.-.",
      );
      continue;
    }
    if (target === "START") {
      report.error(
        "EDGE_INTO_START",
        at,
        `An edge leads back to ${to}, which runs only once.`,
        `Draw the edge to the node after ${to}.`,
      );
      continue;
    }
    if (source === "SUCCESS" || source === "FAILED") {
      report.warn(
        "EDGE_FROM_END",
        at,
        `The workflow ends at ${from}, so this edge is never used.`,
        source === "SUCCESS" ? "Remove it, or start it at ON_SUCCESS." : "Remove it, or start it at ON_FAILED.",
      );
      continue;
    }
    if (target === "ON") {
      const end = handledEvent(to) === "failed" ? "FAILED" : "SUCCESS";
      report.error(
        "EDGE_INTO_HANDLER",
        at,
        `An edge leads to ${to}, which is not a step: it runs when the workflow ends.`,
        `Draw the edge to ${end}. The handler then starts automatically.`,
      );
      continue;
    }
    if (on === "fail" && (source === "START" || source === "ON")) {
      report.warn(
        "EDGE_NEVER_TAKEN",
        at,
        `${from} cannot fail, so this edge is never used.`,
        "Remove the label, or start the edge at a node that can fail.",
      );
    }
    const key = `${from} ${on}`;
    const earlier = taken.get(key);
    const before = earlier === undefined ? null : drawn[earlier];
    if (earlier !== undefined && before) {
      const what = on === "ok" ? "success" : "failure";
      if (before.edge.to === to) {
        report.warn(
          "EDGE_DUPLICATE",
          at,
          `The edge from ${from} to ${to} is drawn twice (first in line ${before.at.line}).`,
          "Remove one of the two.",
        );
      } else {
        report.warn(
          "EDGE_CONFLICT",
          at,
          `${from} has two edges for ${what}: to ${before.edge.to} (line ${before.at.line}) and to ${to}. Only the later one is used.`,
          `Remove one of the two, or label one of them ${on === "ok" ? "FALSE" : "TRUE"}.`,
        );
      }
      drawn[earlier] = null;
    }
    taken.set(key, drawn.length);
    drawn.push({ edge: { from, to, on }, at });
  }
  const kept = drawn.filter((entry) => entry !== null);
  return { edges: kept.map(({ edge }) => edge), places: kept.map(({ at }) => at) };
}
