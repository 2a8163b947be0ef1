/**
 * Decides whether an exit code comes from the kernel, and not from a student. The guard (exit-guard-script.ts) stands between a command's
 * shell and the worker: it waits for the shell and reports the status that the kernel returned.
 */
import type { CommandReport } from "./session-script.ts";

/** The exit code reported for a command when no trusted process saw its end. */
export const KILLED = 137;

/**
 * Whether the exit status belongs to the command. The shell's own report may be missing (after `exec`) or differ (when a signal killed the
 * shell in its last trap). The shell's report can never turn another code into 0, or 0 into another code.
 */
export function isBelieved(processExit: number, report: CommandReport, guarded: boolean): boolean {
  if (guarded && report.waited !== processExit) return false;
  return report.claimed === undefined || report.claimed === processExit || processExit !== 0;
}
