/** Finds similar submissions (similar-pairs.ts) in a separate thread: hundreds of submissions take seconds. */
import { createThreadCalls } from "@markmill/base";
import type { SimilarWorks, similarPairs } from "./similar-pairs.ts";

const inThread = createThreadCalls<{ readonly similarPairs: typeof similarPairs }>(
  new URL("./similar-pairs-thread.ts", import.meta.url),
  { name: "markmill similarity", mostMs: 600_000, mostHeapMb: 2_048 },
);

export async function findSimilarPairs(works: ReadonlyMap<string, string>): Promise<SimilarWorks> {
  return await inThread("similarPairs", works);
}
