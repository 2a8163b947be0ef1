export { isUnfit, type LookBounds } from "./checkpoint/look.ts";
export { readTar } from "./checkpoint/tar-archive.ts";
export { type Changes, type CheckpointPart, partOfFiles, type Snapshot } from "./checkpoint/workspace.ts";
export { chooseSandbox, type SandboxChoice } from "./choose-sandbox.ts";
export { judgeCommand } from "./commands/command-policy.ts";
export {
  extractCommands,
  type SkippedBlock,
  tellSkipped,
} from "./commands/extract-commands.ts";
export { parseInSession, splitCommands } from "./commands/split-commands.ts";
export { exitCodeOf, renderTranscript, type TranscriptEntry } from "./commands/transcript.ts";
export { describeEngines, type EngineStanding } from "./docker/describe-engines.ts";
export {
  createDockerSandbox,
  type DockerDescription,
  type WarmPoolWish,
} from "./docker/docker-sandbox.ts";
export { createJailSandbox, type JailDescription } from "./jail/jail-sandbox.ts";
export { AUTOGRADER_FILES } from "./judge/autograder-script.ts";
export { redactNonce } from "./judge/judge-results.ts";
export { type Decision, isJudgeSession, type JudgeSession, openJudge } from "./judge/judge-session.ts";
export { workspaceFiles } from "./judge/workspace-files.ts";
export { clampLimits, defaultLimits, type Limits } from "./limits.ts";
export { neutraliseText } from "./neutralise-output.ts";
export { createNoneSandbox } from "./none/none-sandbox.ts";
export {
  type CommandOutcome,
  type CommandSpec,
  type Sandbox,
  type Session,
  type SessionFile,
  type SessionFiles,
  type SessionSpec,
  type SessionState,
  type StartedProgram,
  WORKSPACE,
} from "./port.ts";
export { type ProvenSandbox, proveSandbox } from "./prove-sandbox.ts";
export { SandboxError, type SandboxErrorCode, sandboxErrorCodes } from "./sandbox-error.ts";
export {
  judgeSelfTest,
  runSelfTest,
} from "./self-test.ts";
