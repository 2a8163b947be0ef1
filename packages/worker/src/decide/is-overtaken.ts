/** A stop, a limit or a cancel raised the run's epoch: results of an older epoch are no longer needed (I6). */
export function isOvertaken(
  held: { readonly runId: string; readonly epoch: number },
  control: { readonly runId: string; readonly epoch: number },
): boolean {
  return held.runId === control.runId && held.epoch < control.epoch;
}
