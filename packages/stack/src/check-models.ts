/** Checks whether the required models can be called: against the catalogue, the key, the price and the endpoint's own list. */
import type { Config } from "@markmill/config";
import { readCatalogue } from "./read-catalogue.ts";
import { serverModels } from "./server-models.ts";

export interface ModelsWanted {
  readonly names: readonly string[];
  /** The default model is called as well. */
  readonly usesDefault: boolean;
  /** A script answers, so no key and no endpoint is needed. */
  readonly scripted: boolean;
  /** There is a budget, so prices are needed. */
  readonly budget: boolean;
  /** Request the endpoint's list of models. */
  readonly probe: boolean;
}

export interface ModelFinding {
  readonly code: string;
  readonly message: string;
  readonly fix: string;
  /** A name that is unknown, and the known names. */
  readonly name?: string;
  readonly known?: readonly string[];
}

interface Known {
  readonly names: readonly string[];
  readonly defaultModel: string | null;
  /** null: the model is unknown. */
  find(name: string): { readonly name: string; readonly priced: boolean } | null;
}

const defaultEndpoint = "https://api.openai.com/v1";

export async function checkModels(config: Config, cwd: string, wanted: ModelsWanted): Promise<readonly ModelFinding[]> {
  const known = config.server === null ? await knownHere(config, cwd) : await knownThere(config.server);
  const { defaultModel } = known;
  const usual = wanted.scripted ? "scripted" : defaultModel;
  const names = [...new Set([...wanted.names, ...(wanted.usesDefault && usual !== null ? [usual] : [])])];
  const findings: ModelFinding[] = names.flatMap((name) => checkName(name, known, wanted));
  if (wanted.usesDefault && usual === null) {
    findings.push({
      code: "MODEL_NOT_CHOSEN",
      message: "The workflow names no model, and there is no default model.",
      fix: "Pass --model NAME, set DEFAULT_MODEL, or name a model in the workflow. To use a scripted model, pass --script FILE.",
    });
  }
  if (findings.length > 0 || wanted.scripted || config.server !== null) return findings;
  const { apiKey, baseUrl } = config.models;
  if (apiKey === null && baseUrl === defaultEndpoint) {
    const message = `${baseUrl} needs an API key, but no key is set.`;
    const fix = "Set OPENAI_API_KEY, or set OPENAI_BASE_URL to an endpoint that needs no key.";
    return [{ code: "MODEL_KEY_MISSING", message, fix }];
  }
  if (!wanted.probe) return findings;
  return await askEndpoint(
    config,
    names.flatMap((name) => known.find(name)?.name ?? []),
  );
}

function checkName(name: string, known: Known, { budget, scripted }: ModelsWanted): ModelFinding[] {
  const model = known.find(name);
  if (model === null)
    return [
      {
        code: "MODEL_NOT_IN_CATALOGUE",
        message: `The model "${name}" is not in the catalogue, which has ${known.names.join(", ")}.`,
        fix: "Correct the name. Or add the model to models.yaml (MODELS_FILE), or set allowUnpriced: true there to use it at price zero.",
        name,
        known: known.names,
      },
    ];
  if (!budget || model.priced || scripted) return [];
  return [
    {
      code: "MODEL_UNPRICED",
      message: `The price of "${name}" is unknown, so the budget cannot be checked.`,
      fix: "Add the model and its price to models.yaml (MODELS_FILE), or remove the budget.",
    },
  ];
}

async function knownHere(config: Config, cwd: string): Promise<Known> {
  const { findModel } = await import("@markmill/llm");
  const catalogue = await readCatalogue(config, cwd);
  return {
    names: [...catalogue.aliases.keys(), ...catalogue.models.keys()],
    defaultModel: config.models.defaultModel,
    find(name) {
      const found = findModel(catalogue, name);
      return found.ok ? found.model : null;
    },
  };
}

async function knownThere(server: NonNullable<Config["server"]>): Promise<Known> {
  const { usual, items } = await serverModels(server);
  return {
    names: items.flatMap(({ name, aliases }) => [name, ...aliases]),
    defaultModel: usual,
    find: (name) => items.find((model) => model.name === name || model.aliases.includes(name)) ?? null,
  };
}

async function askEndpoint({ models }: Config, names: readonly string[]): Promise<readonly ModelFinding[]> {
  const { modelFailureCodes, probeEndpoint } = await import("@markmill/llm");
  const { baseUrl, apiKey, keyHeader } = models;
  const verdict = await probeEndpoint({ baseUrl, apiKey, keyHeader });
  if (verdict.is === "refused") {
    const { sentence, fix } = modelFailureCodes[verdict.code];
    const again = fix.replace(/, then `markmill resume RUN`\.?$/, ".");
    return [{ code: verdict.code, message: `${sentence} (${verdict.why})`, fix: again }];
  }
  if (verdict.is === "unknown" || verdict.models.length === 0) return [];
  const unlisted = names.filter((name) => !verdict.models.includes(name));
  if (models.baseUrl === defaultEndpoint && unlisted.length > 0) {
    const message = `${defaultEndpoint} does not offer ${unlisted.join(", ")} to this key.`;
    const fix = "Correct the model's name, or use a key that may use it.";
    return [{ code: "MODEL_NOT_FOUND", message, fix, name: unlisted[0] as string, known: verdict.models }];
  }
  // Gateways accept model names that they do not list. So the endpoint decides when the model is called.
  return [];
}
