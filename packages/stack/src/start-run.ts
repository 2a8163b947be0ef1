/**
 * Creates a run from a person's request. The command line and the API use the same code.
 *
 * On kill -9 between any two lines, a script or a submission without a run is an orphan, which the supervisor deletes. A run that was
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
  /** null: no requirements for the worker. */
  readonly options: RunOptions | null;
}

/** The caller enqueues the new jobs: a caller that starts its own worker waits until that worker listens. */
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

/** Stores a run's script where every process that works for the run finds it. */
export async function keepScript(
  { tenant }: Pick<Stack, "tenant">,
  { text, name }: ScriptFile,
  port: number,
): Promise<NonNullable<RunOptions["script"]>> {
  const { hash: blob } = await tenant.blobs.save(Buffer.from(text));
  return { blob, name, port };
}
