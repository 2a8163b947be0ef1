export type { Config } from "./config.ts";
export { type EnvFilePlace, makeProject } from "./env-file.ts";
export { type Variable, type VariableName, variables } from "./environment.ts";
export {
  type ConfigFinding,
  type ConfigReading,
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
