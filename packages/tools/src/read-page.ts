/** Reads the text of a page: a long page in a thread of its own, a short one at once. */
import { createThreadCalls } from "@markmill/base";
import type * as htmlText from "./html-text.ts";

interface Readers {
  readonly headingsAndParagraphs: typeof htmlText.headingsAndParagraphs;
  readonly searchResults: typeof htmlText.searchResults;
}

/** Characters. */
const short = 16 * 1024;

const inThread = createThreadCalls<Readers & Record<string, (page: string) => unknown>>(
  new URL("./html-text-thread.ts", import.meta.url),
  { name: "markmill pages" },
);

// Loads the page parser, which few processes need.
const here = () => import("./html-text.ts");

export async function headingsAndParagraphs(page: string): Promise<string> {
  if (page.length > short) return await inThread("headingsAndParagraphs", page);
  return (await here()).headingsAndParagraphs(page);
}

export async function searchResults(page: string): Promise<readonly htmlText.FoundLink[]> {
  return page.length > short ? await inThread("searchResults", page) : (await here()).searchResults(page);
}
