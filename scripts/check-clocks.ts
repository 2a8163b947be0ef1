/** Refuses assertions that compare the clock or the processor's time. Tests count work or wait for events; benchmarks measure time. */
import { globSync, readFileSync } from "node:fs";
import { findClockComparisons } from "./find-clock-comparisons.ts";

const files = globSync(["{packages,apps}/*/src/**/*.test.ts", "scripts/**/*.test.ts", "tests/**/*.ts"], {
  exclude: ["tests/bench/**", "**/node_modules/**"],
}).toSorted();
const findings = files.flatMap((file) =>
  findClockComparisons(file, readFileSync(file, "utf8")).map(({ text, line }) => `${file}:${line}: ${text}`),
);
if (findings.length > 0) {
  console.error(findings.join("\n"));
  console.error(
    "A test that compares time fails when the machine is busy. Count work (tests/support/count-work.ts), compare the order of events, give the code a clock, or measure in tests/bench.",
  );
  process.exitCode = 1;
} else console.log(`clocks: no assertion of ${files.length} files compares time`);
