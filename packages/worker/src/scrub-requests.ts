/**
 * The model of a run that belongs to a class: whatever is sent to it, by whichever activity, has lost the names, addresses and ids of the
 * class first. It stands at the last place before the wire, so that no kind of work can forget it.
 */
import { hash } from "node:crypto";
import { type Person, Scrubber, type WorkFacts } from "@markmill/grading";
import type { ModelClient, ModelMessage } from "@markmill/llm";

type Scrub = (text: string) => string;

/** By the roster, which is another object when it has changed, and by whose work it is: every prompt of a work asks for its own. */
const known = new WeakMap<readonly Person[], Map<string, Scrub>>();
/** Works of a class, and texts of a work that are known to be clean. */
const mostWorks = 500;
const mostClean = 200;
/** Longer ones are known by their hashes. */
const longestKept = 120;

export function scrubberOf({ people, pseudonyms, own }: WorkFacts): Scrub {
  const works = known.get(people) ?? new Map<string, Scrub>();
  known.set(people, works);
  const key = JSON.stringify(own);
  const scrub = works.get(key) ?? rememberClean(new Scrubber(people, pseudonyms, own));
  works.delete(key);
  works.set(key, scrub);
  const [oldest] = works.keys();
  if (works.size > mostWorks && oldest !== undefined) works.delete(oldest);
  return scrub;
}

/** A text that holds no name is looked at once: it passes when a request is made, again before the wire, and with every later prompt of its thread. */
function rememberClean(scrubber: Scrubber): Scrub {
  const [short, long] = [new Set<string>(), new Set<string>()];
  return (text) => {
    const clean = text.length > longestKept ? long : short;
    const key = text.length > longestKept ? hash("sha256", text, "base64") : text;
    if (clean.has(key)) return text;
    const scrubbed = scrubber.scrub(text).text;
    if (scrubbed !== text) return scrubbed;
    if (clean.size >= mostClean) clean.clear();
    clean.add(key);
    return text;
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
