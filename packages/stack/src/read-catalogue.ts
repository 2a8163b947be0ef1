import { existsSync, readFileSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import type { Config } from "@markmill/config";
import type { ModelCatalogue } from "@markmill/llm";
import { WrongInput } from "./wrong-input.ts";

/** The built-in catalogue, unless MODELS_FILE exists. */
export async function readCatalogue(config: Config, cwd: string): Promise<ModelCatalogue> {
  const { builtInCatalogue, formatFinding, parseModels } = await import("@markmill/llm");
  const file = resolve(cwd, config.models.file);
  // Without this check, a file from a submission could set the prices that the budget depends on.
  const counts = config.envFile === "counts" || isAbsolute(config.models.file);
  if (!counts || !existsSync(file)) return builtInCatalogue;
  const reading = parseModels(readFileSync(file, "utf8"), config.models.file);
  if (!reading.ok) throw new WrongInput(reading.findings.map(formatFinding).join("\n"));
  return reading.catalogue;
}
