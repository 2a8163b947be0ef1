import { catchInterrupts, mustWork, workFor } from "@markmill/stack";
import { attendRun } from "../attend-run.ts";
import type { Command } from "../command.ts";
import { findRun } from "../find-run.ts";
import { tellHowToContinue } from "../leave-run.ts";
import { parseRunArgs } from "../parse-words.ts";
import { withStack } from "../with-stack.ts";

export const watch: Command = {
  help: `Usage: markmill watch RUN [--json]

Follows a run to its end: progress on stderr, its RESULT on stdout, the exit
code of 'markmill run'. Where nobody works for the run, this command does, so
an interrupted run continues where it was; what was paid for is kept.

Examples:
  markmill watch last
  markmill watch 0199f3a2 --json`,

  async run(args, terminal) {
    const { values, wanted } = parseRunArgs(args, { json: { type: "boolean" } });
    const interrupts = catchInterrupts();
    let watched: string | null = null;
    try {
      return await withStack(terminal, async (stack, config) => {
        const run = await findRun(stack.tenant, wanted);
        const works = run.endedAt === null && (await mustWork(stack, config));
        if (works) {
          // Said first: from here on the run may be under way when an interrupt comes.
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
