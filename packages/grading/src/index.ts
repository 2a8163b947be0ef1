export { type Agreement, agreement, type MarkPair } from "./agreement.ts";
export { type CheckedEvidence, checkEvidence, type Evidence } from "./evidence.ts";
export { findAttempts } from "./find-attempts.ts";
export {
  type CallPlan,
  type CostEstimate,
  estimateCost,
  type Remaining,
  stratifiedSample,
  type TokenPrice,
  timeRemaining,
} from "./forecast.ts";
export {
  type CriterionGrade,
  type Flag,
  type Grade,
  type GradeInput,
  graderError,
  gradeWork,
  type HumanVerdict,
  latePenalty,
  type Outcome,
  type Penalty,
  type ReviewPolicy,
  ungradable,
} from "./grade.ts";
export {
  type GradescopeResults,
  type GradescopeTest,
  isVisible,
  type Moment,
  type OutputFormat,
  type ReadGradescope,
  readGradescopeResults,
  redactResults,
  testsOfGradescope,
} from "./gradescope-results.ts";
export { floorToStep, readPoints, roundPoints, sumPoints } from "./points.ts";
export { pseudonyms } from "./pseudonym.ts";
export { type RubricLine, type RubricReport, readRubric } from "./read-rubric.ts";
export {
  type Criterion,
  clampPoints,
  type Level,
  mostPoints,
  type Rubric,
  type Scale,
  type Source,
  stepOf,
} from "./rubric.ts";
export { type Person, type Scrubbed, Scrubber, type ScrubKind } from "./scrub.ts";
export { neutralise, type ShownWork, type ShowOptions, showWork, submissionNotice } from "./show-work.ts";
export {
  fits,
  MOST_RESULT_BYTES,
  type ReadResults,
  readTestResults,
  scoreTests,
  type TestResult,
  type TestScore,
  type Visibility,
} from "./test-results.ts";
export {
  criteriaForModel,
  type ReadVerdicts,
  readVerdicts,
  repairMessage,
  type Verdict,
  type VerdictProblem,
  verdictSchema,
} from "./verdict.ts";
export { type WorkFiles, workFiles } from "./work-files.ts";
