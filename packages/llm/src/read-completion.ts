/**
 * Reads a reply with a success status: a chat completion, or other bodies that endpoints send instead.
 *
 * C1  An error is an error with any status, and is reported in the endpoint's own words.
 * C2  A reply in the form of another API, or an event stream that was not requested, is reported as such. It is not read as an answer: the
 *     endpoint did not understand the request, so it did not apply its limits or its schema either.
 * C3  A reply that ended in an error, or with an unknown finish reason, is not an answer.
 * C4  The usage of such a reply is reported with it, if the reply states it or it can be counted. An error without any reply used nothing.
 */
import { isRecord } from "@markmill/base/json";
import { z } from "zod";
import { type BodyError, errorInBody } from "./error-in-body.ts";
import { endingOf } from "./finish-reason.ts";
import { parseJson } from "./json-in-reply.ts";
import type { ToolCall } from "./model-request.ts";
import { readToolCalls, ToolCallPieces } from "./read-tool-calls.ts";

const usageSchema = z.object({ prompt_tokens: z.int().nonnegative(), completion_tokens: z.int().nonnegative() });

/** A vendor's extra field must not make a reply unreadable. */
const loose = z.unknown().optional();

/** Text, or a list of parts, some of which are reasoning. */
const contentSchema = z
  .union([z.string(), z.array(z.looseObject({ type: z.string().catch(""), text: loose, thinking: loose })), z.null()])
  .optional()
  .transform((content) => {
    if (!Array.isArray(content)) return { text: content ?? "", reasoning: "" };
    const said: string[] = [];
    const thought: string[] = [];
    for (const { type, text, thinking } of content) {
      if (/think|reason/.test(type)) thought.push(textIn(thinking) || textIn(text));
      else said.push(textIn(text));
    }
    return { text: said.join(""), reasoning: thought.join("") };
  });

const messageShape = {
  content: contentSchema,
  refusal: z.string().nullish(),
  reasoning_content: loose,
  reasoning: loose,
  reasoning_details: loose,
  tool_calls: loose,
  function_call: loose,
};

const replySchema = z.object({
  model: z.string().catch(""),
  choices: z.array(
    z.object({ finish_reason: z.string().nullish(), message: z.object(messageShape).nullish(), error: loose }),
  ),
  usage: usageSchema.optional().catch(undefined),
});

const chunkSchema = z.object({
  model: z.string().catch(""),
  choices: z
    .array(z.object({ finish_reason: z.string().nullish(), delta: z.object(messageShape).nullish(), error: loose }))
    .default([]),
  usage: usageSchema.nullish().catch(undefined),
});

/** The text in a field that vendors fill in various ways: a text, or texts in lists and objects. */
function textIn(field: unknown): string {
  if (typeof field === "string") return field;
  if (Array.isArray(field)) return field.map(textIn).join("");
  if (typeof field !== "object" || field === null) return "";
  const { text, content, summary } = field as Record<string, unknown>;
  return textIn(text) || textIn(content) || textIn(summary);
}

function thoughtsIn(message: z.infer<z.ZodObject<typeof messageShape>>): string {
  // If there are several of these fields, they repeat each other.
  return (
    textIn(message.reasoning_content) ||
    textIn(message.reasoning) ||
    textIn(message.reasoning_details) ||
    message.content.reasoning
  );
}

/** A reply before its cost is computed. */
export interface RawReply {
  readonly model: string;
  readonly text: string;
  readonly reasoning: string;
  readonly toolCalls: readonly ToolCall[];
  readonly refusal: string;
  readonly finish: string;
  readonly usage: z.infer<typeof usageSchema> | undefined;
}

export type ReplyTrouble =
  | { readonly is: "error"; readonly error: BodyError }
  /** `form`: the name of the form in the message. */
  | { readonly is: "foreign"; readonly form: string; readonly hint: string }
  | { readonly is: "unfinished"; readonly finish: string }
  | { readonly is: "malformed"; readonly why: string };

export class UnusableReply extends Error {
  readonly trouble: ReplyTrouble;
  /** The text that was generated anyway; null: nothing, or unknown. */
  readonly reply: RawReply | null;
  constructor(trouble: ReplyTrouble, reply: RawReply | null) {
    super(`unusable reply: ${trouble.is}`);
    this.trouble = trouble;
    this.reply = reply;
  }
}

export function readCompletion(sent: unknown): RawReply {
  if (typeof sent === "string") return readEvents(sent);
  const error = errorBeside(sent);
  if (error !== null) throw new UnusableReply({ is: "error", error }, usedBy(sent));
  const foreign = foreignForm(sent);
  if (foreign !== null) throw new UnusableReply({ is: "foreign", ...foreign.told }, foreign.reply);
  const parsed = replySchema.safeParse(sent);
  if (!parsed.success) throw malformed(sent, parsed.error);
  const { model, choices, usage } = parsed.data;
  const [choice] = choices;
  const message = choice?.message ?? undefined;
  const reply: RawReply = {
    model,
    text: message?.content.text ?? "",
    reasoning: message === undefined ? "" : thoughtsIn(message),
    toolCalls: message === undefined ? [] : readToolCalls(message),
    refusal: message?.refusal ?? "",
    finish: choice?.finish_reason ?? "",
    usage,
  };
  return usable(reply, choice?.error);
}

/** Combines the events of a stream. */
export class StreamedReply {
  #reply: RawReply = { ...nothing };
  readonly #calls = new ToolCallPieces();
  #error: unknown;
  events = 0;
  choices = 0;
  bytes = 0;

  /** Returns the text of the event. */
  add(event: unknown): string {
    return this.#take(chunkSchema.parse(event));
  }

  /** Ignores events that are no chunk. */
  addIfChunk(event: unknown): void {
    const { success, data } = chunkSchema.safeParse(event);
    if (success) this.#take(data);
  }

  #take({ model, choices, usage }: z.infer<typeof chunkSchema>): string {
    const [choice] = choices;
    const delta = choice?.delta ?? undefined;
    const text = delta?.content.text ?? "";
    const thought = delta === undefined ? "" : thoughtsIn(delta);
    const refusal = delta?.refusal ?? "";
    this.events += 1;
    this.choices += choices.length;
    this.bytes += Buffer.byteLength(text) + Buffer.byteLength(thought) + Buffer.byteLength(refusal);
    if (delta !== undefined) this.bytes += this.#calls.add(delta);
    const so = this.#reply;
    this.#error ??= choice?.error;
    this.#reply = {
      model: model || so.model,
      text: so.text + text,
      reasoning: so.reasoning + thought,
      toolCalls: [],
      refusal: so.refusal + refusal,
      finish: choice?.finish_reason ?? so.finish,
      usage: usage ?? so.usage,
    };
    return text;
  }

  get finish(): string {
    return this.#reply.finish;
  }

  get length(): number {
    return this.#reply.text.length;
  }

  soFar(): RawReply {
    return { ...this.#reply, toolCalls: this.#calls.whole() };
  }

  whole(): RawReply {
    return usable(this.soFar(), this.#error);
  }
}

const nothing: RawReply = {
  model: "",
  text: "",
  reasoning: "",
  toolCalls: [],
  refusal: "",
  finish: "",
  usage: undefined,
};

/** Checks that the reply is an answer (C3). */
function usable(reply: RawReply, given: unknown): RawReply {
  const error = errorInBody({ error: given });
  if (error !== null) throw new UnusableReply({ is: "error", error }, reply);
  const ending = endingOf(reply.finish);
  if (ending === "failed") {
    const words = reply.refusal || `The endpoint ended the reply with finish_reason "${reply.finish}".`;
    throw new UnusableReply({ is: "error", error: { message: words } }, reply);
  }
  if (ending === "unknown") throw new UnusableReply({ is: "unfinished", finish: reply.finish }, reply);
  return reply;
}

function errorBeside(sent: unknown): BodyError | null {
  if (!isRecord(sent)) return errorInBody(sent);
  const answers = Array.isArray(sent.choices) && sent.choices.length > 0;
  // A message at the top level is an error only if no other field indicates an answer.
  return errorInBody(answers || formOf(sent) !== null ? { error: sent.error } : sent);
}

/** The usage of an error that came with a reply or with counts (C4). */
function usedBy(sent: unknown): RawReply | null {
  const parsed = replySchema.partial().safeParse(sent);
  if (!parsed.success) return null;
  const { model = "", choices = [], usage } = parsed.data;
  if (choices.length === 0 && usage === undefined) return null;
  return { ...nothing, model, text: choices[0]?.message?.content.text ?? "", usage };
}

interface Form {
  readonly form: string;
  readonly hint: string;
  /** Reads the numbers of used tokens from the body. */
  readonly counts: (body: Readonly<Record<string, unknown>>) => readonly [unknown, unknown];
  readonly is: (body: Readonly<Record<string, unknown>>) => boolean;
}

const compatible = (where: string) => `Set OPENAI_BASE_URL to its OpenAI-compatible path: ${where}.`;

/** Replies of other APIs that people address by mistake. */
const forms: readonly Form[] = [
  {
    form: "a reply of Ollama's own API",
    hint: compatible("http://HOST:11434/v1"),
    counts: (body) => [body.prompt_eval_count, body.eval_count],
    is: ({ done, message, response }) =>
      typeof done === "boolean" && (isRecord(message) || typeof response === "string"),
  },
  {
    form: "a reply of Anthropic's own API",
    hint: compatible("https://api.anthropic.com/v1"),
    counts: ({ usage }) => (isRecord(usage) ? [usage.input_tokens, usage.output_tokens] : []) as [unknown, unknown],
    is: ({ type, content }) => type === "message" && Array.isArray(content),
  },
  {
    form: "a reply of Gemini's own API",
    hint: compatible("https://generativelanguage.googleapis.com/v1beta/openai"),
    counts: ({ usageMetadata: used }) =>
      (isRecord(used) ? [used.promptTokenCount, used.candidatesTokenCount] : []) as [unknown, unknown],
    is: ({ candidates, promptFeedback }) => Array.isArray(candidates) || isRecord(promptFeedback),
  },
  {
    form: "a reply of the Responses API",
    hint: "OPENAI_BASE_URL must end before /responses.",
    counts: ({ usage }) => (isRecord(usage) ? [usage.input_tokens, usage.output_tokens] : []) as [unknown, unknown],
    is: ({ object, output }) => object === "response" && Array.isArray(output),
  },
  {
    form: "a text completion, which is the API before chat completions",
    hint: "Set OPENAI_BASE_URL to an endpoint for chat completions.",
    counts: ({ usage }) =>
      (isRecord(usage) ? [usage.prompt_tokens, usage.completion_tokens] : []) as [unknown, unknown],
    is: ({ choices }) =>
      Array.isArray(choices) &&
      isRecord(choices[0]) &&
      choices[0].message === undefined &&
      typeof choices[0].text === "string",
  },
  {
    form: "a reply of llama.cpp's own API",
    hint: compatible("http://HOST:8080/v1"),
    counts: (body) => [body.tokens_evaluated, body.tokens_predicted],
    is: ({ content, stop, choices }) =>
      choices === undefined && typeof content === "string" && typeof stop === "boolean",
  },
];

function formOf(body: Readonly<Record<string, unknown>>): Form | null {
  return forms.find(({ is }) => is(body)) ?? null;
}

function foreignForm(
  sent: unknown,
): { readonly told: { form: string; hint: string }; readonly reply: RawReply } | null {
  const body = Array.isArray(sent) ? sent.at(-1) : sent;
  if (!isRecord(body)) return null;
  const found = formOf(body);
  if (found === null) return null;
  const [prompt, completion] = found.counts(body);
  const usage = usageSchema.safeParse({ prompt_tokens: prompt, completion_tokens: completion });
  const text = textIn(body.message) || textIn(body.response) || textIn(body.content) || textIn(body.output);
  const { form, hint } = found;
  return { told: { form, hint }, reply: { ...nothing, text, usage: usage.data } };
}

/** For an event stream that was not requested: its first and its last events are read, so that its usage can be reported. */
const mostFirst = 2_000;
const mostLast = 100;

/**
 * Reads a body that its content type does not call JSON, or that is not JSON: events, or lines of JSON. Always throws an error that names
 * the form.
 */
export function readEvents(text: string): never {
  const { events, last } = linesIn(text);
  if (events.length > 0) {
    const stream = new StreamedReply();
    for (const event of events.map((line) => jsonIn(line.slice("data:".length))).filter(isRecord)) {
      const error = errorInBody({ error: event.error });
      if (error !== null) throw new UnusableReply({ is: "error", error }, stream.events === 0 ? null : stream.soFar());
      stream.addIfChunk(event);
    }
    const hint = "The endpoint must answer requests without `stream` with one JSON document.";
    throw new UnusableReply({ is: "foreign", form: "an event stream that was not asked for", hint }, stream.soFar());
  }
  const value = last === null ? undefined : jsonIn(last);
  const error = errorInBody(value);
  const foreign = foreignForm(value);
  if (foreign !== null) throw new UnusableReply({ is: "foreign", ...foreign.told }, foreign.reply);
  if (error !== null) throw new UnusableReply({ is: "error", error }, null);
  throw malformed(text);
}

/** `last`: the last line that is not blank. Each line is read once, and no list of all lines is built: there may be millions. */
function linesIn(text: string): { readonly events: readonly string[]; readonly last: string | null } {
  const first: string[] = [];
  let recent: string[] = [];
  const lines = (text.includes("\r") ? text.replaceAll(/\r\n?/g, "\n") : text).trimEnd();
  for (let from = 0; from <= lines.length; ) {
    const newline = lines.indexOf("\n", from);
    const to = newline < 0 ? lines.length : newline;
    if (lines.startsWith("data:", from)) {
      const event = lines.slice(from, to);
      if (first.length < mostFirst) first.push(event);
      else recent.push(event);
      if (recent.length >= 2 * mostLast) recent = recent.slice(-mostLast);
    }
    from = to + 1;
  }
  const last = lines.slice(lines.lastIndexOf("\n") + 1);
  return { events: [...first, ...recent.slice(-mostLast)], last: last === "" ? null : last };
}

function malformed(sent: unknown, error?: z.ZodError): UnusableReply {
  const issue = error?.issues[0];
  const why = issue === undefined ? "" : `${issue.path.join(".") || "the whole"}: ${issue.message}. `;
  const words = typeof sent === "string" ? sent : (JSON.stringify(sent) ?? "");
  const begins = words === "" ? "It is empty." : `It starts with ${words.slice(0, 200)}`;
  return new UnusableReply({ is: "malformed", why: `${why}${begins}` }, null);
}

function jsonIn(text: string): unknown {
  const read = parseJson(text);
  return "value" in read ? read.value : undefined;
}
