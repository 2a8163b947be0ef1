import type { RunStarted } from "@markmill/engine";
import { attendRun } from "../attend-run.ts";
import { readCaps } from "../caps.ts";
import { type Command, CommandError, exitCodes } from "../command.ts";
import { findRun } from "../find-run.ts";
import { catchInterrupts } from "../interrupts.ts";
import { leaveToBackground, tellHowToContinue } from "../leave-run.ts";
import { parseRunArgs } from "../parse-words.ts";
import type { Stack } from "../stack/open-stack.ts";
import { withStack } from "../with-stack.ts";
import { mustWork, workFor } from "../work-for-run.ts";

export const retry: Command = {
  help: `Usage: markmill retry RUN [--budget $] [--max-time 10m] [--max-tokens N]
                          [--detach] [--json]

Runs it again as a NEW run with the same workflow (as it was then), parameters,
submission, labels and caps, from the start: no reply of the old run is used
again, so its prompts are asked, and paid for, once more. The old run stays as
it is. The caps given here replace those of the old run.

To continue a run that was only interrupted, use 'markmill watch RUN'.

Examples:
  markmill retry last
  markmill retry last --budget 2`,

  async run(args, terminal) {
    const { values, wanted } = parseRunArgs(args, {
      budget: { type: "string" },
      "max-time": { type: "string" },
      "max-tokens": { type: "string" },
      detach: { type: "boolean" },
      json: { type: "boolean" },
    });
    const caps = readCaps(values);
    const interrupts = catchInterrupts();
    let retried: string | null = null;
    try {
      return await withStack(terminal, async (stack, config) => {
        const { createRun, submissionOf } = await import("@markmill/store");
        const old = await findRun(stack.store, wanted);
        if (old.rootId !== old.id) {
          throw new CommandError(
            "RUN_NOT_ROOT",
            `${old.id} was called by another run.`,
            `Retry that one: markmill retry ${old.rootId}`,
          );
        }
        const started = await startOf(stack, old.id);
        const blob = await submissionOf(stack.store.database, old.id);
        const created = await createRun(stack.store, {
          definition: await stack.store.definitions.load(old.definitionHash),
          program: old.program,
          variables: started.variables,
          environment: started.environment,
          caps: { ...started.caps, ...caps },
          labels: old.labels,
          options: old.options,
          forkedFrom: old.id,
          ...(blob === null ? {} : { submission: { blob } }),
        });
        terminal.err("a new run, from the start: its model calls are made, and paid for, again");
        const works = await mustWork(stack, config);
        if (values.detach === true) {
          if (works) leaveToBackground(created.runId, config, terminal.cwd);
          else await stack.queues.ring(created.rings);
          terminal.out(created.runId);
          return exitCodes.success;
        }
        retried = created.runId;
        if (works) await workFor(stack, created.runId);
        else await stack.queues.ring(created.rings);
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

async function startOf(stack: Stack, runId: string): Promise<RunStarted> {
  const { getHistory } = await import("@markmill/store");
  const { entries } = await getHistory(stack.store.database, runId);
  for (const entry of entries) if (entry.kind === "event" && entry.event.type === "run.started") return entry.event;
  throw new CommandError(
    "RUN_WITHOUT_START",
    `Run ${runId} has no record of its start.`,
    "Start it anew with 'markmill run'.",
  );
}
