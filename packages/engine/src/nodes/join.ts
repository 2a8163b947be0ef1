import type { JoinNode } from "../program.ts";
import type { NodeRule } from "../turn.ts";
import { passed } from "./passed.ts";

/** The activation groups do the waiting. */
export const join: NodeRule<JoinNode> = {
  begin: () => ({ do: "pass", finish: passed }),
  finish: () => passed,
};
