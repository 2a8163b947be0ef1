import type { Model } from "./model-catalogue.ts";

export interface ModelMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
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
  /** It wanted tools to be called, although it was given none. */
  readonly toolCalls?: true;
  /** `length`: cut at the output limit. `refused`: the endpoint's content filter or the model itself declined. */
  readonly finishReason: "stop" | "length" | "refused" | "other";
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
