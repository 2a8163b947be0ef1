/**
 * The model of a run that belongs to a class: whatever is sent to it, by whichever activity, has lost the names, addresses and ids of the
 * class first. It stands at the last place before the wire, so that no kind of work can forget it.
 */
import { Scrubber, type WorkFacts } from "@markmill/grading";
import type { ModelClient, ModelMessage } from "@markmill/llm";

export function scrubberOf({ people, pseudonyms, own }: WorkFacts): (text: string) => string {
  const scrubber = new Scrubber(people, pseudonyms, own);
  /** A text that holds no name is looked at once: it passes here when the request is made, and again before the wire. */
  const clean = new Set<string>();
  return (text) => {
    if (clean.has(text)) return text;
    const scrubbed = scrubber.scrub(text).text;
    if (scrubbed === text) clean.add(text);
    return scrubbed;
  };
}

export function scrubRequests(client: ModelClient, scrub: (text: string) => string): ModelClient {
  return {
    ...client,
    endpoint: client.endpoint,
    complete: (request, options) =>
      client.complete(
        { ...request, messages: request.messages.map((message) => scrubMessage(message, scrub)) },
        options,
      ),
  };
}

/** Its words, and the arguments of what it wants of tools. */
export function scrubMessage(message: ModelMessage, scrub: (text: string) => string): ModelMessage {
  const content = scrub(message.content);
  if (message.role !== "assistant" || message.toolCalls === undefined) return { ...message, content };
  const toolCalls = message.toolCalls.map((call) => ({ ...call, arguments: scrub(call.arguments) }));
  return { ...message, content, toolCalls };
}
