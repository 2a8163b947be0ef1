/**
 * Model, key, price and endpoint are checked before anything is begun: a class with a misspelt model would wait, submission by submission.
 *
 * R1  What is wrong is wrong use (exit code 2), with its code and its fix, and nothing was begun.
 * R2  The check costs nothing: the catalogue is a file, and the endpoint is asked for its list of models alone.
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
  /** A sum was said that must not be exceeded. */
  readonly budget: boolean;
  /** Ask the endpoint as well. */
  readonly probe: boolean;
  /** none: no student of the class agreed that a model sees the work, so none is needed. Absent: any. */
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

/** A name that a person gives to something that was begun. */
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
