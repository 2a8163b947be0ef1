/** The rules of all node kinds. A new kind does not compile until it has a rule here. */
import type { Node, NodeKind } from "../program.ts";
import type { NodeRule } from "../turn.ts";
import { ask } from "./ask.ts";
import { assign } from "./assign.ts";
import { call } from "./call.ts";
import { check } from "./check.ts";
import { end } from "./end.ts";
import { evaluate } from "./evaluate.ts";
import { execute } from "./execute.ts";
import { grade } from "./grade.ts";
import { join } from "./join.ts";
import { map } from "./map.ts";
import { memory } from "./memory.ts";
import { prompt } from "./prompt.ts";
import { select } from "./select.ts";
import { set } from "./set.ts";
import { splice } from "./splice.ts";
import { start } from "./start.ts";
import { tool } from "./tool.ts";

const rules: { readonly [Kind in NodeKind]: NodeRule<Extract<Node, { kind: Kind }>> } = {
  start,
  prompt,
  execute,
  grade,
  check,
  set,
  assign,
  ask,
  call,
  tool,
  memory,
  evaluate,
  map,
  join,
  select,
  splice,
  end,
};

/** The cast is safe: the record is typed by kind, so each rule accepts the nodes of its kind. */
export function ruleOf(node: Node): NodeRule<Node> {
  return rules[node.kind] as NodeRule<Node>;
}
