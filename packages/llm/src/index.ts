export {
  type Booked,
  type BudgetGate,
  type CallKey,
  type CallLedger,
  type CallOutcome,
  type CallPorts,
  callModel,
  type ModelCall,
  type Remembered,
  type Reserved,
  type Spending,
  together,
} from "./call-model.ts";
export { formatDollars, NANODOLLARS_PER_DOLLAR, nanodollars } from "./dollars.ts";
export { likelyPromptTokens, likelyTokens, promptTokensAtMost } from "./estimate-tokens.ts";
export { modelFileCodes, scriptedServerCodes, scriptFileCodes } from "./file-codes.ts";
export { type Finding, formatFinding } from "./finding.ts";
export { type ContextCut, type ContextRoom, type FittedContext, fitContext, shortenPrompt } from "./fit-context.ts";
export {
  builtInCatalogue,
  type CatalogueReading,
  costOf,
  findModel,
  type Model,
  type ModelCatalogue,
  type ModelLimits,
  type ModelLookup,
  parseModels,
} from "./model-catalogue.ts";
export {
  type CallOptions,
  createModelClient,
  DEFAULT_BASE_URL,
  DEFAULT_MAX_REPLY_BYTES,
  DEFAULT_TIMEOUT_MS,
  type ModelClient,
  type ModelClientOptions,
} from "./model-client.ts";
export {
  type AfterFailure,
  type Billed,
  ModelFailure,
  type ModelFailureCode,
  modelFailureCodes,
} from "./model-failure.ts";
export {
  type EffectiveSettings,
  effectiveSettings,
  type ModelMessage,
  type ModelReply,
  type ModelRequest,
  type ModelSettings,
  type ModelUsage,
  type ReplySchema,
} from "./model-request.ts";
export { neutraliseText } from "./neutralise-text.ts";
export type { Passage, RateGate } from "./rate-gate.ts";
export { requestHash } from "./request-hash.ts";
export { parseScript, type Script, type ScriptReading } from "./script.ts";
export {
  type LoggedRequest,
  type ScriptedModel,
  ScriptedModelError,
  type ScriptedModelOptions,
  startScriptedModel,
} from "./scripted-server.ts";
export { type SplitReply, splitReasoning } from "./split-reasoning.ts";
export { readStructuredReply, type SchemaFinding, type StructuredReply, schemaProblem } from "./structured-reply.ts";
export { type WorstCase, worstCaseOf } from "./worst-case.ts";
