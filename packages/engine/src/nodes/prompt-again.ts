/** Sends a prompt again, in the same conversation, if the reply is none of the allowed answers. */
import type { Outcome } from "../event.ts";
import type { ModelSettings } from "../program.ts";
import type { Active } from "../state.ts";
import type { Finish, Turn, Write } from "../turn.ts";
import { promptWork } from "./prompt.ts";

/**
 * Repeats the same visit in the same conversation, with a text that explains the mistake. Returns null when the allowed repeats are used
 * up.
 */
export function promptAgain(
  turn: Turn,
  node: { readonly repairs: number; readonly settings?: ModelSettings },
  active: Active,
  outcome: Outcome,
  wish: string,
): Finish | null {
  if (active.said === null || active.repairs >= node.repairs) return null;
  const { thread, agent } = active.said;
  for (const write of conversation(active, outcome)) {
    if (write.to === "thread") {
      turn.commands.push({ do: "append", activity: active.ref, thread, agent, messages: write.messages });
    }
  }
  const work = promptWork(turn, { thread, text: wish, read: null, agent, settings: node.settings ?? {} });
  return { go: "again", work, said: active.said };
}

export function conversation(active: Active, outcome: Outcome): readonly Write[] {
  const { said } = active;
  if (said === null || outcome.kind !== "replied") return [];
  return [
    {
      to: "thread",
      said,
      messages: [
        { role: "user", text: null },
        { role: "assistant", text: outcome.text },
      ],
    },
  ];
}
