export { type Agreement, agreement, type MarkPair } from "./agreement.ts";
export { changedCriteria } from "./changed-criteria.ts";
export { compareLooks, comparePanel } from "./compare-verdicts.ts";
export { decideGrade, type GradeDecision } from "./decide-grade.ts";
export {
  type FinalGrade,
  finalGrade,
  type GradeEvent,
  type GradeEventKind,
  type PersonMark,
  personMarks,
  releasedFor,
  type WorkSituation,
} from "./final-grade.ts";
export { findAttempts, findSpokenAttempts } from "./find-attempts.ts";
export { findWording } from "./find-wording.ts";
export {
  type CallPlan,
  estimateCost,
  stratifiedSample,
  timeRemaining,
} from "./forecast.ts";
export {
  type CriterionGrade,
  type Flag,
  type FlagKind,
  flagKinds,
  type Grade,
  type GradeInput,
  gradeWork,
  latePenalty,
  type Outcome,
  ungradable,
} from "./grade.ts";
export { gradeMessages } from "./grade-prompt.ts";
export {
  isVisible,
  type Moment,
  readGradescopeResults,
  testsOfGradescope,
} from "./gradescope-results.ts";
export { piecesOfName } from "./leftover-words.ts";
export { type Clue, doubtTexts, type Identified, People, plainKey, spellingsOf } from "./match-people.ts";
export { nameWords, plainName } from "./person-name.ts";
export { formatPoints, meanPoints, readPoints, roundPoints, scalePoints, sumPoints } from "./points.ts";
export { pseudonyms } from "./pseudonym.ts";
export { readNotebook } from "./read-notebook.ts";
export { type RubricLine, readRubric } from "./read-rubric.ts";
export { regradeCriterion } from "./regrade-criterion.ts";
export {
  mostPoints,
  type Rubric,
  stepOf,
} from "./rubric.ts";
export { type RubricFindingCode, rubricFindingCodes } from "./rubric-codes.ts";
export { isHashOf, rubricHash } from "./rubric-hash.ts";
export { type IdentityQuestion, samePeople } from "./same-people.ts";
export { type KeyedWork, sameWorks } from "./same-works.ts";
export { type AuthoredWords, authoredWords, type Person, Scrubber, unscrubbed } from "./scrub.ts";
export { freeName, neutralise, type ShownWork, showWork } from "./show-work.ts";
export { storedResults } from "./stored-results.ts";
export { stripWords } from "./strip-words.ts";
export {
  MOST_RESULT_BYTES,
  type ReadResults,
  readTestResults,
  scoreTests,
} from "./test-results.ts";
export { trimLineEnds } from "./trim-end.ts";
export {
  criteriaForModel,
  type ReadVerdicts,
  readVerdicts,
  repairMessage,
  verdictSchema,
} from "./verdict.ts";
export type { AiConsent, WorkFacts } from "./work-facts.ts";
export { workFiles } from "./work-files.ts";
export { writeRubric } from "./write-rubric.ts";
