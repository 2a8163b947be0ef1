import type { Finding } from "./finding.ts";

/** Removes findings about files that the submission contains. `submission` null: no submission is known. */
export function settleFindings(findings: readonly Finding[], submission: Iterable<string> | null): readonly Finding[] {
  if (submission === null) return findings;
  const given = new Set(submission);
  return findings.filter(
    ({ code, about }) => code !== "FILE_NOT_IN_WORKSPACE" || about === undefined || !given.has(about),
  );
}
