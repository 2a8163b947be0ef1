import { type Failure, failure } from "../failure.ts";
import { isSetting, limitSettingNames, remainingCaps } from "../limits.ts";
import { own } from "../own-value.ts";
import type { CallNode } from "../program.ts";
import type { RunState } from "../state.ts";
import { type Begin, change, type NodeRule, nextThread, type Turn, type Write } from "../turn.ts";
import { unfit } from "./passed.ts";

export const call: NodeRule<CallNode> = {
  begin: (turn, node) => beginCall(turn, node.program, {}),
  finish(turn, _node, active, outcome) {
    if (outcome.kind !== "returned") return unfit;
    const writes: Write[] = [
      ...Object.entries(outcome.variables)
        .filter(([name]) => !isSetting(name))
        .map(([name, text]) => ({ to: "variable", name, text, assigned: true }) as const),
      { to: "variable", name: "RESULT", text: outcome.result },
      { to: "variable", name: "STATUS", text: outcome.status === "success" ? "SUCCESS" : "FAILED" },
    ];
    const { word } = outcome;
    const labelled = turn.graph.out.get(active.ref.node)?.some(({ edge }) => edge.on === word) ?? false;
    if (word !== null && labelled) return { go: "on", on: word, writes };
    if (outcome.status === "success") return { go: "on", on: "ok", writes };
    return { go: "on", on: "fail", writes, failure: calleeFailure(outcome) };
  },
};

/** A callee sees the caller's variables, RESULT among them; limits it gets as what is left of the caller's. */
export function beginCall(turn: Turn, program: string, more: Readonly<Record<string, string>>): Begin {
  const { state } = turn;
  if (state.depth + 1 > state.limits.depth) {
    return { do: "limit", failure: failure("LIMIT_DEPTH", `More than ${state.limits.depth} workflows deep.`) };
  }
  // The conversation is shared: one that has not begun yet gets its name here, so that both know it by the same.
  const threads = { ...state.threads, [state.agent]: own(state.threads, state.agent) ?? nextThread(turn, state.agent) };
  change(turn, { threads });
  return {
    do: "work",
    work: {
      kind: "call",
      program,
      start: {
        variables: { ...inherited(state), ...more },
        depth: state.depth + 1,
        agent: state.agent,
        threads,
        caps: remainingCaps(state, turn.event.at),
        handler: state.handler || state.phase.is === "handling",
      },
    },
  };
}

function inherited(state: RunState): Record<string, string> {
  const kept = Object.entries(state.variables).filter(
    ([name]) => name !== "STATUS" && !limitSettingNames.includes(name),
  );
  return Object.fromEntries(kept);
}

function calleeFailure(outcome: { readonly status: string; readonly reason: Failure | null }): Failure {
  if (outcome.status === "cancelled") return failure("CALL_CANCELLED");
  const why = outcome.reason === null ? "" : ` ${outcome.reason.code}: ${outcome.reason.message}`;
  return failure("CALL_FAILED", `The called workflow ended FAILED.${why}`);
}
