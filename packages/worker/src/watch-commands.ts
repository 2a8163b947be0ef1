/**
 * Watches whether this worker can run commands. A worker takes no command before its sandbox has passed the self-test.
 *
 * W1  A sandbox that cannot be opened or tested (its engine starts later, its image is still being loaded) is retried until it can.
 * W2  A sandbox that failed the self-test stays refused. So does one with weak isolation that the operator has not accepted. A person must
 *     decide.
 * W3  A sandbox that passed is asked every few seconds whether it still answers. If it does not, that is reported, and it counts again when
 *     it does.
 */
import { setTimeout as pause } from "node:timers/promises";
import { type ProvenSandbox, type Sandbox, SandboxError, sandboxErrorCodes } from "@markmill/sandbox";
import { type CannotExecute, type CommandStanding, sandboxNotConfigured } from "@markmill/store/machine";
import type { Log } from "./log.ts";

export interface CommandWatch {
  standing(): CommandStanding;
  /** Resolves when it is known whether this worker takes commands. */
  readonly takes: Promise<boolean>;
  stop(): void;
}

interface Watched {
  readonly sandbox: Sandbox | ProvenSandbox | null;
  /** refuse: commands are taken, and answered with the refusal. */
  readonly unsafe: "abstain" | "refuse";
  readonly log: Log;
  readonly onChange: () => void;
  /** Replaces the usual intervals between tests and questions. */
  readonly everyMs?: number;
}

/** Together 5 s: the longest time until a frozen sandbox is noticed. */
const askEveryMs = 1_500;
const answerMs = 3_500;
const firstPauseMs = 1_000;
const longestPauseMs = 15_000;

export function watchCommands({ sandbox, unsafe, log, onChange, everyMs }: Watched): CommandWatch {
  // Without a sandbox a command is taken, and answered with a failure that gives the reason.
  if (sandbox === null) return settled(sandboxNotConfigured);
  if (!("proven" in sandbox)) return settled({ can: "execute" });
  const over = new AbortController();
  const { signal } = over;
  const { promise: takes, resolve: take } = Promise.withResolvers<boolean>();
  let standing: CommandStanding = { can: "not yet" };

  function stand(next: CommandStanding): void {
    const before = standing;
    standing = next;
    if (before.can === next.can && codeOf(before) === codeOf(next)) return;
    if (next.can === "nothing") log.error({ code: next.code, why: next.message }, "commands are refused");
    else if (before.can === "nothing") log.info({}, "commands are run again");
    onChange();
  }

  async function prove(proven: ProvenSandbox): Promise<boolean> {
    for (let tries = 0; !signal.aborted; tries += 1) {
      try {
        const { safe, failures, thin } = await proven.proven();
        if (signal.aborted) return false;
        stand(
          safe ? { can: "execute" } : cannot(thin.length > 0 ? "SANDBOX_THIN" : "SANDBOX_UNSAFE", failures.join(" ")),
        );
        take(safe || unsafe === "refuse");
        return safe;
      } catch (error) {
        if (signal.aborted) return false;
        stand(troubleOf(error));
        if (unsafe === "refuse") take(true);
      }
      await pause(Math.min((everyMs ?? firstPauseMs) * 2 ** tries, longestPauseMs), undefined, {
        signal,
        ref: false,
      }).catch(() => {});
    }
    return false;
  }

  async function keepAsking(ask: () => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      await pause(everyMs ?? askEveryMs, undefined, { signal, ref: false }).catch(() => {});
      const answer = await within(ask()).then(
        (): CommandStanding => ({ can: "execute" }),
        (error: unknown) => troubleOf(error),
      );
      if (!signal.aborted) stand(answer);
    }
  }

  void prove(sandbox).then(async (safe) => {
    if (safe && sandbox.answers !== undefined) await keepAsking(sandbox.answers);
  });
  return { standing: () => standing, takes, stop: () => over.abort() };
}

function settled(standing: CommandStanding): CommandWatch {
  return { standing: () => standing, takes: Promise.resolve(true), stop: () => undefined };
}

function codeOf(standing: CommandStanding): string {
  return standing.can === "nothing" ? standing.code : "";
}

function troubleOf(error: unknown): CannotExecute {
  return error instanceof SandboxError
    ? cannot(error.code, error.message)
    : cannot("SANDBOX_UNAVAILABLE", error instanceof Error ? error.message : String(error));
}

function cannot(code: keyof typeof sandboxErrorCodes, message: string): CannotExecute {
  return { can: "nothing", code, ...sandboxErrorCodes[code], message: message.slice(0, 2_000) };
}

/** A frozen engine counts as one that does not answer. */
async function within(asked: Promise<void>): Promise<void> {
  const late = new AbortController();
  const limit = pause(answerMs, undefined, { signal: late.signal, ref: false }).then(() => {
    throw new SandboxError(
      "SANDBOX_ENGINE_UNREACHABLE",
      `The sandbox did not answer within ${answerMs / 1000} s.`,
      sandboxErrorCodes.SANDBOX_ENGINE_UNREACHABLE.fix,
    );
  });
  await Promise.race([asked, limit]).finally(() => late.abort());
}
