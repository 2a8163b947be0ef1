import { type Command, exitCodes } from "../command.ts";
import { findRun } from "../find-run.ts";
import { parseRunArgs } from "../parse-words.ts";
import { shortId } from "../short-id.ts";
import { withStack } from "../with-stack.ts";

export const stop: Command = {
  help: `Usage: markmill stop RUN

Stop a run and the runs it called. Running steps are abandoned and start again
when you resume the run. Replies that are already paid for are kept.

Example:
  markmill stop last && markmill resume last`,

  async run(args, terminal) {
    const { wanted } = parseRunArgs(args, {});
    return await withStack(terminal, async (stack) => {
      const run = await findRun(stack.tenant, wanted);
      const { kind, jobs } = await stack.tenant.runs.stop(run.rootId);
      await stack.queues.enqueue(jobs);
      if (kind !== "committed") {
        terminal.err(`${run.rootId} is not running: ${run.status}`);
        return exitCodes.failed;
      }
      terminal.err(`stopped: ${run.rootId}`);
      terminal.err(`next: markmill resume ${shortId(run.rootId)}   continue where it stopped`);
      return exitCodes.success;
    });
  },
};
