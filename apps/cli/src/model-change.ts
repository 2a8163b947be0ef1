/** Whether a class goes on with another model than before. Pure. */
import { readRunOptions } from "@markmill/stack";
import type { BatchDetail, Definition } from "@markmill/store";
import { modelOf } from "./class-estimate.ts";

/** null: it is the same one, or nobody knows which it was. */
export function modelChange(
  before: Pick<BatchDetail, "settings"> | null,
  now: {
    readonly definition: Definition;
    readonly variables: Readonly<Record<string, string>>;
    readonly defaultModel: string | null | undefined;
  },
): { readonly from: string; readonly to: string } | null {
  if (before === null) return null;
  const { variables, options } = before.settings.run;
  const named = modelOf(now.definition);
  const from =
    variables?.AI_MODEL_NAME ?? named ?? (options === undefined ? null : readRunOptions(options)?.defaultModel) ?? null;
  const to = now.variables.AI_MODEL_NAME ?? named ?? now.defaultModel ?? null;
  return from === null || to === null || from === to ? null : { from, to };
}
