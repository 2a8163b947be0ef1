/**
 * Applies a corrected model or script to work that has started. In a class, every submission without a paid reply uses it. A single run
 * uses it only if the whole run has no paid reply.
 *
 * On kill -9 between two lines, a class has either the new settings or the old ones, and the same command completes the change. A cancelled
 * run without a successor gets one from the same command.
 */
import type { Config } from "@markmill/config";
import type { Json } from "@markmill/engine";
import {
  type RunOptions,
  readRunOptions,
  readScript,
  requireOwnWorker,
  type Stack,
  withModel,
  writeRunOptions,
} from "@markmill/stack";
import type { BatchDetail, RunDetail } from "@markmill/store";
import { scriptFor } from "./class-script.ts";
import { type Terminal, UsageError } from "./command.ts";
import { answererOf, restartLine } from "./model-change.ts";
import { requireNamedModel } from "./require-model.ts";

export interface ModelFlags {
  readonly model?: string | undefined;
  readonly script?: string | undefined;
}

export interface Adopted {
  /** Stops the script's server, if there is one. */
  stop(): Promise<void>;
}

const nothing: Adopted = { stop: async () => {} };

export async function adoptModel(
  stack: Stack,
  config: Config,
  batch: BatchDetail,
  flags: ModelFlags,
  terminal: Terminal,
): Promise<Adopted> {
  const { run } = batch.settings;
  const asked = flags.model !== undefined || flags.script !== undefined;
  if (config.server !== null) return await adoptThere(stack, config, batch, flags, terminal);
  const before = readRunOptions(run.options ?? null);
  if (before === null && !asked) return nothing;
  const { options, stop } = await optionsNow(stack, config, before, flags, terminal);
  try {
    const variables = variablesWith(run.variables ?? {}, flags);
    const written = writeRunOptions(options) as { readonly [name: string]: Json };
    const same = JSON.stringify([run.variables ?? {}, before]) === JSON.stringify([variables, options]);
    if (same) return { stop };
    const restarted = await stack.tenant.batches.setRun(batch.id, { ...run, variables, options: written });
    const from = run.variables?.AI_MODEL_NAME ?? before?.defaultModel ?? null;
    const to = variables.AI_MODEL_NAME ?? options.defaultModel;
    const line = restartLine(restarted, { from, to: answererOf(options.script?.name ?? null, to) });
    if (line !== null) terminal.err(line);
    return { stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** If no model is named, the server's own default counts there. A script answers only for a worker of this process. */
async function adoptThere(
  { tenant }: Stack,
  config: Config,
  { id, settings }: BatchDetail,
  { model, script }: ModelFlags,
  terminal: Terminal,
): Promise<Adopted> {
  requireOwnWorker(config, script === undefined ? [] : ["--script"]);
  if (model === undefined) return nothing;
  await requireNamedModel(model, config, terminal, { scripted: false });
  const from = settings.run.variables?.AI_MODEL_NAME ?? null;
  const line = restartLine(await tenant.batches.setRun(id, withModel(settings.run, model)), { from, to: model });
  if (line !== null) terminal.err(line);
  return nothing;
}

/** Creates a new run in place of one without a paid reply. Its other steps are repeated. */
export async function restartWithModel(
  stack: Stack,
  config: Config,
  old: RunDetail,
  flags: ModelFlags,
  terminal: Terminal,
): Promise<Adopted & { readonly runId: string }> {
  if (config.server !== null) {
    requireOwnWorker(config, flags.script === undefined ? [] : ["--script"]);
    throw new UsageError(
      `The server cannot restart a single run with another model. Start a new run and cancel this one:\n  markmill run ${old.program} --model ${flags.model}\n  markmill cancel ${old.id}`,
    );
  }
  const before = readRunOptions(old.options);
  if (before?.script == null && old.spent.calls > 0) {
    throw new UsageError(
      `${old.id} has replies that are paid for, so it keeps its model. Run 'markmill resume ${old.id}' without --model.`,
    );
  }
  const { options, stop } = await optionsNow(stack, config, before, flags, terminal);
  try {
    if (old.endedAt === null) await stack.tenant.runs.cancel(old.id, "It restarts with another model.");
    const { runId, jobs } = await stack.tenant.runs.restart({
      of: old.id,
      variables: variablesWith({}, flags),
      options: writeRunOptions(options),
    });
    await stack.queues.enqueue(jobs);
    terminal.err(
      `continues as ${runId} with ${answererOf(options.script?.name ?? null, flags.model ?? options.defaultModel)}`,
    );
    return { runId, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function variablesWith(
  variables: Readonly<Record<string, string>>,
  { model }: ModelFlags,
): Readonly<Record<string, string>> {
  return model === undefined ? variables : { ...variables, AI_MODEL_NAME: model };
}

/** --model without --script removes the script, because it means a real model. */
async function optionsNow(
  stack: Stack,
  config: Config,
  before: RunOptions | null,
  { model, script: file }: ModelFlags,
  terminal: Terminal,
): Promise<Adopted & { readonly options: RunOptions }> {
  const read = file === undefined ? null : await readScript(file, terminal.cwd);
  if (model !== undefined) await requireNamedModel(model, config, terminal, { scripted: read !== null });
  const script = await scriptFor(stack, read, before === null ? null : writeRunOptions(before));
  const options: RunOptions = {
    sandbox: before?.sandbox ?? "auto",
    defaultModel: config.models.defaultModel ?? before?.defaultModel ?? null,
    script: file === undefined && model === undefined ? (before?.script ?? null) : script.ref,
  };
  return { options, stop: script.stop };
}
