import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Config } from "@markmill/config";
import type { ModelCatalogue, ModelClient } from "@markmill/llm";
import type { LoadedRun } from "@markmill/store";
import { UsageError } from "../command.ts";
import { readRunOptions, scriptKey, scriptUrl } from "../run-options.ts";

export interface Models {
  readonly client: ModelClient;
  readonly catalogue: ModelCatalogue;
  /** A run with a script of its own is answered by it, on this machine's loopback and without our key. */
  readonly modelsFor: (run: LoadedRun) => { readonly client: ModelClient; readonly defaultModel: string } | null;
}

/** Of a script's model where the workflow names none. */
const scriptedModel = "scripted";

/** The catalogue is the built-in one unless MODELS_FILE exists. */
export async function openModels(config: Config, cwd: string): Promise<Models> {
  const { builtInCatalogue, createModelClient, formatFinding, parseModels } = await import("@markmill/llm");
  const file = resolve(cwd, config.models.file);
  let catalogue = builtInCatalogue;
  if (existsSync(file)) {
    const reading = parseModels(readFileSync(file, "utf8"), config.models.file);
    if (!reading.ok) throw new UsageError(reading.findings.map(formatFinding).join("\n"));
    catalogue = reading.catalogue;
  }
  const { apiKey, baseUrl, timeoutMs, maxReplyBytes } = config.models;
  const common = { catalogue, timeoutMs, maxReplyBytes };
  const scripted = new Map<string, ModelClient>();
  return {
    client: createModelClient({ ...common, baseUrl, ...(apiKey === null ? {} : { apiKey }) }),
    catalogue,
    modelsFor(run) {
      const script = readRunOptions(run.options)?.script ?? null;
      if (script === null) return null;
      const url = scriptUrl(script);
      const apiKey = scriptKey(script);
      const client = scripted.get(url + apiKey) ?? createModelClient({ ...common, baseUrl: url, apiKey });
      scripted.set(url + apiKey, client);
      return { client, defaultModel: scriptedModel };
    },
  };
}
