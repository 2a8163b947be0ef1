import type { Model } from "./model-catalogue.ts";

/** A tool call that the model requests. `arguments`: as the model wrote them; JSON if it followed its task. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** A tool that the model may call. */
export interface ToolOffer {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly schema: Readonly<Record<string, unknown>>;
}

export type ModelMessage =
  | { readonly role: "system" | "user"; readonly content: string }
  | { readonly role: "assistant"; readonly content: string; readonly toolCalls?: readonly ToolCall[] }
  /** The result of a tool call in the preceding assistant message. */
  | { readonly role: "tool"; readonly content: string; readonly callId: string };

/** The text of a message: its content and its tool calls. */
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
  /** Asks the endpoint to enforce the schema while generating. The schema then has to list every property as required. */
  readonly strict?: boolean;
}

export interface ModelRequest {
  /** An alias or a name of the catalogue. */
  readonly model: string;
  readonly messages: readonly ModelMessage[];
  readonly settings: ModelSettings;
  readonly schema?: ReplySchema;
  /** Default: the model may call no tools. */
  readonly tools?: readonly ToolOffer[];
  /**
   * The messages are texts to be embedded; the reply's text contains their vectors (vectors-text.ts). No other field of the request is
   * sent.
   */
  readonly embed?: { readonly dimensions?: number };
  /** For requests with tools. Default: the model decides. none: it must answer now. */
  readonly toolChoice?: "none" | "required";
}

export interface ModelUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly nanodollars: number;
  /** Characters (UTF-16 units) of all sent messages plus the reply. */
  readonly characters: number;
  /** The endpoint reported no usage; the token counts are our own estimate. */
  readonly estimated: boolean;
}

export interface ModelReply {
  /** The model's answer without its reasoning. If it is empty, callModel returns a failure. */
  readonly text: string;
  /** The model's reasoning: for people who inspect a run, never part of the conversation. */
  readonly reasoning?: string;
  /** The tools that the model calls, in its order. It may be present even if the request offered no tools. */
  readonly toolCalls?: readonly ToolCall[];
  /** `length`: cut at the output limit. `refused`: the endpoint's content filter or the model itself declined. */
  readonly finishReason: "stop" | "length" | "refused" | "tools" | "other";
  /** For a refused reply: the endpoint's own finish reason. */
  readonly ending?: string;
  readonly usage: ModelUsage;
  /** The model's name in the endpoint's reply. */
  readonly model: string;
}

export interface EffectiveSettings {
  readonly settings: ModelSettings & { readonly maxOutputTokens: number };
  /** Requested settings that this model does not support. */
  readonly ignored: readonly string[];
}

const SAMPLING = ["temperature", "topP", "frequencyPenalty", "presencePenalty", "stop"] as const;

/**
 * The settings that are really sent: the request's settings over the model's defaults. The output limit is always present and within the
 * model's limit.
 */
export function effectiveSettings(model: Model, asked: ModelSettings): EffectiveSettings {
  const merged = { ...model.defaults, ...asked };
  const maxOutputTokens = Math.min(merged.maxOutputTokens ?? model.maxOutputTokens, model.maxOutputTokens);
  if (!model.reasoning) return { settings: { ...merged, maxOutputTokens }, ignored: [] };
  return { settings: { maxOutputTokens }, ignored: SAMPLING.filter((name) => asked[name] !== undefined) };
}
