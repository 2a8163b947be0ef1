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

Follows a run to its end: progress on stderr, its RESULT on stdout, the exit
code of 'markmill run'. Where nobody works for the run, this command does, so
an interrupted run continues where it was; what was paid for is kept.

Examples:
  markmill watch last
  markmill watch 0199f3a2 --json
  markmill watch examples/class-roman      a class: its progress, then its table

  --json               one JSON object at the end
  --no-names           of a class only counts, no names and grades: for logs`,

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
