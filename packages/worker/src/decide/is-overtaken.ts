/** A stop, a limit or a cancel raised the run's epoch: what is held of an older one is worth nothing any more (I6). */
export function isOvertaken(
  held: { readonly runId: string; readonly epoch: number },
  control: { readonly runId: string; readonly epoch: number },
): boolean {
  return held.runId === control.runId && held.epoch < control.epoch;
}
