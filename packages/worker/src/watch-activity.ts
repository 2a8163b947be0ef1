/** What the worker reports to telemetry: ids, kinds, codes and figures of an activity, never its content. */
import type { Delivery } from "@markmill/engine";
import { findModel, heardSlot, type ModelCatalogue, type ModelClient, ModelFailure, noLimit } from "@markmill/llm";
import { type CommandOutcome, type CommandSpec, SandboxError } from "@markmill/sandbox";
import type { Claimed } from "@markmill/store/machine";
import type { ActivityEnd, TracedActivity, Watched } from "@markmill/telemetry";
import type { Done } from "./decide/after-performing.ts";

export function traced({ run, activity, takeovers }: Claimed, { queue, jobId }: Delivery, now: number): TracedActivity {
  const { node, generation, attempt } = activity.ref;
  return {
    run: { id: run.id, rootId: run.rootId },
    id: activity.id,
    kind: activity.kind,
    // A model may have invented the name of a node that was planned at run time, so this name is not reported.
    node: node in run.program.nodes ? node : null,
    generation,
    attempt,
    takeovers,
    queue,
    claim: activity.leased ? activity.claim : 0,
    job: jobId,
    askedMsAgo: Math.max(0, now - activity.askedAt),
  };
}

export function endOf(done: Done): ActivityEnd {
  if (done.did === "fail") return { did: "fail", code: done.failure.code, next: done.next, spent: done.usage };
  const { outcome, usage } = done;
  return { did: "succeed", spent: usage, ...(outcome.kind === "executed" ? { exitCode: outcome.exitCode } : {}) };
}

/**
 * A client whose requests are watched from the moment they are sent. A reply from the ledger is not a request, and neither is a request
 * that never had its slot.
 */
export function watchedClient(client: ModelClient, catalogue: ModelCatalogue, watched: Watched | null): ModelClient {
  if (watched === null) return client;
  return {
    endpoint: client.endpoint,
    async complete(request, options) {
      const lookup = findModel(catalogue, request.model);
      const name = lookup.ok ? lookup.model.name : "other";
      let tell: ReturnType<Watched["modelCall"]> = () => undefined;
      const slot = heardSlot(options?.slot ?? noLimit, {
        begun() {
          tell = watched.modelCall(name, request.settings.maxOutputTokens ?? null);
        },
      });
      try {
        const reply = await client.complete(request, { ...options, slot });
        const { model, finishReason, usage } = reply;
        const { promptTokens, completionTokens, nanodollars } = usage;
        tell({ did: "reply", model, finishReason, promptTokens, completionTokens, nanodollars });
        return reply;
      } catch (error) {
        tell({ did: "fail", code: error instanceof ModelFailure ? error.code : "WORKER_BUG" });
        throw error;
      }
    },
  };
}

/** Watches a command from its start to its end. */
export async function watchedCommand<Ran>(
  watched: Watched | null,
  { kind, trust }: Pick<CommandSpec, "kind" | "trust">,
  run: () => Promise<Ran>,
  outcomeOf: (ran: Ran) => CommandOutcome,
): Promise<Ran> {
  if (watched === null) return run();
  const tell = watched.command(kind, trust ?? "author");
  try {
    const ran = await run();
    const { exitCode, timedOut, outOfMemory, outputBytes } = outcomeOf(ran);
    tell({ did: "end", exitCode, timedOut, outOfMemory, outputBytes });
    return ran;
  } catch (error) {
    tell({ did: "fail", code: error instanceof SandboxError ? error.code : "WORKER_LOST" });
    throw error;
  }
}
