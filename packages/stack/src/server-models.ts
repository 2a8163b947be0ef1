/** Reads all models of a server, and its default model. */
import type { Config } from "@markmill/config";
import type { Got, Routes } from "@markmill/contract";
import { everyPage } from "./remote-values.ts";

export interface ServerModels {
  readonly usual: string | null;
  readonly items: readonly Got<Routes["listModels"]>["items"][number][];
}

export async function serverModels({ url, token }: NonNullable<Config["server"]>): Promise<ServerModels> {
  const { createClient } = await import("@markmill/contract");
  const client = createClient({ url, token: token ?? "" });
  let usual: string | null = null;
  const items = await everyPage(async (query) => {
    const page = await client.listModels({ query });
    usual = page.default;
    return page;
  });
  return { usual, items };
}
