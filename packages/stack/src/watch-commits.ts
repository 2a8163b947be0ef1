/** Sends telemetry about commits: the end of a run, whatever caused it, and an answered question. */
import type { OnCommitted } from "@markmill/store";
import type { Telemetry } from "@markmill/telemetry";

export function watchCommits(telemetry: Telemetry): OnCommitted {
  return (run, event, source) => {
    const { id, rootId, parent, definitionHash, state } = run;
    const answered = event.type === "activity.succeeded" && event.outcome.kind === "answered";
    if (source !== null && (answered || event.type === "ask.expired")) {
      const { attempt } = event.activity;
      telemetry.answered({ run: { id, rootId }, id: source.id, attempt, expired: event.type === "ask.expired" });
    }
    const { phase, startedAt, spent } = state;
    if (phase.is !== "ended") return;
    telemetry.ended({
      id,
      rootId,
      parent,
      definitionHash,
      spent,
      status: phase.status,
      code: phase.reason?.code ?? null,
      lastedMs: Math.max(0, event.at - startedAt),
    });
  };
}
