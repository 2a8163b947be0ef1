export {
  identifyProcess,
  isAlive,
  ownIdentity,
  type ProcessIdentity,
  type ProcessStat,
  parseStat,
  readIdentity,
  readProcessStat,
  writeIdentity,
} from "./process-identity.ts";
