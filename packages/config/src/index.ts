export { rememberWalls } from "./accepted-walls.ts";
export { trustsClassFile } from "./class-file-trust.ts";
export type { Config, TelemetrySettings } from "./config.ts";
export type { EnvFilePlace } from "./env-file.ts";
export { variables } from "./environment.ts";
export { findProject, processHome } from "./find-project.ts";
export { claimHome } from "./project-home.ts";
export {
  configFindingCodes,
  describeFindings,
  type EnvironmentText,
  keyElsewhere,
  leaveOutEnvFile,
  readConfig,
  readProcessConfig,
} from "./read-config.ts";
export { redactConfig, redactText, redactUrl } from "./redact-config.ts";
export { openQuestions, type TrustQuestion, trustQuestions } from "./trust-question.ts";
export { folderOfRecords, forgetDecision, listDecisions, recordDecision } from "./trust-records.ts";
export { writeEnvExample } from "./write-env-example.ts";
