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
export { nanodollars } from "./dollars.ts";
export { modelFileCodes, scriptedServerCodes, scriptFileCodes } from "./file-codes.ts";
export { type Finding, formatFinding } from "./finding.ts";
export { type ContextCut, type ContextRoom, type FittedContext, fitContext } from "./fit-context.ts";
export {
  builtInCatalogue,
  type CatalogueReading,
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
  type ModelClient,
  type ModelClientOptions,
} from "./model-client.ts";
/** @public */
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
export type { Passage, RateGate } from "./rate-gate.ts";
export { parseScript, type Script, type ScriptReading } from "./script.ts";
export {
  type LoggedRequest,
  type ScriptedModel,
  type ScriptedModelOptions,
  startScriptedModel,
} from "./scripted-server.ts";
export type { SplitReply } from "./split-reasoning.ts";
export type { SchemaFinding, StructuredReply } from "./structured-reply.ts";
export type { WorstCase } from "./worst-case.ts";
