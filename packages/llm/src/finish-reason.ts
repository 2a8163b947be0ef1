/**
 * Interprets an endpoint's finish reason. Vendors pass on the words of the models behind them.
 *
 * F1  A reply without a finish reason is complete.
 * F2  With an unknown finish reason a reply is not an answer: half a reply must not count as a complete one.
 */
export type Ending = "stop" | "length" | "refused" | "tools" | "failed" | "unknown" | "other";

const endings: Readonly<Record<Exclude<Ending, "unknown" | "other">, readonly string[]>> = {
  stop: ["stop", "eos", "eos_token", "end_turn", "stop_sequence", "stop_token", "end_of_turn", "complete", "completed"],
  length: ["length", "max_tokens", "max_output_tokens", "max_length", "model_length", "model_context_window_exceeded"],
  tools: ["tool_calls", "tool_call", "tool_use", "function_call"],
  refused: [
    ...["content_filter", "content_filtered", "safety", "recitation", "blocklist", "prohibited_content", "spii"],
    ...["refusal", "refused", "image_safety", "model_armor", "guardrail_intervened", "error_toxic", "sensitive"],
  ],
  failed: ["error"],
};

const meaning = new Map(Object.entries(endings).flatMap(([ending, words]) => words.map((word) => [word, ending])));

export function endingOf(finish: string): Ending {
  const word = finish.trim().toLowerCase();
  if (word === "") return "other";
  // Gemini's endpoint writes `content_filter: SAFETY`.
  const [first = ""] = word.split(/[\s:]/, 1);
  return ((meaning.get(word) ?? meaning.get(first)) as Ending | undefined) ?? "unknown";
}
