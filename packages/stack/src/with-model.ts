/** Returns the settings of a run with another model from now on. Pure. */
import type { Json } from "@markmill/engine";
import type { NewBatch } from "@markmill/store";
import { readRunOptions, writeRunOptions } from "./run-options.ts";

/** A named model replaces a script, because it means a real model. */
export function withModel(run: NewBatch["settings"]["run"], model: string): NewBatch["settings"]["run"] {
  const options = readRunOptions(run.options ?? null);
  return {
    ...run,
    variables: { ...run.variables, AI_MODEL_NAME: model },
    ...(options === null
      ? {}
      : { options: writeRunOptions({ ...options, script: null }) as { readonly [name: string]: Json } }),
  };
}
