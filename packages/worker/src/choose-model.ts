/**
 * What every activity does before and after it asks a model: choose the model, check whether the model may be used, and decide what a
 * failure means for the run.
 */

import type { Usage } from "@markmill/engine";
import type { AiConsent } from "@markmill/grading";
import { type CallPorts, findModel, type Model, type ModelFailure } from "@markmill/llm";
import { failed, type Performed } from "./performed.ts";
import type { Scrub } from "./scrub-requests.ts";

export interface ModelPorts extends CallPorts {
  readonly defaultModel: string | null;
  /** The longest pause of an endpoint, whatever the endpoint asks for. */
  readonly pauseMaxMs: number;
  /** The strictest consent among the students of the submission. */
  readonly consent: AiConsent;
  /** Removes the names of a class from all texts for a model. Changes nothing outside a class. */
  readonly scrub: Scrub;
}

type Failed = Extract<Performed, { did: "fail" }>;

/** `name`: the requested name, which may be an alias. */
export function chooseModel(
  ports: Pick<ModelPorts, "catalogue" | "defaultModel">,
  named: string | undefined,
): { readonly name: string; readonly model: Model } | Failed {
  const name = named ?? ports.defaultModel;
  if (name === null) {
    const fix = "Set DEFAULT_MODEL, pass --model, or name a model in the workflow.";
    return failed("MODEL_NOT_CHOSEN", `The workflow names no model and there is no default. ${fix}`, "hold");
  }
  const lookup = findModel(ports.catalogue, name);
  return lookup.ok ? { name, model: lookup.model } : failed(lookup.code, lookup.message, "hold");
}

/** Why this model may not see the submission. null: it may. */
export function consentRefusal(consent: AiConsent, { name, local }: Model): string | null {
  switch (consent) {
    case "any":
      return null;
    case "local":
      return local
        ? null
        : `The student agreed to models that run here only; ${name} is not called local in models.yaml.`;
    case "none":
      return "The student did not agree that a model may see the submission.";
  }
}

export function modelFailed(
  ports: Pick<ModelPorts, "client" | "pauseMaxMs">,
  model: string,
  { code, message, next, reason, retryAfterMs }: ModelFailure,
  usage: Usage | null,
): Failed {
  const wish = retryAfterMs === undefined ? undefined : Math.min(retryAfterMs, ports.pauseMaxMs);
  const trouble = { model, endpoint: ports.client.endpoint, reason };
  return failed(code, message, next, {
    retryAfterMs: wish,
    usage,
    ...(next === "park" || next === "hold" ? { trouble } : {}),
  });
}
