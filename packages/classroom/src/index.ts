export {
  type CfgBatch,
  type CfgRun,
  type CfgSettings,
  factsScore,
  lengthScore,
  readCfgBatch,
} from "./cfg-batch.ts";
export {
  type AttemptPolicy,
  type ClassFile,
  type LatePolicy,
  type LayoutChoice,
  readClassFile,
  readInstant,
} from "./class-file.ts";
export {
  type ClassIntake,
  type ClassSubmission,
  type Content,
  type IntakeOptions,
  type Lateness,
  readClass,
  type Unmatched,
} from "./class-intake.ts";
export type { Layout } from "./layout.ts";
export type { AiConsent, Member } from "./member.ts";
export { CLASS_FILE, type ClassFolder, type ReadClassFolder, readClassFolder } from "./read-class-folder.ts";
export { readRubricFile } from "./read-rubric-file.ts";
export { compareRosters, type Field, type Roster, type RosterChange, type RosterKind, readRoster } from "./roster.ts";
export { type SimilarOptions, type SimilarPair, similarPairs } from "./similar-pairs.ts";
