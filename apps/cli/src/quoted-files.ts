/**
 * Reads the files that a grade quotes, for the report of their author. For an unreadable submission it returns none, and the report shows
 * the quotations without the lines around them. A server does not send submissions, so behind a server there are none.
 */
import { decodeText } from "@markmill/classroom/csv";
import type { BatchWork, TenantStore } from "@markmill/store";

const mostBytes = 200_000;

export async function readQuotedFiles(
  blobs: Partial<Pick<TenantStore["blobs"], "load">>,
  { grade, content }: Pick<BatchWork, "grade" | "content">,
): Promise<ReadonlyMap<string, string>> {
  const quoted = new Set(
    (grade?.criteria ?? []).flatMap((one) => (one.is === "scored" ? one.evidence.map(({ file }) => file) : [])),
  );
  const texts = new Map<string, string>();
  if (quoted.size === 0 || content.is !== "taken" || blobs.load === undefined) return texts;
  try {
    const bytes = await blobs.load(content.hash);
    if (bytes === null) return texts;
    const { defaultLimits, readArchive } = await import("@markmill/grading/submission");
    const { entries } = await readArchive("work.tar", bytes, defaultLimits);
    for (const entry of entries)
      if (entry.kind === "file" && quoted.has(entry.path) && entry.bytes.length <= mostBytes)
        texts.set(entry.path, decodeText(entry.bytes).text);
  } catch {
    return new Map();
  }
  return texts;
}
