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

Resume a run that was stopped, or that was interrupted because a model endpoint
was in trouble. It continues at the same step and waits for the endpoint as long
as before. Replies that are already paid for are kept. A failed run continues as
a new run from the step that failed (see 'markmill retry --help').
Resume a class that is paused, or that has waiting submissions.

  --model NAME         use this model from now on
  --script FILE        use this scripted model from now on

--model and --script apply to submissions without a paid reply; the others keep
their model. A run without a paid reply starts again as a new run.

Examples:
  markmill resume last
  markmill resume last --model gpt-5-mini
  markmill resume 0199f3a2 --json`,

  async run(args, terminal) {
    const { values, wanted } = parseRunArgs(args, {
      json: { type: "boolean" },
      model: { type: "string" },
      script: { type: "string" },
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
            `${id} succeeded, so it cannot be resumed.`,
            `To repeat a part of it: markmill retry ${id} --from NODE`,
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
