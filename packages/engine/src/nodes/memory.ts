import type { MemoryNode } from "../program.ts";
import { resolve } from "../resolve.ts";
import { type NodeRule, scopeOf } from "../turn.ts";
import { produced } from "./produced.ts";

/** Search, insert or sample in the run's passages. */
export const memory: NodeRule<MemoryNode> = {
  begin(turn, node, visit) {
    const text = resolve(node.text, scopeOf(turn, visit.reads)).text ?? "";
    return { do: "work", work: { kind: "memory", op: node.op, text, top: node.top ?? 3 } };
  },
  finish: (_turn, _node, _active, outcome) => produced(outcome),
};
