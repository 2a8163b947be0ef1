import type { Limits, RunStarted } from "@markmill/engine";
import { catchInterrupts, mustWork, type Stack, workFor } from "@markmill/stack";
import type { CreatedRun, RunDetail } from "@markmill/store";
import { attendRun } from "../attend-run.ts";
import { readCaps } from "../caps.ts";
import { type Command, CommandError, exitCodes, type Terminal } from "../command.ts";
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
    const caps = readCaps(values);
    const interrupts = catchInterrupts();
    let retried: string | null = null;
    try {
      return await withStack(terminal, async (stack, config) => {
        const old = await rootRun(stack, wanted);
        const created = await again(stack, old, values.from, caps, terminal);
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

async function rootRun(stack: Stack, wanted: string): Promise<RunDetail> {
  const run = await findRun(stack.store, wanted);
  if (run.rootId === run.id) return run;
  throw new CommandError(
    "RUN_NOT_ROOT",
    `${run.id} was called by another run.`,
    `Name that one: markmill retry ${run.rootId}`,
  );
}

async function again(
  stack: Stack,
  old: RunDetail,
  from: string | undefined,
  caps: Partial<Limits>,
  terminal: Terminal,
): Promise<Pick<CreatedRun, "runId" | "rings">> {
  if (old.endedAt === null && from === undefined) {
    throw new CommandError("RUN_OPEN", `${old.id} has not ended.`, `Go on with it: markmill resume ${old.id}`);
  }
  if (from === "START" || (from === undefined && old.status === "success")) {
    terminal.err("a new run, from the start: its model calls are made, and paid for, again");
    return fromStart(stack, old, caps);
  }
  const { forkRun } = await import("@markmill/store");
  const forked = await forkRun(stack.store, { of: old.id, from: from?.split("/") ?? null, caps });
  const point = forked.from.map((node) => node ?? "what was under way").join("/");
  terminal.err(`a new run, from ${point}: what came before is taken over and not paid again`);
  return forked;
}

async function fromStart(stack: Stack, old: RunDetail, caps: Partial<Limits>): Promise<CreatedRun> {
  const { createRun, submissionOf } = await import("@markmill/store");
  const { started, forkedCaps } = await startOf(stack, old.id);
  const blob = await submissionOf(stack.store.database, old.id);
  return createRun(stack.store, {
    definition: await stack.store.definitions.load(old.definitionHash),
    program: old.program,
    variables: started.variables,
    environment: started.environment,
    caps: { ...started.caps, ...forkedCaps, ...caps },
    labels: old.labels,
    options: old.options,
    forkedFrom: old.id,
    ...(started.patienceMs === undefined ? {} : { patienceMs: started.patienceMs }),
    ...(started.notes === undefined ? {} : { notes: started.notes }),
    ...(blob === null ? {} : { submission: { blob } }),
  });
}

/** How a run began, and the caps it got when it was forked. */
async function startOf(
  stack: Stack,
  runId: string,
): Promise<{ readonly started: RunStarted; readonly forkedCaps: Partial<Limits> }> {
  const { getHistory } = await import("@markmill/store");
  const { entries } = await getHistory(stack.store.database, runId);
  const events = entries.flatMap((entry) => (entry.kind === "event" ? entry.event : []));
  const [started] = events;
  const forks = events.flatMap((event) => (event.type === "run.forked" ? event.caps : []));
  if (started?.type === "run.started") return { started, forkedCaps: Object.assign({}, ...forks) };
  throw new CommandError(
    "RUN_WITHOUT_START",
    `Run ${runId} has no record of its start.`,
    "Start it anew with 'markmill run'.",
  );
}
