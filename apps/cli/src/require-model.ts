/**
 * Checks model, key, price and endpoint before any submission is started. In a class with a misspelt model, every submission would wait.
 *
 * R1  A problem is an input error (exit code 2), with its code and its fix, and nothing was started.
 * R2  The check costs nothing: the catalogue is a file, and only the list of models is requested from the endpoint.
 */
import type { Config } from "@markmill/config";
import { suggest } from "@markmill/definition";
import type { AiConsent, Rubric } from "@markmill/grading";
import { checkModels } from "@markmill/stack";
import type { Definition } from "@markmill/store";
import { type Terminal, UsageError } from "./command.ts";
import { modelsAsked } from "./models-asked.ts";

export interface ModelWishes {
  readonly variables: Readonly<Record<string, string>>;
  readonly rubric: Rubric | null;
  /** A script answers instead of a real model. */
  readonly scripted: boolean;
  /** The person set a limit that must not be exceeded. */
  readonly budget: boolean;
  /** Also check the endpoint. */
  readonly probe: boolean;
  /** none: no student agreed that a model sees the submission, so no model is needed. Absent: any. */
  readonly consent?: AiConsent;
}

export async function requireModel(
  definitions: readonly Definition[],
  config: Config,
  { cwd }: Pick<Terminal, "cwd">,
  wishes: ModelWishes,
): Promise<void> {
  const { variables, rubric, scripted, budget, probe, consent } = wishes;
  if (consent === "none") return;
  const asked = definitions.map((one) =>
    modelsAsked(one, rubric, { variables, environment: config.workflowEnvironment }),
  );
  const usesDefault = asked.some((one) => one.usesDefault);
  const names = new Set(asked.flatMap(({ named }) => named));
  if (names.size === 0 && !usesDefault) return;
  refuse(await checkModels(config, cwd, { names: [...names], usesDefault, scripted, budget, probe }));
}

/** Checks a model that a person names for a run or class that has started. */
export async function requireNamedModel(
  name: string,
  config: Config,
  { cwd }: Pick<Terminal, "cwd">,
  { scripted }: Pick<ModelWishes, "scripted">,
): Promise<void> {
  const wanted = { names: [name], usesDefault: false, scripted, budget: false, probe: true };
  refuse(await checkModels(config, cwd, wanted));
}

function refuse(findings: Awaited<ReturnType<typeof checkModels>>): void {
  if (findings.length === 0) return;
  const lines = findings.map(({ code, message, fix, name, known }) => {
    const near = name === undefined ? null : suggest(name, known ?? []);
    return `${code}: ${message}${near === null ? "" : ` Did you mean ${near}?`}\n  fix: ${fix}`;
  });
  throw new UsageError(`nothing was started.\n${lines.join("\n")}`);
}
