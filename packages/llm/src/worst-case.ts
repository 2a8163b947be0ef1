import { promptTokensAtMost } from "./estimate-tokens.ts";
import { costOf, type Model } from "./model-catalogue.ts";
import { effectiveSettings, type ModelRequest } from "./model-request.ts";

/** The most one call can use: one token for every byte of the prompt, and a reply as long as the request allows. */
export interface WorstCase {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly nanodollars: number;
}

export function worstCaseOf(model: Model, request: ModelRequest): WorstCase {
  const promptTokens = promptTokensAtMost(request);
  const completionTokens =
    request.embed !== undefined ? 0 : effectiveSettings(model, request.settings).settings.maxOutputTokens;
  return { promptTokens, completionTokens, nanodollars: costOf(model, promptTokens, completionTokens) };
}
