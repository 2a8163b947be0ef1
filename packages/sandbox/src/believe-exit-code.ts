/**
 * Whether an exit code is the kernel's word and not a student's. The guard (exit-guard-script.ts) stands between a command's shell and the
 * worker: it waits for the shell and reports what the kernel said.
 */
import type { CommandReport } from "./session-script.ts";

/** Said for a command whose end nobody trustworthy saw. */
export const KILLED = 137;

/**
 * Whether the status can be taken for the command's. The shell's own word may be missing (`exec`) or differ where it died in its
 * last trap (a signal); it never makes a 0 of something else, nor something else of a 0.
 */
export function isBelieved(processExit: number, report: CommandReport, guarded: boolean): boolean {
  if (guarded && report.waited !== processExit) return false;
  return report.claimed === undefined || report.claimed === processExit || processExit !== 0;
}
