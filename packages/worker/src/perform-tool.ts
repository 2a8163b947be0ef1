/** A tool that the workflow itself calls. */
import { createHash } from "node:crypto";
import type { Work } from "@markmill/engine";
import { endedByTools, failedByTool, performToolCalls, type ToolPorts } from "./perform-tools.ts";
import { done, failed, type Performed } from "./performed.ts";

/** No model asked for this call. */
const noModelCall = -1;

export async function performTool(
  ports: ToolPorts,
  work: Extract<Work, { kind: "tool" }>,
  signal: AbortSignal,
): Promise<Performed> {
  const call = { name: work.tool, arguments: work.arguments };
  const requestHash = createHash("sha256").update(`${work.tool}\n${work.arguments}`).digest("hex");
  const offered = Object.keys(ports.tools);
  const asked = { callIndex: noModelCall, requestHash, calls: [call], offered, again: true };
  const outcomes = await performToolCalls(ports, asked, signal);
  const ended = endedByTools(outcomes, [call]);
  if (ended !== null) return ended;
  const [outcome] = outcomes;
  if (outcome?.is === "failed") return failedByTool(work.tool, outcome);
  if (outcome?.is === "done") {
    const notes = outcome.note === undefined ? {} : { notes: [outcome.note] };
    return done({ kind: "produced", text: outcome.text, ...notes });
  }
  return failed("TOOL_FAILED", "The tool gave nothing.", "fail");
}
