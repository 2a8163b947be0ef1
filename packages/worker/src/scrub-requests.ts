/**
 * The model of a run that belongs to a class: every request, by whichever activity, loses the names, addresses and ids of the class first.
 * It stands at the last place before the wire, so that no activity can forget it. GRADE alone scrubs its parts itself (perform-grade.ts):
 * the form, the rubric and our instructions must reach the model as they are.
 */
import { hash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Program } from "@markmill/engine";
import { type AuthoredWords, authoredWords, type Person, Scrubber, type WorkFacts } from "@markmill/grading";
import type { ModelClient, ModelMessage } from "@markmill/llm";

/** A long text is scrubbed in slices, with other work of the process between them. */
export type Scrub = (text: string) => Promise<string>;

/** Of a run that belongs to no class. */
export const leaveAsItIs: Scrub = async (text) => text;

/** By the roster, which is another object when it has changed, and by whose work it is: every prompt of a work asks for its own. */
const known = new WeakMap<readonly Person[], Map<string, Scrub>>();
/** Works of a class, and texts of a work that are known to be clean. */
const mostWorks = 500;
const mostClean = 200;
/** Longer ones are known by their hashes. */
const longestKept = 120;

/** program: its texts are the teacher's; a word of theirs in a roster names nobody. */
export function scrubberOf({ people, pseudonyms, own }: WorkFacts, program: Program | null = null): Scrub {
  const works = known.get(people) ?? new Map<string, Scrub>();
  known.set(people, works);
  const authored = program === null ? null : authoredOf(program);
  const key = JSON.stringify([own, authored?.hash]);
  const scrub = works.get(key) ?? rememberClean(new Scrubber(people, pseudonyms, own, authored?.words));
  works.delete(key);
  works.set(key, scrub);
  const [oldest] = works.keys();
  if (works.size > mostWorks && oldest !== undefined) works.delete(oldest);
  return scrub;
}

interface Authored {
  readonly hash: string;
  readonly words: AuthoredWords;
}

/** A run is loaded anew for each activity: its program is another object with the same texts. */
const authoredByHash = new Map<string, Authored>();
const authoredByProgram = new WeakMap<Program, Authored>();
const mostPrograms = 50;

function authoredOf(program: Program): Authored {
  const seen = authoredByProgram.get(program);
  if (seen !== undefined) return seen;
  const { name, description, prompts, nodes, rubric = null, tools = {}, files } = program;
  const text = JSON.stringify([name, description, prompts, nodes, rubric, tools, files]);
  const key = hash("sha256", text, "base64");
  const found = authoredByHash.get(key) ?? { hash: key, words: authoredWords([text.replaceAll(/\\[nrt]/g, " ")]) };
  authoredByHash.delete(key);
  authoredByHash.set(key, found);
  const [oldest] = authoredByHash.keys();
  if (authoredByHash.size > mostPrograms && oldest !== undefined) authoredByHash.delete(oldest);
  authoredByProgram.set(program, found);
  return found;
}

/** A text that holds no name is looked at once: it passes when a request is made, again before the wire, and with every later prompt of its thread. */
function rememberClean(scrubber: Scrubber): Scrub {
  const [short, long] = [new Set<string>(), new Set<string>()];
  return async (text) => {
    const clean = text.length > longestKept ? long : short;
    const key = text.length > longestKept ? hash("sha256", text, "base64") : text;
    if (clean.has(key)) return text;
    const scrubbed = await scrubInTurns(scrubber, text);
    if (scrubbed !== text) return scrubbed;
    if (clean.size >= mostClean) clean.clear();
    clean.add(key);
    return text;
  };
}

async function scrubInTurns(scrubber: Scrubber, text: string): Promise<string> {
  const slices = scrubber.slices(text);
  for (let next = slices.next(); ; next = slices.next()) {
    if (next.done === true) return next.value.text;
    await nextTurn();
  }
}

export function scrubRequests(client: ModelClient, scrub: Scrub): ModelClient {
  return {
    ...client,
    endpoint: client.endpoint,
    complete: async (request, options) =>
      await client.complete({ ...request, messages: await scrubMessages(request.messages, scrub) }, options),
  };
}

/** Its words, and the arguments of what it wants of tools. */
export async function scrubMessage(message: ModelMessage, scrub: Scrub): Promise<ModelMessage> {
  const content = await scrub(message.content);
  if (message.role !== "assistant" || message.toolCalls === undefined) return { ...message, content };
  const toolCalls = [];
  for (const call of message.toolCalls) toolCalls.push({ ...call, arguments: await scrub(call.arguments) });
  return { ...message, content, toolCalls };
}

/** One after the other: a conversation of long messages leaves turns to others as one long message does. */
export async function scrubMessages(messages: readonly ModelMessage[], scrub: Scrub): Promise<ModelMessage[]> {
  const scrubbed: ModelMessage[] = [];
  for (const message of messages) scrubbed.push(await scrubMessage(message, scrub));
  return scrubbed;
}
