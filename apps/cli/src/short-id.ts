/** The end of a run's id, which every command takes for the whole: a line with it fits on a screen of 80 columns. */
export function shortId(runId: string): string {
  return runId.slice(-12);
}
