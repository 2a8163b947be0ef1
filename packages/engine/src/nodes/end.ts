import type { EndNode } from "../program.ts";
import { resolve } from "../resolve.ts";
import { type NodeRule, scopeOf } from "../turn.ts";
import { passed } from "./passed.ts";

export const end: NodeRule<EndNode> = {
  begin: (turn, node, visit) => ({
    do: "end",
    outcome: node.outcome,
    word: node.status === undefined ? null : resolve(node.status, scopeOf(turn, visit.reads)).text,
  }),
  finish: () => passed,
};
