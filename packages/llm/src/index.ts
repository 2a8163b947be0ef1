export {
  type BudgetPort,
  type CallLedger,
  type CallPorts,
  callModel,
  type Remembered,
  together,
} from "./call-model.ts";
export { nanodollars } from "./dollars.ts";
export { likelyToolTokens } from "./estimate-tokens.ts";
export { modelFileCodes, scriptedServerCodes, scriptFileCodes } from "./file-codes.ts";
export { formatFinding } from "./finding.ts";
export { contextExcess, fitContext } from "./fit-context.ts";
export { hashEmbedding } from "./hash-embedding.ts";
export { parseJson, readJsonReply } from "./json-in-reply.ts";
export { keyHeaders } from "./key-headers.ts";
export {
  builtInCatalogue,
  findModel,
  type Model,
  type ModelCatalogue,
  parseModels,
} from "./model-catalogue.ts";
export {
  createModelClient,
  type ModelClient,
} from "./model-client.ts";
export {
  ModelFailure,
  modelFailureCodes,
} from "./model-failure.ts";
export {
  effectiveSettings,
  type ModelMessage,
  type ModelReply,
  type ToolCall,
  type ToolOffer,
} from "./model-request.ts";
export { heardSlot, type ModelSlot, noLimit } from "./model-slot.ts";
export { probeEndpoint } from "./probe-endpoint.ts";
export type { RatePort } from "./rate-port.ts";
export { parseScript, type Script } from "./script.ts";
export {
  type LoggedRequest,
  type ScriptedModel,
  startScriptedModel,
} from "./scripted-server.ts";
export { readVectors, unitBytes } from "./vectors-text.ts";
