/** Finds which model answers and what it costs, on this machine or on the server that does the work. */
import type { Config } from "@markmill/config";
import { readCatalogue } from "./read-catalogue.ts";
import { serverModels } from "./server-models.ts";

export interface ModelPrice {
  /** null: none is chosen. */
  readonly name: string | null;
  /** Nanodollars per million tokens. null: unknown, which is not zero. */
  readonly price: { readonly prompt: number; readonly completion: number } | null;
}

/** `named` is the model chosen by the workflow or the person. null: the default. */
export async function modelPrice(named: string | null, config: Config, cwd: string): Promise<ModelPrice> {
  const { server } = config;
  if (server !== null) {
    const { usual, items } = await serverModels(server);
    const name = named ?? usual;
    const found = items.find((model) => model.name === name || (name !== null && model.aliases.includes(name)));
    return { name, price: found?.priced === true ? priceOf(found) : null };
  }
  const { findModel } = await import("@markmill/llm");
  const name = named ?? config.models.defaultModel;
  const found = name === null ? null : findModel(await readCatalogue(config, cwd), name);
  return { name, price: found?.ok === true && found.model.priced ? priceOf(found.model) : null };
}

function priceOf(model: { readonly promptPrice: number; readonly completionPrice: number }) {
  return { prompt: model.promptPrice, completion: model.completionPrice };
}
