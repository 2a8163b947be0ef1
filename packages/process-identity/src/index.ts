export {
  identifyProcess,
  isAlive,
  ownIdentity,
  type ProcessIdentity,
  type ProcessStat,
  readIdentity,
  readProcessStat,
  writeIdentity,
} from "./process-identity.ts";
