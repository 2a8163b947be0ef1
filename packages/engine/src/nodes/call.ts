import type { CallStart } from "../activity.ts";
import { brief } from "../bounds.ts";
import type { Outcome } from "../event.ts";
import { type Failure, failure, isTreeLimit } from "../failure.ts";
import { giveBack, waited } from "../idle.ts";
import { asideOf, deadlineOf, isSetting, limitSettingNames, remainingCaps, tooDeep } from "../limits.ts";
import { own } from "../own-value.ts";
import type { CallNode } from "../program.ts";
import { inheritedBy } from "../settings.ts";
import type { RunState } from "../state.ts";
import { type Begin, change, type NodeRule, nextThread, type Turn, type Write } from "../turn.ts";
import { unfit } from "./passed.ts";

export const call: NodeRule<CallNode> = {
  begin: (turn, node) => beginCall(turn, node.program, {}),
  finish(turn, _node, active, outcome) {
    if (outcome.kind !== "returned") return unfit;
    reckonReturn(turn, outcome);
    const writes: Write[] = [
      ...Object.entries(outcome.variables)
        .filter(([name]) => !isSetting(name))
        .map(([name, text]) => ({ to: "variable", name, text, assigned: true }) as const),
      { to: "variable", name: "RESULT", text: outcome.result },
      { to: "variable", name: "STATUS", text: outcome.status === "success" ? "SUCCESS" : "FAILED" },
    ];
    const limit = treeLimit(outcome);
    if (limit !== null) return { go: "limit", writes, failure: limit };
    const { word } = outcome;
    const labelled = turn.graph.out.get(active.ref.node)?.some(({ edge }) => edge.on === word) ?? false;
    if (word !== null && labelled) return { go: "on", on: word, writes };
    if (outcome.status === "success") return { go: "on", on: "ok", writes };
    return { go: "on", on: "fail", writes, failure: calleeFailure(outcome) };
  },
};

/** A callee sees the caller's variables, including RESULT. Its limits are the remaining limits of the caller. */
export function beginCall(turn: Turn, program: string, more: Readonly<Record<string, string>>): Begin {
  const { state } = turn;
  const deep = tooDeep(state);
  if (deep !== null) return { do: "limit", failure: deep };
  // Caller and callee share the conversation. A conversation that has not begun gets its name here, so that both use the same name.
  const threads = { ...state.threads, [state.agent]: own(state.threads, state.agent) ?? nextThread(turn, state.agent) };
  change(turn, { threads });
  const variables = { ...inherited(state), ...more };
  return {
    do: "work",
    work: { kind: "call", program, start: startOf(turn, { variables, agent: state.agent, threads }) },
  };
}

/** Builds the start values: some are the same for every kind of call, others (`shared`) come from the caller. */
export function startOf(turn: Turn, shared: Pick<CallStart, "variables" | "agent" | "threads">): CallStart {
  const { program, state, event } = turn;
  return {
    ...shared,
    depth: state.depth + 1,
    caps: remainingCaps(program, state, event.at),
    aside: asideOf(program, state),
    inherited: inheritedBy(turn),
    patienceMs: state.patienceMs,
  };
}

type Returned = Extract<Outcome, { kind: "returned" }>;

/** Adds the callee's steps to the caller's. */
export function reckonReturn(turn: Turn, { steps = 0 }: Returned): void {
  const { spent } = turn.state;
  if (steps > 0) change(turn, { spent: { ...spent, steps: spent.steps + steps } });
}

/** Adds the callee's waiting time to the caller's time limit. This happens when the caller receives the result. */
export function reckonWaits(turn: Turn, { idleMs = 0, waits }: Returned): void {
  if (idleMs === 0) return;
  turn.state = waits === undefined ? giveBack(turn.state, idleMs) : waited(turn.state, waits);
  const deadline = deadlineOf(turn.state);
  if (deadline !== null) turn.commands.push({ do: "deadline", at: deadline });
}

/** Returns the failure if the callee reached a limit of the whole tree; otherwise null. */
export function treeLimit({ status, reason }: Returned): Failure | null {
  return status === "failed" && reason !== null && isTreeLimit(reason) ? reason : null;
}

function inherited(state: RunState): Record<string, string> {
  const kept = Object.entries(state.variables).filter(
    ([name]) => name !== "STATUS" && !limitSettingNames.includes(name),
  );
  return Object.fromEntries(kept);
}

/** Returns the failure of a call whose callee did not succeed. */
export function calleeFailure(outcome: { readonly status: string; readonly reason: Failure | null }): Failure {
  if (outcome.status === "cancelled") return failure("CALL_CANCELLED");
  const why = outcome.reason === null ? "" : ` ${outcome.reason.code}: ${outcome.reason.message}`;
  return brief(failure("CALL_FAILED", `The called workflow ended FAILED.${why}`));
}
