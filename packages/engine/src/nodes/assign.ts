import type { AssignNode } from "../program.ts";
import type { NodeRule } from "../turn.ts";
import { authoredValue, fileToRead } from "./authored-value.ts";

export const assign: NodeRule<AssignNode> = {
  begin: (turn, node) => ({ do: "work", work: { kind: "assign", read: fileToRead(turn, node.value) } }),
  finish(turn, node, active, outcome) {
    const value = authoredValue(turn, node.value, active, outcome);
    if (typeof value !== "string") return { go: "fail", failure: value };
    return { go: "on", on: "ok", writes: [{ to: "variable", name: "RESULT", text: value }] };
  },
};
