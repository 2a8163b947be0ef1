import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Config } from "@markmill/config";
import type { ModelCatalogue, ModelClient } from "@markmill/llm";
import { UsageError } from "../command.ts";

/** The catalogue is the built-in one unless MODELS_FILE exists. */
export async function openModels(
  config: Config,
  cwd: string,
  modelUrl?: string,
): Promise<{ client: ModelClient; catalogue: ModelCatalogue }> {
  const { builtInCatalogue, createModelClient, formatFinding, parseModels } = await import("@markmill/llm");
  const file = resolve(cwd, config.models.file);
  let catalogue = builtInCatalogue;
  if (existsSync(file)) {
    const reading = parseModels(readFileSync(file, "utf8"), config.models.file);
    if (!reading.ok) throw new UsageError(reading.findings.map(formatFinding).join("\n"));
    catalogue = reading.catalogue;
  }
  const { apiKey, baseUrl, timeoutMs, maxReplyBytes } = config.models;
  const client = createModelClient({
    baseUrl: modelUrl ?? baseUrl,
    ...(apiKey === null ? (modelUrl === undefined ? {} : { apiKey: "scripted" }) : { apiKey }),
    catalogue,
    timeoutMs,
    maxReplyBytes,
  });
  return { client, catalogue };
}
