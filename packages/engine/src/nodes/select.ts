import { failure } from "../failure.ts";
import type { SelectNode } from "../program.ts";
import type { NodeRule } from "../turn.ts";
import { unfit } from "./passed.ts";
import { beginPrompting } from "./prompt.ts";
import { conversation, promptAgain } from "./prompt-again.ts";

export const select: NodeRule<SelectNode> = {
  begin: (turn, node, visit) => beginPrompting(turn, node, visit),
  finish(turn, node, active, outcome) {
    if (outcome.kind !== "replied") return unfit;
    const words = new Set(outcome.text.split(/[^\p{L}\p{N}_-]+/u));
    const named = node.candidates.filter((candidate) => words.has(candidate));
    const [choice] = named;
    if (choice === undefined || named.length > 1) {
      const wish = `Answer with exactly one of these names and nothing else: ${node.candidates.join(", ")}.`;
      return promptAgain(turn, node, active, outcome, wish) ?? { go: "fail", failure: failure("CHOICE_INVALID") };
    }
    return {
      go: "on",
      on: choice,
      writes: [...conversation(active, outcome), { to: "variable", name: "CHOICE", text: choice }],
    };
  },
};
