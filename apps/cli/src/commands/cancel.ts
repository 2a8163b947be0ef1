import { type Command, exitCodes } from "../command.ts";
import { findRun } from "../find-run.ts";
import { parseRunArgs } from "../parse-words.ts";
import { withStack } from "../with-stack.ts";

export const cancel: Command = {
  help: `Usage: markmill cancel RUN [--reason TEXT]

Ends a run and the runs it called, at once: what is under way is given up, and
no handler runs. A cancelled run does not continue.

Example:
  markmill cancel last --reason 'wrong submission'`,

  async run(args, terminal) {
    const { values, wanted } = parseRunArgs(args, { reason: { type: "string" } });
    return await withStack(terminal, async (stack) => {
      const run = await findRun(stack.tenant, wanted);
      if (run.endedAt !== null) {
        terminal.err(`${run.id} has ended before: ${run.status}`);
        return exitCodes.failed;
      }
      const { rings } = await stack.tenant.runs.cancel(run.rootId, values.reason ?? "Cancelled by hand.");
      await stack.queues.ring(rings);
      terminal.err(`cancelled: ${run.rootId}`);
      return exitCodes.success;
    });
  },
};
