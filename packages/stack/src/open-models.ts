import type { Config } from "@markmill/config";
import type { ModelCatalogue, ModelClient } from "@markmill/llm";
import type { LoadedRun, Machine } from "@markmill/store/machine";
import { readCatalogue } from "./read-catalogue.ts";
import { readRunOptions, scriptKey, scriptUrl } from "./run-options.ts";
import { keepScripts } from "./serve-script.ts";

export interface Models {
  readonly client: ModelClient;
  readonly catalogue: ModelCatalogue;
  /** A run keeps its default model. A run with a script is answered by the script, on this machine's loopback and without our key. */
  readonly modelsFor: (run: LoadedRun) => { readonly client: ModelClient; readonly defaultModel: string } | null;
  close(): Promise<void>;
}

/** The model of a script if the workflow names none. */
const scriptedModel = "scripted";

export async function openModels(config: Config, cwd: string, store: Machine): Promise<Models> {
  const { createModelClient } = await import("@markmill/llm");
  const catalogue = await readCatalogue(config, cwd);
  const { apiKey, baseUrl, keyHeader, timeoutMs, maxReplyBytes } = config.models;
  const common = { catalogue, timeoutMs, maxReplyBytes };
  const scripts = keepScripts(store);
  const own = createModelClient({ ...common, baseUrl, keyHeader, ...(apiKey === null ? {} : { apiKey }) });
  return {
    client: own,
    catalogue,
    modelsFor(run) {
      const { script = null, defaultModel = null } = readRunOptions(run.options) ?? {};
      if (script === null) return defaultModel === null ? null : { client: own, defaultModel };
      const client = createModelClient({ ...common, baseUrl: scriptUrl(script), apiKey: scriptKey(script) });
      const ask: ModelClient["complete"] = async (request, options) => {
        await scripts.ensure(run.tenant, script);
        return await client.complete(request, options);
      };
      return { client: { endpoint: client.endpoint, complete: ask }, defaultModel: scriptedModel };
    },
    close: scripts.close,
  };
}
