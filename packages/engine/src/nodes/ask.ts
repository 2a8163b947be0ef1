import type { AskNode } from "../program.ts";
import type { NodeRule } from "../turn.ts";
import { unfit } from "./passed.ts";

/** Waits for a person. No worker is occupied meanwhile. */
export const ask: NodeRule<AskNode> = {
  begin(turn, node) {
    const expiresAt = node.timeoutMs === undefined ? null : turn.event.at + node.timeoutMs;
    const text = turn.state.variables.RESULT ?? "";
    return { do: "work", work: { kind: "ask", question: node.question, text, expiresAt } };
  },
  finish: (_turn, _node, _active, outcome) =>
    outcome.kind === "answered"
      ? { go: "on", on: "ok", writes: [{ to: "variable", name: "RESULT", text: outcome.text }] }
      : unfit,
};
