export {
  identifyProcess,
  isAlive,
  ownIdentity,
  type ProcessIdentity,
  type ProcessStat,
  readIdentity,
  readProcessStat,
  writeIdentity,
} from "./processes/process-identity.ts";
export { doubling, mayPass, type Patience, patiently } from "./retry/patiently.ts";
