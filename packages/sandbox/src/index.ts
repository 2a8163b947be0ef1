export { isUnfit, type LookBounds } from "./checkpoint/look.ts";
export { type Changes, type CheckpointPart, partOfFiles, type Snapshot } from "./checkpoint/workspace.ts";
export { chooseSandbox, type SandboxChoice, type SandboxFactories } from "./choose-sandbox.ts";
export { type CommandPolicy, judgeCommand, type PolicyVerdict } from "./commands/command-policy.ts";
export {
  type CommandBlock,
  type ExtractOptions,
  extractCommands,
  type SkippedBlock,
  tellSkipped,
} from "./commands/extract-commands.ts";
export { type BashParser, parseInSession, splitCommands } from "./commands/split-commands.ts";
export { exitCodeOf, renderTranscript, type TranscriptEntry } from "./commands/transcript.ts";
export {
  createDockerSandbox,
  type DockerDescription,
  type DockerSandbox,
  type DockerSandboxOptions,
  type WarmPoolWish,
} from "./docker/docker-sandbox.ts";
export type { EngineFacts } from "./docker/engine-host.ts";
export { createJailSandbox, type JailDescription, type JailOptions, type JailSandbox } from "./jail/jail-sandbox.ts";
export { isJudgeSession, type JudgeSession, type JudgeSpec, openJudge } from "./judge/judge-session.ts";
export { workspaceFiles } from "./judge/workspace-files.ts";
export { clampLimits, defaultLimits, type Limits } from "./limits.ts";
export { neutraliseText } from "./neutralise-output.ts";
export { createNoneSandbox, type NoneOptions } from "./none/none-sandbox.ts";
export {
  type CommandKind,
  type CommandOutcome,
  type CommandSpec,
  type CommandTrust,
  type FileRead,
  type FileWritten,
  type ListedSession,
  type ProgramSpec,
  type Rewind,
  type RunOptions,
  type Sandbox,
  type SandboxKind,
  type Session,
  type SessionFile,
  type SessionFiles,
  type SessionLabels,
  type SessionSpec,
  type SessionState,
  type StartedProgram,
  WORKSPACE,
} from "./port.ts";
export type { ProbeResult } from "./probes/probe.ts";
export { type ProofOptions, type ProvenSandbox, proveSandbox } from "./prove-sandbox.ts";
/** @public */
export { SandboxError, type SandboxErrorCode, sandboxErrorCodes } from "./sandbox-error.ts";
export {
  type ControlResult,
  judgeSelfTest,
  runSelfTest,
  type SelfTestOptions,
  type SelfTestReport,
  type SelfTestVerdict,
} from "./self-test.ts";
export type { ThinWall, ThinWallName } from "./thin-walls.ts";
