import type { Finding } from "./finding.ts";

/** Findings as they stand once a submission is known: a file that came with it is not missing. null: none is known. */
export function settleFindings(findings: readonly Finding[], submission: Iterable<string> | null): readonly Finding[] {
  if (submission === null) return findings;
  const given = new Set(submission);
  return findings.filter(
    ({ code, about }) => code !== "FILE_NOT_IN_WORKSPACE" || about === undefined || !given.has(about),
  );
}
