// The available models and their prices. The worst-case reservation uses these prices and limits. So a model without a price is refused
// unless the user allows it: a cap that counts zero protects nothing.
import { z } from "zod";
import { nanodollars } from "./dollars.ts";
import type { FileCode } from "./file-codes.ts";
import type { Finding } from "./finding.ts";
import type { ModelSettings } from "./model-request.ts";
import { inFileOrder, readYaml } from "./read-yaml.ts";

export interface ModelLimits {
  readonly requestsPerMinute?: number;
  readonly tokensPerMinute?: number;
}

export interface Model {
  /** The model's name at the endpoint. */
  readonly name: string;
  readonly priced: boolean;
  /** Nanodollars per million prompt tokens. */
  readonly promptPrice: number;
  /** Nanodollars per million completion tokens. */
  readonly completionPrice: number;
  /** Prompt and completion together. */
  readonly contextTokens: number;
  readonly maxOutputTokens: number;
  readonly limits: ModelLimits;
  /** The model refuses sampling settings (temperature, top p, penalties, stop), and its output limit is called max_completion_tokens. */
  readonly reasoning: boolean;
  /** The model accepts a JSON Schema as `response_format`. false: it gets the schema in words. */
  readonly jsonSchema: boolean;
  /** The model runs where its operator runs Markmill: its input stays there. */
  readonly local: boolean;
  /** Used for settings that a request leaves out. */
  readonly defaults: ModelSettings;
}

export interface ModelCatalogue {
  readonly aliases: ReadonlyMap<string, string>;
  readonly models: ReadonlyMap<string, Model>;
  readonly allowUnpriced: boolean;
}

export type CatalogueReading =
  | { readonly ok: true; readonly catalogue: ModelCatalogue }
  | { readonly ok: false; readonly findings: readonly Finding[] };

export type ModelLookup =
  | { readonly ok: true; readonly model: Model }
  | { readonly ok: false; readonly code: "MODEL_NOT_IN_CATALOGUE"; readonly message: string };

/** Assumed for a model without a description: small enough to hold for nearly all models. */
const UNPRICED_CONTEXT_TOKENS = 128_000;
const UNPRICED_MAX_OUTPUT_TOKENS = 4_096;

const count = z.int().positive();
const price = z.number().nonnegative().max(1_000_000);

const settingsSchema = z.strictObject({
  temperature: z.number().min(0).max(2).exactOptional(),
  topP: z.number().gt(0).max(1).exactOptional(),
  frequencyPenalty: z.number().min(-2).max(2).exactOptional(),
  presencePenalty: z.number().min(-2).max(2).exactOptional(),
  maxOutputTokens: count.exactOptional(),
  stop: z.array(z.string().min(1)).exactOptional(),
});

const modelSchema = z.strictObject({
  price: z.strictObject({ prompt: price, completion: price }),
  contextTokens: count,
  maxOutputTokens: count,
  limits: z
    .strictObject({ requestsPerMinute: count.exactOptional(), tokensPerMinute: count.exactOptional() })
    .default({}),
  reasoning: z.boolean().default(false),
  local: z.boolean().default(false),
  jsonSchema: z.boolean().default(true),
  defaults: settingsSchema.default({}),
});

const fileSchema = z.strictObject({
  /** Models of the built-in catalogue stay usable together with those of the file. */
  builtIn: z.boolean().default(true),
  allowUnpriced: z.boolean().default(false),
  aliases: z.record(z.string().min(1), z.string().min(1)).default({}),
  models: z.record(z.string().min(1), modelSchema).default({}),
});

export function parseModels(yamlText: string, file: string): CatalogueReading {
  return readCatalogue(yamlText, file, builtInCatalogue);
}

export function findModel(catalogue: ModelCatalogue, name: string): ModelLookup {
  const target = catalogue.aliases.get(name) ?? name;
  const known = catalogue.models.get(target);
  if (known !== undefined) return { ok: true, model: known };
  if (catalogue.allowUnpriced) return { ok: true, model: unpricedModel(target) };
  const names = [...catalogue.aliases.keys(), ...catalogue.models.keys()];
  return {
    ok: false,
    code: "MODEL_NOT_IN_CATALOGUE",
    message:
      `The model "${name}" has no price, so its cost cannot be kept under a cap. Describe it in models.yaml, set ` +
      `allowUnpriced: true there to use it at price zero, or take one of: ${names.join(", ")}.`,
  };
}

/** Rounded up to whole nanodollars. BigInt, because tokens times price may exceed 2^53. */
export function costOf(model: Model, promptTokens: number, completionTokens: number): number {
  const millionths =
    BigInt(promptTokens) * BigInt(model.promptPrice) + BigInt(completionTokens) * BigInt(model.completionPrice);
  return Number((millionths + 999_999n) / 1_000_000n);
}

function readCatalogue(yamlText: string, file: string, base: ModelCatalogue | undefined): CatalogueReading {
  const reading = readYaml(yamlText, file, { prefix: "MODELS", noun: "model catalogue" }, fileSchema);
  if (reading.value === undefined) return { ok: false, findings: inFileOrder(reading.findings) };
  const { builtIn, allowUnpriced, aliases, models } = reading.value;

  const inherited = builtIn ? base : undefined;
  const allModels = new Map(inherited?.models);
  for (const [name, entry] of Object.entries(models)) {
    allModels.set(name, {
      name,
      priced: true,
      promptPrice: nanodollars(entry.price.prompt),
      completionPrice: nanodollars(entry.price.completion),
      contextTokens: entry.contextTokens,
      maxOutputTokens: entry.maxOutputTokens,
      limits: entry.limits,
      reasoning: entry.reasoning,
      local: entry.local,
      jsonSchema: entry.jsonSchema,
      defaults: entry.defaults,
    });
  }

  const findings: Finding[] = [];
  for (const [name, entry] of Object.entries(models)) {
    const path = ["models", name];
    if (entry.maxOutputTokens > entry.contextTokens) {
      findings.push(
        reading.place(
          [...path, "maxOutputTokens"],
          "OUTPUT_OVER_CONTEXT",
          `"${name}" may put out ${entry.maxOutputTokens} tokens but its context has only ${entry.contextTokens}.`,
          "Lower maxOutputTokens, or correct contextTokens.",
        ),
      );
    }
    const wanted = entry.defaults.maxOutputTokens;
    if (wanted !== undefined && wanted > entry.maxOutputTokens) {
      findings.push(
        reading.place(
          [...path, "defaults", "maxOutputTokens"],
          "DEFAULT_OVER_LIMIT",
          `The default of ${wanted} output tokens is above the ${entry.maxOutputTokens} that "${name}" can put out.`,
          "Lower the default.",
        ),
      );
    }
  }
  for (const [alias, target] of Object.entries(aliases)) {
    const place = (code: FileCode, message: string, fix: string) => {
      findings.push(reading.place(["aliases", alias], code, message, fix));
    };
    if (Object.hasOwn(models, alias)) {
      place("ALIAS_HIDES_MODEL", `The alias "${alias}" is also the name of a model.`, "Rename the alias.");
    } else if (Object.hasOwn(aliases, target)) {
      place("ALIAS_CHAIN", `The alias "${alias}" names another alias, "${target}".`, "Name the model itself.");
    } else if (!allModels.has(target) && !allowUnpriced) {
      place(
        "ALIAS_UNKNOWN_MODEL",
        `The alias "${alias}" names the model "${target}", which is not described.`,
        `Describe "${target}" under models, or set allowUnpriced: true.`,
      );
    }
  }
  if (findings.length > 0) return { ok: false, findings: inFileOrder(findings) };
  return {
    ok: true,
    catalogue: {
      aliases: new Map([...(inherited?.aliases ?? []), ...Object.entries(aliases)]),
      models: allModels,
      allowUnpriced,
    },
  };
}

function unpricedModel(name: string): Model {
  return {
    name,
    priced: false,
    promptPrice: 0,
    completionPrice: 0,
    contextTokens: UNPRICED_CONTEXT_TOKENS,
    maxOutputTokens: UNPRICED_MAX_OUTPUT_TOKENS,
    limits: {},
    reasoning: false,
    local: false,
    jsonSchema: true,
    defaults: {},
  };
}

const BUILT_IN = `
# The prices are EXAMPLES: they were list prices once and change without notice. A cap is only as true as this table, so put
# the prices of your own contract into models.yaml. USD per million tokens.
models:
  gpt-5:
    price: { prompt: 1.25, completion: 10 }
    contextTokens: 400000
    maxOutputTokens: 128000
    reasoning: true
    defaults: { maxOutputTokens: 16000 }
  gpt-5-mini:
    price: { prompt: 0.25, completion: 2 }
    contextTokens: 400000
    maxOutputTokens: 128000
    reasoning: true
    defaults: { maxOutputTokens: 16000 }
  gpt-5-nano:
    price: { prompt: 0.05, completion: 0.4 }
    contextTokens: 400000
    maxOutputTokens: 128000
    reasoning: true
    defaults: { maxOutputTokens: 16000 }
  gpt-4.1:
    price: { prompt: 2, completion: 8 }
    contextTokens: 1047576
    maxOutputTokens: 32768
    defaults: { maxOutputTokens: 4096 }
  gpt-4.1-mini:
    price: { prompt: 0.4, completion: 1.6 }
    contextTokens: 1047576
    maxOutputTokens: 32768
    defaults: { maxOutputTokens: 4096 }
  gpt-4o-mini:
    price: { prompt: 0.15, completion: 0.6 }
    contextTokens: 128000
    maxOutputTokens: 16384
    defaults: { maxOutputTokens: 4096 }
  # What the scripted model server answers as. It has a price so that budgets can be tried out without spending anything.
  scripted:
    price: { prompt: 1, completion: 2 }
    local: true
    contextTokens: 128000
    maxOutputTokens: 16384
    defaults: { maxOutputTokens: 2000 }
`;

export const builtInCatalogue: ModelCatalogue = readBuiltIn();

function readBuiltIn(): ModelCatalogue {
  const reading = readCatalogue(BUILT_IN, "built-in models", undefined);
  if (!reading.ok) throw new Error(`The built-in catalogue is wrong: ${JSON.stringify(reading.findings)}`);
  return reading.catalogue;
}
