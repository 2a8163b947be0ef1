/** Describes with which model a class continues. Pure. */
import type { Json } from "@markmill/engine";
import { readRunOptions } from "@markmill/stack";
import type { BatchDetail, Definition } from "@markmill/store";
import { countOf } from "./amounts.ts";
import { modelOf } from "./class-estimate.ts";

/** The model of a class before and now. null: none was chosen, or it is unknown. */
export function modelsOf(
  before: Pick<BatchDetail, "settings"> | null,
  now: {
    readonly definition: Definition;
    readonly variables: Readonly<Record<string, string>>;
    readonly defaultModel: string | null | undefined;
  },
): { readonly from: string | null; readonly to: string | null } {
  const { variables, options } = before?.settings.run ?? {};
  const named = modelOf(now.definition);
  return {
    from: before === null ? null : (variables?.AI_MODEL_NAME ?? named ?? defaultOf(options)),
    to: now.variables.AI_MODEL_NAME ?? named ?? now.defaultModel ?? null,
  };
}

function defaultOf(options: Json | undefined): string | null {
  return options === undefined ? null : (readRunOptions(options)?.defaultModel ?? null);
}

/** One line about submissions that start again with another model or script. null: there are none. */
export function restartLine(
  { restarted, kept }: { readonly restarted: number; readonly kept: number },
  { from, to }: { readonly from: string | null; readonly to: string },
): string | null {
  if (restarted === 0) return null;
  const paid = `${kept} ${kept === 1 ? "keeps" : "keep"} replies already paid for${from === null ? "" : ` with ${from}`}`;
  return `${countOf(restarted, "submission")} continue${restarted === 1 ? "s" : ""} with ${to}${kept === 0 ? "" : `; ${paid}`}`;
}

/** The name of the current model or script for people. */
export function answererOf(script: string | null, model: string | null): string {
  if (script !== null) return `the script ${script}`;
  return model ?? "the current settings";
}
