/**
 * A run is made from what a person asked for: the command line and an API ask in the same way.
 *
 * kill -9 between any two lines: a script or a submission without a run is an orphan that the supervisor deletes; a run that was
 * created and not enqueued is enqueued by the supervisor.
 */
import type { Limits } from "@markmill/engine";
import type { CreatedRun, NewRun } from "@markmill/store";
import type { Stack } from "./open-stack.ts";
import { type RunOptions, writeRunOptions } from "./run-options.ts";
import type { ScriptFile } from "./serve-script.ts";

export interface StartRequest
  extends Pick<NewRun, "id" | "definition" | "idempotencyKey" | "requestHash" | "budgets" | "notes"> {
  readonly variables: Readonly<Record<string, string>>;
  /** Environment variables that the workflow may read. */
  readonly environment: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly caps: Partial<Limits>;
  readonly patienceMs: number | undefined;
  readonly submission: { readonly tar: Buffer; readonly files: number; readonly bytes: number } | null;
  /** null: nothing is asked of the worker. */
  readonly options: RunOptions | null;
}

/** Its enqueues are the caller's matter: who starts a worker of its own enqueues when that one listens. */
export async function startRun({ tenant }: Pick<Stack, "tenant">, request: StartRequest): Promise<CreatedRun> {
  const { patienceMs, submission, options, ...plain } = request;
  return await tenant.runs.create({
    ...plain,
    ...(patienceMs === undefined ? {} : { patienceMs }),
    ...(options === null ? {} : { options: writeRunOptions(options) }),
    ...(submission === null
      ? {}
      : {
          submission: {
            blob: (await tenant.blobs.save(submission.tar)).hash,
            files: submission.files,
            bytes: submission.bytes,
          },
        }),
  });
}

/** A script that a run is to be answered by, kept where every process that works for it finds it. */
export async function keepScript(
  { tenant }: Pick<Stack, "tenant">,
  { text, name }: ScriptFile,
  port: number,
): Promise<NonNullable<RunOptions["script"]>> {
  const { hash: blob } = await tenant.blobs.save(Buffer.from(text));
  return { blob, name, port };
}
