/**
 * A workflow that a model calls as a tool. The worker neither creates the run nor waits for it. The activity ends with the calls, and the
 * engine requests the child runs. When they have returned, the activity is performed again and finds their results (engine's
 * workflow-tools.ts).
 *
 * kill -9 before the activity's commit: its calls have rows, and the next delivery finds them and takes them over. After it: the calls are
 * activities of the run. After the calls have returned, before a row is ended: the next delivery reads the same results again.
 */
import { calleeFailure, failure, type WorkflowCall, type WorkflowTool } from "@markmill/engine";
import { neutralText, type ReturnedCall } from "@markmill/store/machine";
import type { AskedTools, End, ToolCallOutcome } from "./perform-tools.ts";
import { done, type Performed } from "./performed.ts";

/** `values` fit the tool's schema. */
export function callWorkflow(
  { variables: named = {} }: WorkflowTool,
  values: Readonly<Record<string, unknown>>,
  returned: ReturnedCall | null,
  maxBytes: number,
): End | { readonly called: Readonly<Record<string, string>> } {
  if (returned !== null) return endOf(returned, maxBytes);
  const given = Object.entries(values).map(([name, value]): [string, string] => [
    Object.hasOwn(named, name) ? (named[name] ?? name) : name,
    neutralText(typeof value === "string" ? value : JSON.stringify(value)),
  ]);
  return { called: Object.fromEntries(given) };
}

/** Limit for the text of a failed workflow, which is appended to the reason. */
const mostTold = 2_000;

function endOf({ outcome, ms }: ReturnedCall, maxBytes: number): End {
  if (outcome === null) return { failure: failure("CALL_FAILED"), ms };
  const { status, result } = outcome;
  if (status !== "success") {
    const { code, message } = calleeFailure(outcome);
    const said = result.trim() === "" ? "" : ` Its result: ${result.slice(0, mostTold)}`;
    return { failure: { code, message: neutralText(`${message}${said}`) }, ms };
  }
  if (Buffer.byteLength(result) > maxBytes) {
    const message = `The result is longer than ${Math.floor(maxBytes / 1024)} KiB.`;
    return { failure: { code: "TOOL_TOO_LARGE", message }, ms };
  }
  return { result: neutralText(result), ms };
}

/** The activity's end if a reply calls workflows that have not returned. null: it calls none. */
export function calledWorkflows(
  outcomes: readonly ToolCallOutcome[],
  { callIndex, requestHash, calls }: Pick<AskedTools, "callIndex" | "requestHash" | "calls">,
): Performed | null {
  const called = outcomes.flatMap((outcome, position): readonly WorkflowCall[] => {
    if (outcome.is !== "called") return [];
    const { variables } = outcome;
    return [{ tool: calls[position]?.name ?? "", place: { callIndex, requestHash, position }, variables }];
  });
  return called.length === 0 ? null : done({ kind: "called", calls: called });
}
