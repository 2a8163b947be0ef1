export { type AttemptChoice, choiceOption, holdChoices } from "./attempt-choices.ts";
export {
  type CfgBatch,
  type CfgSettings,
  type CfgWorkflow,
  factsScore,
  lengthScore,
  readCfgBatch,
} from "./cfg-batch.ts";
export { classFindingCodes } from "./class-codes.ts";
export type { ClassIntake } from "./class-intake.ts";
export { countingWorks } from "./counting-works.ts";
export type { GitAccess } from "./fetch-repository.ts";
export { findSimilarPairs } from "./find-similar-pairs.ts";
export {
  CLASS_FILE,
  type ClassHead,
  readClassHead,
  readClassWorks,
} from "./read-class-folder.ts";
export { type Roster, readPeople } from "./roster.ts";
export type { SimilarWorks } from "./similar-pairs.ts";
