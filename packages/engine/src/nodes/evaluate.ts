import { isRecord } from "@markmill/base/json";
import { failure } from "../failure.ts";
import { parseShallow } from "../parse-shallow.ts";
import type { EvaluateNode } from "../program.ts";
import type { NodeRule, Write } from "../turn.ts";
import { unfit } from "./passed.ts";
import { beginPrompting } from "./prompt.ts";
import { conversation, promptAgain } from "./prompt-again.ts";

export const evaluate: NodeRule<EvaluateNode> = {
  begin: (turn, node, visit) => beginPrompting(turn, node, visit),
  finish(turn, node, active, outcome) {
    if (outcome.kind !== "replied") return unfit;
    const verdict = readVerdict(outcome.text, node.statuses);
    if (!verdict.ok) {
      const wish = `${verdict.wrong} Answer with one JSON object {"status", "evaluation", "lesson"} whose status is one of: ${node.statuses.join(", ")}.`;
      return (
        promptAgain(turn, node, active, outcome, wish) ?? {
          go: "fail",
          failure: failure("VERDICT_INVALID", verdict.wrong),
        }
      );
    }
    const writes: Write[] = [...conversation(active, outcome)];
    writes.push({ to: "variable", name: "EVALUATION", text: verdict.evaluation });
    if (verdict.status !== node.statuses.at(-1)) {
      writes.push({ to: "list", list: node.lessons, text: `${verdict.evaluation}\n${verdict.lesson}` });
    }
    return { go: "on", on: verdict.status, writes };
  },
};

type Read =
  | { readonly ok: true; readonly status: string; readonly evaluation: string; readonly lesson: string }
  | { readonly ok: false; readonly wrong: string };

/** Reads a JSON object anywhere in the text. If it names several statuses, the one with the highest priority counts. */
function readVerdict(text: string, statuses: readonly string[]): Read {
  const object = outermostObject(text);
  if (object === null) return { ok: false, wrong: "The reply contains no JSON object." };
  const given = [object.status].flat().filter((status) => typeof status === "string");
  const status = statuses.find((candidate) => given.includes(candidate));
  if (status === undefined) return { ok: false, wrong: `The status is none of ${statuses.join(", ")}.` };
  const { evaluation, lesson } = object;
  if (typeof evaluation !== "string" || typeof lesson !== "string") {
    return { ok: false, wrong: "evaluation and lesson must be text." };
  }
  return { ok: true, status, evaluation, lesson };
}

function outermostObject(text: string): Record<string, unknown> | null {
  const from = text.indexOf("{");
  const to = text.lastIndexOf("}");
  if (from === -1 || to < from) return null;
  try {
    const value: unknown = parseShallow(text.slice(from, to + 1));
    return isRecord(value) ? { ...value } : null;
  } catch {
    return null;
  }
}
