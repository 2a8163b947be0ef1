/**
 * The model client of a run in a class: it removes the names, addresses and ids of the class from every request of every activity. It is
 * the last step before the network, so that no activity can forget it. Only GRADE scrubs its parts itself (perform-grade.ts): the form, the
 * rubric and our instructions must reach the model unchanged.
 */
import { hash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Program } from "@markmill/engine";
import { type AuthoredWords, authoredWords, type Person, Scrubber, type WorkFacts } from "@markmill/grading";
import type { ModelClient, ModelMessage } from "@markmill/llm";

/** Scrubs a long text in slices, with other work of the process between them. */
export type Scrub = (text: string) => Promise<string>;

/** For a run that belongs to no class. */
export const leaveAsItIs: Scrub = async (text) => text;

/** By roster object, which is replaced when the roster changes, and by submission: every prompt of a submission needs its own scrubber. */
const known = new WeakMap<readonly Person[], Map<string, Scrub>>();
/** Maximum numbers of submissions per class, and of clean texts per submission. */
const mostWorks = 500;
const mostClean = 200;
/** Longer texts are remembered by their hashes. */
const longestKept = 120;

/** program: its texts are the teacher's. If a word of theirs is also in a roster, it names no person. */
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

/** A run is loaded again for each activity: its program is a new object with the same texts. */
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

/** Checks a text without names only once. The same text passes again just before it is sent, and with every later prompt of its thread. */
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

/** Scrubs the content and the arguments of the tool calls. */
export async function scrubMessage(message: ModelMessage, scrub: Scrub): Promise<ModelMessage> {
  const content = await scrub(message.content);
  if (message.role !== "assistant" || message.toolCalls === undefined) return { ...message, content };
  const toolCalls = [];
  for (const call of message.toolCalls) toolCalls.push({ ...call, arguments: await scrub(call.arguments) });
  return { ...message, content, toolCalls };
}

/** One after the other: a conversation of long messages then lets other work run between, as one long message does. */
export async function scrubMessages(messages: readonly ModelMessage[], scrub: Scrub): Promise<ModelMessage[]> {
  const scrubbed: ModelMessage[] = [];
  for (const message of messages) scrubbed.push(await scrubMessage(message, scrub));
  return scrubbed;
}
