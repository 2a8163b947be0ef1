import { parseArgs } from "node:util";
import { pauseClass } from "../class-verbs.ts";
import type { Command } from "../command.ts";
import { findBatch } from "../find-batch.ts";
import { withStack } from "../with-stack.ts";

export const pause: Command = {
  help: `Usage: markmill pause [BATCH] [--reason TEXT]

Pause a class: start no new submissions. Submissions that are already running
continue to their end. 'markmill resume BATCH' continues the class. Without
BATCH: the latest class.

Example:
  markmill pause examples/class-roman --reason 'rubric is wrong'`,

  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { reason: { type: "string" } },
    });
    return await withStack(terminal, async (stack) => {
      const batch = await findBatch(stack.tenant, positionals[0], terminal.cwd);
      return await pauseClass(stack, batch, values.reason ?? "Paused by hand.", terminal);
    });
  },
};
