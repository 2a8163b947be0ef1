import type { Reporter, TestModule } from "vitest/node";
import { knownSeconds } from "./longest-first.ts";

const slowMs = 30_000;

/** Names the files that took long, once all have run, and those of them that longest-first.ts does not know: they began too late. */
export class SlowFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const slow = modules
      .map((module) => ({
        file: module.relativeModuleId,
        ms: module.diagnostic().duration,
        unknown: module.relativeModuleId.startsWith("tests/") && knownSeconds(module.moduleId) === 0,
      }))
      .filter(({ ms }) => ms > slowMs)
      .toSorted((a, b) => b.ms - a.ms);
    if (modules.length === 1 || slow.length === 0) return;
    const lines = slow.map(
      ({ file, ms, unknown }) =>
        `  ${String(Math.round(ms / 1_000)).padStart(4)} s  ${file}${unknown ? "  (not in longest-first.ts)" : ""}`,
    );
    process.stdout.write(`\n Files over ${slowMs / 1_000} s, side by side with others:\n${lines.join("\n")}\n`);
  }
}
