import { catchInterrupts, mustWork, workFor } from "@markmill/stack";
import { attendRun } from "../attend-run.ts";
import { watchClass } from "../class-verbs.ts";
import type { Command } from "../command.ts";
import { batchMeant } from "../find-batch.ts";
import { findRun } from "../find-run.ts";
import { tellHowToContinue } from "../leave-run.ts";
import { parseRunArgs } from "../parse-words.ts";
import { withStack } from "../with-stack.ts";

export const watch: Command = {
  help: `Usage: markmill watch RUN|BATCH [--json] [--no-names]

Follow a run to its end. Progress goes to stderr and its RESULT to stdout; the
exit codes are those of 'markmill run'. If no worker works on the run, this
command does, so it continues an interrupted run. No model call is paid for
twice.

Examples:
  markmill watch last
  markmill watch 0199f3a2 --json
  markmill watch examples/class-roman   follow a class, then print its table

  --json               print one JSON object at the end
  --no-names           for a class: print only counts, without names and grades,
                       so that the output is safe in a log`,

  async run(args, terminal) {
    const { values, wanted } = parseRunArgs(args, { json: { type: "boolean" }, "no-names": { type: "boolean" } });
    const manner = { json: values.json === true, names: values["no-names"] !== true };
    const interrupts = catchInterrupts();
    let watched: string | null = null;
    try {
      return await withStack(terminal, async (stack, config) => {
        const batch = await batchMeant(stack.tenant, wanted, terminal.cwd);
        if (batch !== null) return await watchClass(stack, config, batch, manner, terminal);
        const run = await findRun(stack.tenant, wanted);
        const works = run.endedAt === null && (await mustWork(stack, config));
        if (works) {
          // Set first: from here on the run may be active when an interrupt arrives.
          watched = run.rootId;
          await workFor(stack, run.rootId);
        }
        return await attendRun(stack, run.id, { json: values.json === true, works }, terminal, interrupts.signal);
      });
    } finally {
      if (interrupts.signal.aborted && watched !== null) tellHowToContinue(terminal, watched);
      interrupts.release();
    }
  },
};
