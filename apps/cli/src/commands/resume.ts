import { catchInterrupts, mustWork, workFor } from "@markmill/stack";
import { restartWithModel } from "../adopt-model.ts";
import { attendRun } from "../attend-run.ts";
import { resumeClass } from "../class-verbs.ts";
import { type Command, CommandError } from "../command.ts";
import { batchMeant } from "../find-batch.ts";
import { findRun } from "../find-run.ts";
import { tellHowToContinue } from "../leave-run.ts";
import { parseRunArgs } from "../parse-words.ts";
import { withStack } from "../with-stack.ts";
import { retry } from "./retry.ts";

export const resume: Command = {
  help: `Usage: markmill resume RUN|BATCH [--model NAME | --script FILE] [--json]

Goes on with a run that waits: one that was interrupted because a model's
endpoint was in trouble, or that was stopped. It goes on at the step where it
was, with new patience; what was paid for is kept. A run that failed goes on as
a new run from the step that failed (see 'markmill retry --help'). A class that
is paused, or of which works wait, goes on.

  --model NAME         ask this model from now on, after a wrong start
  --script FILE        let this scripted model answer instead

--model and --script hold for submissions without a paid reply; the others keep
their model. A run without a paid reply begins again as a new run.

Examples:
  markmill resume last
  markmill resume last --model gpt-5-mini
  markmill resume 0199f3a2 --json`,

  async run(args, terminal) {
    const { values, wanted } = parseRunArgs(args, {
      ...{ json: { type: "boolean" }, model: { type: "string" }, script: { type: "string" } },
    });
    const { model, script } = values;
    const json = values.json === true;
    const interrupts = catchInterrupts();
    let resumed: string | null = null;
    let failed = false;
    try {
      const code = await withStack(terminal, async (stack, config) => {
        const batch = await batchMeant(stack.tenant, wanted, terminal.cwd);
        if (batch !== null) return await resumeClass(stack, config, batch, { json, model, script }, terminal);
        const found = await findRun(stack.tenant, wanted);
        const { id, rootId, endedAt, status } = found;
        if (endedAt !== null && status === "success") {
          throw new CommandError(
            "RUN_ENDED",
            `${id} has ended well; there is nothing to resume.`,
            `To do a part of it again: markmill retry ${id} --from NODE`,
          );
        }
        if (model !== undefined || script !== undefined) {
          const next = await restartWithModel(stack, config, found, { model, script }, terminal);
          resumed = next.runId;
          try {
            const works = await mustWork(stack, config);
            if (works) await workFor(stack, next.runId);
            return await attendRun(stack, next.runId, { json, works }, terminal, interrupts.signal);
          } finally {
            await next.stop();
          }
        }
        failed = endedAt !== null;
        if (failed) return null;
        const { jobs } = await stack.tenant.runs.resume(rootId);
        const works = await mustWork(stack, config);
        if (works) await workFor(stack, rootId);
        await stack.queues.enqueue(jobs);
        resumed = rootId;
        return await attendRun(stack, rootId, { json, works }, terminal, interrupts.signal);
      });
      if (code !== null) return code;
    } finally {
      if (interrupts.signal.aborted && resumed !== null) tellHowToContinue(terminal, resumed);
      interrupts.release();
    }
    return retry.run(args, terminal);
  },
};
