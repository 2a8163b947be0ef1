/** The end of a run's id. Every command accepts it as the id, and a line with it fits on a screen of 80 columns. */
export function shortId(runId: string): string {
  return runId.slice(-12);
}
