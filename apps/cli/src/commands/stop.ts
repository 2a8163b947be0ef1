import { type Command, exitCodes } from "../command.ts";
import { findRun } from "../find-run.ts";
import { parseRunArgs } from "../parse-words.ts";
import { shortId } from "../short-id.ts";
import { withStack } from "../with-stack.ts";

export const stop: Command = {
  help: `Usage: markmill stop RUN

Halts a run and the runs it called: what is under way is given up and asked
again when the run is resumed. What was paid for is kept.

Example:
  markmill stop last && markmill resume last`,

  async run(args, terminal) {
    const { wanted } = parseRunArgs(args, {});
    return await withStack(terminal, async (stack) => {
      const run = await findRun(stack.tenant, wanted);
      const { kind, jobs } = await stack.tenant.runs.stop(run.rootId);
      await stack.queues.enqueue(jobs);
      if (kind !== "committed") {
        terminal.err(`${run.rootId} is not at work: ${run.status}`);
        return exitCodes.failed;
      }
      terminal.err(`stopped: ${run.rootId}`);
      terminal.err(`next: markmill resume ${shortId(run.rootId)}   goes on where it was`);
      return exitCodes.success;
    });
  },
};
