import type { ToolNode } from "../program.ts";
import { resolve } from "../resolve.ts";
import { type NodeRule, scopeOf } from "../turn.ts";
import { produced } from "./produced.ts";

export const tool: NodeRule<ToolNode> = {
  begin(turn, node, visit) {
    const given = resolve(node.arguments, scopeOf(turn, visit.reads));
    return { do: "work", work: { kind: "tool", tool: node.tool, arguments: given.text ?? "" } };
  },
  finish: (_turn, _node, _active, outcome) => produced(outcome),
};
