export { rememberWalls } from "./accepted-walls.ts";
export type { Config, TelemetrySettings } from "./config.ts";
export { type EnvFilePlace, makeProject } from "./env-file.ts";
export { variables } from "./environment.ts";
export {
  configFindingCodes,
  describeFindings,
  type EnvironmentText,
  keyElsewhere,
  leaveOutEnvFile,
  processHome,
  readConfig,
  readProcessConfig,
} from "./read-config.ts";
export { redactConfig, redactText, redactUrl } from "./redact-config.ts";
export { writeEnvExample } from "./write-env-example.ts";
