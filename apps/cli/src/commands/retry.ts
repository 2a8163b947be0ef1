import type { Config } from "@markmill/config";
import { checkStart } from "@markmill/definition";
import { catchInterrupts, mustWork, retryRun, type Stack, workFor } from "@markmill/stack";
import type { Definition, RunDetail } from "@markmill/store";
import { attendRun } from "../attend-run.ts";
import { readCapFlags } from "../cap-flags.ts";
import { retryClass } from "../class-verbs.ts";
import { type Command, exitCodes, type Terminal } from "../command.ts";
import { batchMeant } from "../find-batch.ts";
import { findRun } from "../find-run.ts";
import { definitionOf, findWorkflow, tellFindings } from "../find-workflow.ts";
import { jsonText } from "../json-text.ts";
import { leaveToBackground, tellHowToContinue } from "../leave-run.ts";
import { parseRunArgs } from "../parse-words.ts";
import { withStack } from "../with-stack.ts";

/** Reads the current file and checks it against the old run's input. */
async function readWorkflow(
  file: string,
  stack: Stack,
  old: RunDetail,
  config: Config,
  terminal: Terminal,
): Promise<Definition | "invalid"> {
  const environment = Object.keys(config.workflowEnvironment);
  const found = findWorkflow(file, terminal.cwd, undefined, environment);
  const [first] = (await stack.tenant.runs.history(old.id)).entries;
  const given = first?.kind === "event" && first.event.type === "run.started" ? first.event.variables : {};
  // The submitted files are stored elsewhere, so only the parameters of the run are checked here.
  const lacks =
    found.definition === null
      ? []
      : checkStart(found.definition, { variables: given, environment, submission: null }).filter(({ code }) =>
          code.startsWith("PARAM"),
        );
  for (const text of tellFindings(found)) terminal.err(`${text}\n`);
  for (const { severity, code, message, fix } of lacks)
    terminal.err(`${severity} ${code}: ${message}\n  fix: ${fix}\n`);
  if (found.definition !== null && lacks.length === 0) return definitionOf(found);
  terminal.err(
    `${file} was not run: ${found.definition === null ? "it is invalid" : "a parameter, variable or submission is missing"}.`,
  );
  return "invalid";
}

export const retry: Command = {
  help: `Usage: markmill retry RUN [--from NODE] [--workflow FILE] [--budget $]
                      [--max-time 10m] [--max-tokens N] [--detach] [--json]

Retry a run from one of its steps, as a NEW run with the same workflow version,
parameters and submission. The new run copies everything before that step, so
no reply is paid for twice. The old run does not change. The limits given here
replace those of the old run.

  --from NODE          start at the last visit of this node. CALL_X/NODE names a
                       node in the workflow that CALL_X called. START runs
                       everything again and pays for everything again.
                       Default: the last prompt, command, question or call
                       before the failure; START if the run succeeded

  --workflow FILE      use the current version of this workflow file, for
                       example after a correction. The file must contain the
                       step, with the same name and kind. Variables are kept;
                       called workflows are called again

If RUN is the id or folder of a class, every submission whose run failed is
graded again. To continue a waiting or interrupted run: 'markmill resume RUN'.

Examples:
  markmill retry last
  markmill retry last --budget 2
  markmill retry last --from PROMPT_GRADE
  markmill retry last --from PROMPT_GRADE --workflow grade.wf.md`,

  async run(args, terminal) {
    const { values, wanted } = parseRunArgs(args, {
      from: { type: "string" },
      workflow: { type: "string" },
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
        const batch = await batchMeant(stack.tenant, wanted, terminal.cwd);
        if (batch !== null) return await retryClass(stack, config, batch, values.json === true, terminal);
        const old = await findRun(stack.tenant, wanted);
        const other =
          values.workflow === undefined ? null : await readWorkflow(values.workflow, stack, old, config, terminal);
        if (other === "invalid") return exitCodes.invalid;
        const created = await retryRun(stack, old, {
          from: values.from ?? null,
          caps,
          ...(other === null ? {} : { definition: other }),
        });
        terminal.err(
          created.from === null
            ? "new run from the start: all model calls are made and paid for again"
            : `new run from ${created.from}: earlier steps are copied and not paid for again`,
        );
        const works = await mustWork(stack, config);
        if (values.detach === true) {
          if (works) leaveToBackground(created.runId, config, terminal);
          else await stack.queues.enqueue(created.jobs);
          terminal.out(values.json === true ? jsonText({ id: created.runId, created: true }, 0) : created.runId);
          return exitCodes.success;
        }
        retried = created.runId;
        if (works) await workFor(stack, created.runId);
        // The continued step may be inside a called run.
        await stack.queues.enqueue(created.jobs);
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
