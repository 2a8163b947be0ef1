import type { Model } from "./model-catalogue.ts";

/** A tool the model wants to be called. `arguments`: as it wrote them, JSON if it kept to its task. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** A tool the model may ask for. */
export interface ToolOffer {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly schema: Readonly<Record<string, unknown>>;
}

export type ModelMessage =
  | { readonly role: "system" | "user"; readonly content: string }
  | { readonly role: "assistant"; readonly content: string; readonly toolCalls?: readonly ToolCall[] }
  /** What came of a tool call of the assistant's message before it. */
  | { readonly role: "tool"; readonly content: string; readonly callId: string };

/** What is written in a message: its words, and what it wants of tools. */
export function lettersOf(message: ModelMessage): string {
  if (message.role !== "assistant" || message.toolCalls === undefined) return message.content;
  return message.content + message.toolCalls.map(({ id, name, arguments: given }) => id + name + given).join("");
}

export function charactersOf(messages: readonly ModelMessage[]): number {
  return messages.reduce((sum, message) => sum + lettersOf(message).length, 0);
}

export interface ModelSettings {
  readonly temperature?: number;
  readonly topP?: number;
  readonly frequencyPenalty?: number;
  readonly presencePenalty?: number;
  readonly maxOutputTokens?: number;
  readonly stop?: readonly string[];
}

export interface ReplySchema {
  readonly name: string;
  /** JSON Schema. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** Asks the endpoint to enforce it while generating; it then has to name every property as required. */
  readonly strict?: boolean;
}

export interface ModelRequest {
  /** An alias or a name of the catalogue. */
  readonly model: string;
  readonly messages: readonly ModelMessage[];
  readonly settings: ModelSettings;
  readonly schema?: ReplySchema;
  /** Absent: it may ask for none. */
  readonly tools?: readonly ToolOffer[];
  /** The messages are texts to be embedded: the reply's text is their vectors (vectors-text.ts). Nothing else of the request is sent. */
  readonly embed?: { readonly dimensions?: number };
  /** With tools. Absent: it decides itself. none: it has to answer now. */
  readonly toolChoice?: "none" | "required";
}

export interface ModelUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly nanodollars: number;
  /** Characters (UTF-16 units) of all messages sent plus the reply. */
  readonly characters: number;
  /** The endpoint reported no usage; the token counts are our own. */
  readonly estimated: boolean;
}

export interface ModelReply {
  /** What the model answered, without what it thought aloud. "": nothing, which callModel makes a failure. */
  readonly text: string;
  /** What it thought: for people who look into a run, never part of the conversation. */
  readonly reasoning?: string;
  /** Tools it wants to be called, in its order; also where it was given none. */
  readonly toolCalls?: readonly ToolCall[];
  /** `length`: cut at the output limit. `refused`: the endpoint's content filter or the model itself declined. */
  readonly finishReason: "stop" | "length" | "refused" | "tools" | "other";
  /** Of a refused one: the endpoint's own word for how it ended. */
  readonly ending?: string;
  readonly usage: ModelUsage;
  /** As the endpoint names it. */
  readonly model: string;
}

export interface EffectiveSettings {
  readonly settings: ModelSettings & { readonly maxOutputTokens: number };
  /** Settings the request asked for and this model does not take. */
  readonly ignored: readonly string[];
}

const SAMPLING = ["temperature", "topP", "frequencyPenalty", "presencePenalty", "stop"] as const;

/** What is really sent: the request's settings over the model's defaults, the output limit always present and within the model's. */
export function effectiveSettings(model: Model, asked: ModelSettings): EffectiveSettings {
  const merged = { ...model.defaults, ...asked };
  const maxOutputTokens = Math.min(merged.maxOutputTokens ?? model.maxOutputTokens, model.maxOutputTokens);
  if (!model.reasoning) return { settings: { ...merged, maxOutputTokens }, ignored: [] };
  return { settings: { maxOutputTokens }, ignored: SAMPLING.filter((name) => asked[name] !== undefined) };
}
