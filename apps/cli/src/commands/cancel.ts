import { cancelClass } from "../class-verbs.ts";
import { type Command, exitCodes } from "../command.ts";
import { batchMeant } from "../find-batch.ts";
import { findRun } from "../find-run.ts";
import { parseRunArgs } from "../parse-words.ts";
import { withStack } from "../with-stack.ts";

export const cancel: Command = {
  help: `Usage: markmill cancel RUN|BATCH [--reason TEXT]

Cancel a run and the runs it called. Running steps are stopped, and no handler
runs. A cancelled run does not continue. If ON_SUCCESS or ON_FAILED of a run is
running, the run has already ended: only this handler is stopped, and the run is
not cancelled. For a class, cancel all its runs and keep its grades.

Example:
  markmill cancel last --reason 'wrong submission'`,

  async run(args, terminal) {
    const { values, wanted } = parseRunArgs(args, { reason: { type: "string" } });
    return await withStack(terminal, async (stack, config) => {
      const batch = await batchMeant(stack.tenant, wanted, terminal.cwd);
      const reason = values.reason ?? "Cancelled by hand.";
      if (batch !== null) return await cancelClass(stack, config, batch, reason, terminal);
      const run = await findRun(stack.tenant, wanted);
      if (run.endedAt !== null) {
        terminal.err(`${run.id} had already ended: ${run.status}. It was not cancelled.`);
        return exitCodes.failed;
      }
      const { jobs } = await stack.tenant.runs.cancel(run.rootId, reason);
      await stack.queues.enqueue(jobs);
      const after = await stack.tenant.runs.get(run.rootId);
      if (after === null || after.status === "cancelled") terminal.err(`cancelled: ${run.rootId}`);
      else
        terminal.err(
          `${run.rootId} had already ended: ${after.status}. It was not cancelled; its handlers were stopped.`,
        );
      return exitCodes.success;
    });
  },
};
