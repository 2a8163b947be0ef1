/**
 * Runs a process of a production deployment: JSON logs, `/health/live` and `/health/ready`, an orderly end on the first signal and an
 * immediate end on the second. A role defines what the process does. It begins on an open stack, and its open parts end with the stack.
 * Health is served from before the stack opens until after it closes: a process that waits for its servers, or finishes its work, is live
 * and not ready.
 */
import { type Config, leaveOutEnvFile } from "@markmill/config";
import { visibleText } from "@markmill/engine";
import { closeAll } from "./close-all.ts";
import { aborted, catchInterrupts } from "./interrupts.ts";
import { openHealth } from "./open-health.ts";
import { openStack, type Stack } from "./open-stack.ts";
import { openProcessLog } from "./process-log.ts";
import { type Place, requireConfig } from "./require-config.ts";
import type { StackLog } from "./stack-log.ts";
import { tellError } from "./tell-error.ts";
import { WrongInput } from "./wrong-input.ts";

export interface ProcessRole {
  readonly name: string;
  /** The text of `COMMAND --help`. */
  readonly help: (command: string) => string;
  /** Default: needed. */
  readonly queue?: "needed" | "when there";
  begin(stack: Stack, surroundings: Surroundings): Promise<Begun>;
}

interface Surroundings {
  readonly config: Config;
  readonly cwd: string;
  readonly log: StackLog;
  /** Ends the process as failed, so that its orchestrator restarts it. */
  readonly giveUp: (why: string) => void;
}

interface Begun {
  /** Fields for the log line that reports the start. */
  readonly facts: object;
  /** Called before the stack is closed. */
  close(): Promise<void>;
}

/** Resolves with the exit code after the process was asked to end. */
export async function serveProcess(role: ProcessRole, place: Place): Promise<number> {
  const config = requireConfig(place);
  const log = await openProcessLog(config, role.name);
  const giveUp = (why: string) => {
    log.fatal(why);
    process.exit(1);
  };
  const interrupts = catchInterrupts();
  const { queue = "needed" } = role;
  const health = await openHealth(config.healthPort);
  let stack: Stack | null = null;
  try {
    stack = await openStack({ config, cwd: place.cwd, log, queue, role: role.name });
    const begun = await role.begin(stack, { config, cwd: place.cwd, log, giveUp });
    health?.isReady(stack.components);
    const facts = { queue: stack.queues.kind, ...(health === null ? {} : { healthPort: health.port }), ...begun.facts };
    log.info(facts, `${role.name} started`);
    await aborted(interrupts.signal);
    log.info("stopping: finishing the running steps");
    health?.isStopping();
    await begun.close();
    return 0;
  } finally {
    const opened = stack;
    await closeAll([
      async () => {
        if (opened === null) return;
        await opened.close();
        log.info("stopped");
      },
      () => health?.close(),
      interrupts.release,
    ]);
  }
}

/** The whole `main` of a program with one role. Returns its exit code. */
export async function runProcess(role: ProcessRole, command: string, args: readonly string[]): Promise<number> {
  const err = (text: string) => void process.stderr.write(`${visibleText(text)}\n`);
  const wrong = args.find((word) => !["--help", "-h", "--no-env-file", "--debug"].includes(word));
  if (wrong !== undefined) {
    err(`${command}: unknown argument '${wrong}'.\nRun '${command} --help' for usage.`);
    return 2;
  }
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(`${role.help(command)}\n`);
    return 0;
  }
  if (args.includes("--no-env-file")) leaveOutEnvFile();
  try {
    return await serveProcess(role, { cwd: process.cwd(), err });
  } catch (error) {
    if (error instanceof WrongInput) {
      err(`${command}: ${error.message}`);
      return 2;
    }
    err(tellError(error, args.includes("--debug")));
    return 1;
  }
}
