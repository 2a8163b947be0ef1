/**
 * Runs the author's command in a judge session. Transcript and exit code are those of the judge. They contain output of a student's program
 * only if the judge printed it. Trouble of the sandbox, also under a guest, is a failure to retry and never an exit code. A judgement is
 * made from data, so a retry is always safe. It uses another nonce, which no program has seen.
 */
import type { Work } from "@markmill/engine";
import { MOST_RESULT_BYTES } from "@markmill/grading";
import { type Decision, exitCodeOf, type JudgeSession, renderTranscript, type SandboxError } from "@markmill/sandbox";
import type { Watched } from "@markmill/telemetry";
import { readForeign } from "./foreign-text.ts";
import type { ResultsBy } from "./judge-results.ts";
import { nextStep, sandboxFailed } from "./perform-execute.ts";
import { done, type Performed } from "./performed.ts";
import { watchedCommand } from "./watch-activity.ts";

export async function performJudge(
  judge: JudgeSession,
  work: Extract<Work, { kind: "execute" }>,
  by: ResultsBy,
  signal: AbortSignal,
  watched: Watched | null = null,
): Promise<Performed> {
  const command = { kind: "shell", text: work.text } as const;
  const decision = await watchedCommand(
    watched,
    { kind: "shell", trust: "author" },
    () => judge.decide(command, { signal, maxResultBytes: MOST_RESULT_BYTES }),
    ({ outcome }) => outcome,
  );
  const entries = [{ kind: "ran", command: work.text, outcome: decision.outcome }] as const;
  const note =
    judge.leftOut === 0
      ? ""
      : `[${judge.leftOut} ${judge.leftOut === 1 ? "entry" : "entries"} of the submission, such as links, are no plain files and not in /submission]\n`;
  return done({
    kind: "executed",
    text: note + renderTranscript(entries),
    exitCode: exitCodeOf(entries),
    commands: 1,
    ...(await readForeign(lengthOf(decision), "readDecision", decision, by)),
  });
}

function lengthOf({ results }: Decision): number {
  return results?.kind === "read" ? results.bytes.length : 0;
}

export function judgeFailed(error: SandboxError): Performed {
  const next = nextStep(error, false);
  return sandboxFailed(error, next === "unknown" ? "park" : next);
}
