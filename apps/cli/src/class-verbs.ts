/** Implements the commands for runs when they are used with a class: watch, pause, resume, cancel, retry, status. */

import { resolve } from "node:path";
import type { Config } from "@markmill/config";
import { catchInterrupts, mustWork, presentBatchSummary, type Stack, workForBatch } from "@markmill/stack";
import type { BatchDetail } from "@markmill/store";
import { adoptModel, type ModelFlags } from "./adopt-model.ts";
import { countOf } from "./amounts.ts";
import { attendClass, classAsJson } from "./attend-class.ts";
import { endTable } from "./attend-table.ts";
import { readClassFacts } from "./class-facts.ts";
import { readBatchClass } from "./class-papers.ts";
import { ended, progressLine } from "./class-progress.ts";
import { resultsOf } from "./class-results.ts";
import { printClassTable } from "./class-table.ts";
import { exitCodes, type Terminal } from "./command.ts";
import { jsonText } from "./json-text.ts";
import { shortId } from "./short-id.ts";
import { statusCounts, tellCounts } from "./status-counts.ts";

/** Follows the class to its end. If it has no worker, this process becomes its worker. */
export async function watchClass(
  stack: Stack,
  config: Config,
  batch: BatchDetail,
  { json, names }: { readonly json: boolean; readonly names: boolean },
  terminal: Terminal,
): Promise<number> {
  const interrupts = catchInterrupts();
  try {
    const open = batch.counts.waiting + batch.counts.running > 0;
    const works = open && (await mustWork(stack, config));
    if (works) await workForBatch(stack, batch.id);
    const { out } = readClassFacts(batch.settings.facts);
    const home = resolve(terminal.cwd, config.home);
    return await attendClass(stack, batch.id, { json, works, names, out, home }, terminal, interrupts.signal);
  } finally {
    if (interrupts.signal.aborted)
      terminal.err(`next: markmill watch ${shortId(batch.id)}   continue; paid replies are kept`);
    interrupts.release();
  }
}

export async function resumeClass(
  stack: Stack,
  config: Config,
  batch: BatchDetail,
  { json, ...flags }: ModelFlags & { readonly json: boolean },
  terminal: Terminal,
): Promise<number> {
  const adopted = await adoptModel(stack, config, batch, flags, terminal);
  try {
    const { runs, jobs } = await stack.tenant.batches.resume(batch.id);
    terminal.err(`resumed: ${batch.name}${runs === 0 ? "" : `, ${countOf(runs, "waiting run")}`}`);
    await stack.queues.enqueue(jobs);
    const now = await stack.tenant.batches.get(batch.id);
    return await watchClass(stack, config, now ?? batch, { json, names: true }, terminal);
  } finally {
    await adopted.stop();
  }
}

export async function cancelClass(
  stack: Stack,
  config: Config,
  batch: BatchDetail,
  reason: string,
  terminal: Terminal,
): Promise<number> {
  const results = resultsOf(stack, config, batch, terminal);
  const ended = await results.during(() => stack.tenant.batches.cancel(batch.id, reason));
  terminal.err(`cancelled: ${batch.name}, ${countOf(ended, "run")} stopped; existing grades are kept`);
  return results.code(exitCodes.success);
}

export async function pauseClass(
  stack: Stack,
  batch: BatchDetail,
  reason: string,
  terminal: Terminal,
): Promise<number> {
  await stack.tenant.batches.pause(batch.id, reason);
  terminal.err(`paused: ${batch.name}; running submissions continue to their end`);
  terminal.err(`next: markmill resume ${shortId(batch.id)}`);
  return exitCodes.success;
}

/** Retries only submissions that failed because of a grader error. */
export async function retryClass(
  stack: Stack,
  config: Config,
  batch: BatchDetail,
  json: boolean,
  terminal: Terminal,
): Promise<number> {
  await resultsOf(stack, config, batch, terminal).note();
  const { works } = await stack.tenant.batches.retry(batch.id);
  terminal.err(works.length === 0 ? "no submission failed" : `${countOf(works.length, "submission")} retried`);
  if (works.length === 0) {
    const results = resultsOf(stack, config, batch, terminal);
    await results.write();
    return results.code(exitCodes.success);
  }
  const now = await stack.tenant.batches.get(batch.id);
  return await watchClass(stack, config, now ?? batch, { json, names: true }, terminal);
}

/** `wide`: all columns, at any screen width. */
export async function showClass(
  stack: Stack,
  batch: BatchDetail,
  { json, wide }: { readonly json: boolean; readonly wide: boolean },
  terminal: Terminal,
): Promise<void> {
  const { table } = readClassFacts(batch.settings.facts);
  if (table !== null) {
    await endTable(stack, batch, table, { json, names: true, out: null, end: null, ms: null }, terminal);
    return;
  }
  const read = await readBatchClass(stack, batch);
  if (json) {
    terminal.out(jsonText(classAsJson(read, null, null, 0)));
    return;
  }
  printClassTable(read.sheet, terminal, wide);
  terminal.err(`${batch.name}: ${tellCounts(statusCounts(read.sheet))}`);
  terminal.err(progressLine(batch));
  for (const { reason, works } of batch.troubles) terminal.err(`waiting: ${countOf(works, "submission")}: ${reason}`);
  if (batch.state.is !== "open") terminal.err(`${batch.state.is}: ${batch.state.reason}`);
  if (ended(batch) < batch.counts.works - batch.counts.notCounted && batch.state.is === "open")
    terminal.err(`next: markmill watch ${shortId(batch.id)}`);
}

export function tellNone(what: "run" | "class", terminal: Terminal): void {
  const next = what === "run" ? "Start a run: markmill run FILE" : "Grade a class: markmill grade PATH";
  terminal.err(`There is no ${what} yet. ${next}`);
}

export async function listClasses(stack: Stack, limit: number, json: boolean, terminal: Terminal): Promise<void> {
  const { batches, next } = await stack.tenant.batches.list({}, { limit });
  if (json) {
    terminal.out(jsonText({ items: batches.map(presentBatchSummary), next }));
    return;
  }
  if (batches.length === 0) tellNone("class", terminal);
  for (const batch of batches) {
    const { counts, id, name, state, createdAt } = batch;
    const when = createdAt.toISOString().slice(0, 16).replace("T", " ");
    terminal.out(
      `${terminal.shown ? shortId(id) : id}  ${state.is.padEnd(9)}  ${when}  ${ended(batch)}/${counts.works - counts.notCounted}  ${name}`,
    );
  }
}
