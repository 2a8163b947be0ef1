import { parseArgs } from "node:util";
import type { Config } from "@markmill/config";
import {
  livingWorkers,
  parseCount,
  presentAsk,
  presentDoing,
  presentRunSummary,
  presentWait,
  runAsJson,
  type Stack,
  standingOf,
} from "@markmill/stack";
import type { RunSummary, Wait } from "@markmill/store";
import { formatCount, formatDollars, formatElapsed } from "../amounts.ts";
import { resultsOf } from "../class-results.ts";
import { listClasses, showClass, tellNone } from "../class-verbs.ts";
import { type Command, exitCodes, type Terminal, UsageError } from "../command.ts";
import { batchMeant } from "../find-batch.ts";
import { findRun } from "../find-run.ts";
import { fitWidth, oneLine } from "../fit-width.ts";
import { jsonText } from "../json-text.ts";
import { shortId } from "../short-id.ts";
import { stamp } from "../stamp.ts";
import { countCalls, summariseRun } from "../summarise-run.ts";
import { describePause, describeWait } from "../tell-wait.ts";
import { withStack } from "../with-stack.ts";

export const status: Command = {
  help: `Usage: markmill status [RUN|BATCH] [--batches] [--limit N] [--wide] [--json]

Show the state of a run, its current steps and its cost. Without RUN: list the
latest runs; with --batches, the latest classes. BATCH is the id or the folder
of a class.

Examples:
  markmill status
  markmill status last
  markmill status examples/class-roman
  markmill status examples/class-roman --wide   show every column of a class
  markmill status --json --limit 100`,

  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        json: { type: "boolean" },
        batches: { type: "boolean" },
        limit: { type: "string" },
        wide: { type: "boolean" },
      },
    });
    const [wanted, ...more] = positionals;
    if (more.length > 0) throw new UsageError("Name one run, or no run for the latest runs.");
    const limit = values.limit === undefined ? 20 : parseCount(values.limit);
    if (limit === null || limit < 1 || limit > 500) throw new UsageError("--limit must be a number from 1 to 500.");
    const json = values.json === true;
    const empty = () => {
      if (json)
        terminal.out(
          jsonText(values.batches === true ? { items: [], next: null } : { items: [], next: null, pauses: [] }),
        );
      else tellNone(values.batches === true ? "class" : "run", terminal);
      return exitCodes.success;
    };
    const act = async (stack: Stack, config: Config): Promise<number> => {
      const batch = wanted === undefined ? null : await batchMeant(stack.tenant, wanted, terminal.cwd);
      if (values.batches === true) await listClasses(stack, limit, json, terminal);
      else if (wanted === undefined) await list(stack, limit, json, terminal);
      else if (batch === null) await showOne(stack, wanted, { json, server: config.server !== null }, terminal);
      else {
        const results = resultsOf(stack, config, batch, terminal);
        await results.repair();
        await showClass(stack, batch, { json, wide: values.wide === true }, terminal);
        return results.code(exitCodes.success);
      }
      return exitCodes.success;
    };
    return await withStack(terminal, act, wanted === undefined ? { empty } : {});
  },
};

async function list(stack: Stack, limit: number, json: boolean, terminal: Terminal): Promise<void> {
  const { clock } = stack.store;
  const { models, ...tenant } = stack.tenant;
  const { runs, next } = await tenant.runs.list({ roots: true }, { limit });
  const all = await tenant.runs.waits(runs.map(({ id }) => id));
  const pauses = await models.pauses();
  const waits = (id: string) => all.filter(({ rootId }) => rootId === id);
  if (json) {
    terminal.out(jsonText({ items: runs.map((run) => asJson(run, waits(run.id))), next, pauses }));
    return;
  }
  if (runs.length === 0) tellNone("run", terminal);
  for (const run of runs) {
    terminal.out(lineOf({ ...run, status: standingOf(run, waits(run.id)) }, terminal));
    const [wait] = waits(run.id);
    if (wait !== undefined) terminal.err(`  ${fitWidth(describeWait(wait, clock.now()), terminal.columns - 3)}`);
  }
  for (const pause of pauses) terminal.err(describePause(pause));
}

/** The whole id for programs, its end for people: the line must fit on their screen. */
export function lineOf(
  run: Pick<RunSummary, "id" | "name" | "spent" | "createdAt"> & { readonly status: string },
  screen: Pick<Terminal, "shown" | "columns">,
): string {
  const tokens = formatCount(run.spent.promptTokens + run.spent.completionTokens);
  const cost = formatDollars(run.spent.nanodollars);
  const [id, time, width] = screen.shown
    ? [shortId(run.id), stamp(run.createdAt).slice(5, 16), screen.columns]
    : [run.id, stamp(run.createdAt), 160];
  const head = `${id}  ${run.status.padEnd(11)}  ${time}  ${cost.padStart(9)}  ${tokens.padStart(7)} tokens  `;
  return `${head}${fitWidth(oneLine(run.name), Math.max(10, width - head.length))}`;
}

async function showOne(
  stack: Stack,
  wanted: string,
  { json, server }: { readonly json: boolean; readonly server: boolean },
  terminal: Terminal,
): Promise<void> {
  const { asks: questions, models, runs } = stack.tenant;
  const run = await findRun(stack.tenant, wanted);
  const [spent, asks, { entries, activities }, workers, waits, pauses] = await Promise.all([
    runs.spent(run.rootId),
    questions.list(run.rootId),
    runs.history(run.id),
    livingWorkers(stack.store),
    runs.waits([run.rootId]),
    models.pauses(),
  ]);
  const open = activities.filter(({ state }) => state === "ready" || state === "claimed" || state === "waiting");
  if (json) {
    const warnings = entries.flatMap((entry) => (entry.kind === "warning" ? [entry.warning] : []));
    const shown = runAsJson(run, spent, warnings, waits, open.map(presentDoing));
    terminal.out(jsonText({ ...shown, hits: run.hits, asks: asks.map(presentAsk), workers, pauses }));
    return;
  }
  if (run.endedAt !== null) {
    for (const line of summariseRun(run, spent)) terminal.out(line);
    return;
  }
  terminal.out(
    `${standingOf(run, waits)}: ${run.name}, for ${formatElapsed(stack.store.clock.now() - run.createdAt.getTime())}`,
  );
  for (const { node, generation, kind, state } of open) {
    terminal.out(`now: ${node} (${kind}${generation > 1 ? `, hit ${generation}` : ""}, ${state})`);
  }
  if (run.queued) terminal.out("queued: starts when a slot is free");
  for (const wait of waits) terminal.out(`waits: ${describeWait(wait, stack.store.clock.now())}`);
  for (const pause of pauses) terminal.out(`pause: ${describePause(pause)}`);
  terminal.out(
    `spent: ${countCalls(spent)}, ${formatCount(spent.promptTokens + spent.completionTokens)} tokens, ${formatDollars(spent.nanodollars)}`,
  );
  for (const { activityId, node, question, text } of asks) {
    terminal.out(`asks: ${node} (${activityId}): ${fitWidth(oneLine(question === "" ? text : question), 100)}`);
  }
  terminal.out(`run: ${run.id}`);
  if (asks.length > 0) terminal.err(`next: markmill answer ${shortId(run.id)} TEXT`);
  if (standingOf(run, waits) === "interrupted") {
    terminal.err(`next: markmill resume ${shortId(run.id)}   continue at that step`);
  } else if (workers === 0 && !server)
    terminal.err(`next: markmill watch ${shortId(run.id)}   continue it; no worker is running`);
}

function asJson(run: RunSummary, waits: readonly Wait[]) {
  return { ...presentRunSummary(run), waits: waits.map(presentWait) };
}
