import { catchInterrupts, mustWork, retryRun, workFor } from "@markmill/stack";
import { attendRun } from "../attend-run.ts";
import { readCapFlags } from "../cap-flags.ts";
import { type Command, exitCodes } from "../command.ts";
import { findRun } from "../find-run.ts";
import { leaveToBackground, tellHowToContinue } from "../leave-run.ts";
import { parseRunArgs } from "../parse-words.ts";
import { withStack } from "../with-stack.ts";

export const retry: Command = {
  help: `Usage: markmill retry RUN [--from NODE] [--budget $] [--max-time 10m]
                      [--max-tokens N] [--detach] [--json]

Goes on from a step, as a NEW run with the same workflow (as it was then),
parameters and submission. Everything before that step is taken over from the
record: replies that were paid for are not paid for again. The old run stays as
it is. The caps given here replace those of the old run.

  --from NODE          begin with the last visit of this node; CALL_X/NODE: of
                       a node in the workflow that CALL_X called; START: all of
                       it again, and all of it paid again.
                       Without it: the last prompt, command, question or call
                       before the failure; a run that succeeded begins at START

To continue a run that waits or was interrupted: 'markmill resume RUN'.

Examples:
  markmill retry last
  markmill retry last --budget 2
  markmill retry last --from PROMPT_GRADE`,

  async run(args, terminal) {
    const { values, wanted } = parseRunArgs(args, {
      from: { type: "string" },
      budget: { type: "string" },
      "max-time": { type: "string" },
      "max-tokens": { type: "string" },
      detach: { type: "boolean" },
      json: { type: "boolean" },
    });
    const { caps } = await readCapFlags(values);
    const interrupts = catchInterrupts();
    let retried: string | null = null;
    try {
      return await withStack(terminal, async (stack, config) => {
        const old = await findRun(stack.tenant, wanted);
        const created = await retryRun(stack, old, { from: values.from ?? null, caps });
        terminal.err(
          created.from === null
            ? "a new run, from the start: its model calls are made, and paid for, again"
            : `a new run, from ${created.from}: what came before is taken over and not paid again`,
        );
        const works = await mustWork(stack, config);
        if (values.detach === true) {
          if (works) leaveToBackground(created.runId, config, terminal.cwd);
          else await stack.queues.ring(created.rings);
          terminal.out(values.json === true ? JSON.stringify({ runId: created.runId }) : created.runId);
          return exitCodes.success;
        }
        retried = created.runId;
        if (works) await workFor(stack, created.runId);
        // What goes on may be below a call.
        await stack.queues.ring(created.rings);
        return await attendRun(
          stack,
          created.runId,
          { json: values.json === true, works },
          terminal,
          interrupts.signal,
        );
      });
    } finally {
      if (interrupts.signal.aborted && retried !== null) tellHowToContinue(terminal, retried);
      interrupts.release();
    }
  },
};
