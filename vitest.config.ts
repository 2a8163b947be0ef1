import { defineConfig } from "vitest/config";
import { compileCache } from "./tests/support/compile-cache.ts";
import { LongestFirst } from "./tests/support/longest-first.ts";
import { ownSettings } from "./tests/support/own-settings.ts";
import { SecondTries } from "./tests/support/second-try.ts";
import { SlowFiles } from "./tests/support/slow-files.ts";
import { thorough } from "./tests/support/thorough.ts";

// unit: beside the code, no service. integration: on real services that tests/support provisions once for all files. Files run side by
// side, more of them than there are cores, because most of their time they wait: for leases, servers and timers. Each has its own
// database, its own Redis prefix or server, its own directories; what a file counts on the machine, it counts by names of its own.
const classes = ["class", "class-server", "cli-init", "pasted-commands"].map((name) => `tests/e2e/${name}.test.ts`);

/** Tests that count the work of a function. */
const counted = "{packages,apps}/*/src/**/*.work.test.ts";
const countedTogether = "tests/work/*.work.test.ts";

/** It watches warnings, of which Node gives each once in a process. */
const alone = ["tests/integration/pg-warnings.test.ts"] as const;
// Limits for what never happens: a test that waits for something sees it as soon as it is there, on a slow machine too.
const patience = { testTimeout: 240_000, hookTimeout: 240_000, expect: { poll: { timeout: 60_000 } } } as const;

// A test that passes only on its second try does not fail the run. It is listed at the end (second-try.ts), and is a defect.
const again = { retry: 1 } as const;

// For the test processes themselves; what they start inherits it.
process.env.NODE_COMPILE_CACHE ??= compileCache.NODE_COMPILE_CACHE;
Object.assign(process.env, ownSettings);

export default defineConfig({
  test: {
    reporters: ["default", new SlowFiles(), new SecondTries()],
    sequence: { sequencer: LongestFirst },
    provide: { thorough },
    projects: [
      {
        test: {
          name: "unit",
          ...again,
          include: ["packages/*/src/**/*.test.ts", "apps/*/src/**/*.test.ts", "scripts/**/*.test.ts"],
          exclude: [counted],
          testTimeout: 60_000,
          expect: { poll: { timeout: 30_000 } },
          // These compute; the default leaves one core idle.
          maxWorkers: "100%",
          // They share no state, and a process of its own for each of two hundred files costs more than what most of them compute.
          isolate: false,
        },
      },
      {
        // Work is counted, not timed (tests/support/count-work.ts). V8 counts what it compiles after the set-up: a process for each file.
        test: {
          name: "work",
          ...again,
          include: [counted, countedTogether],
          setupFiles: ["tests/support/begin-counting.ts"],
          testTimeout: 240_000,
        },
      },
      {
        test: {
          name: "integration",
          ...again,
          include: ["tests/{integration,conformance,e2e,chaos}/**/*.test.ts"],
          exclude: [...classes, ...alone],
          globalSetup: ["tests/support/global-setup.ts"],
          ...patience,
          maxWorkers: 6,
          sequence: { groupOrder: 1 },
          // As above: to load the whole product for each file is a fifth of what all of them cost.
          isolate: false,
          // Such processes grow with each file. With room from the start V8 goes through all they hold less often.
          execArgv: ["--min-semi-space-size=32", "--max-semi-space-size=64", "--initial-old-space-size=1024"],
        },
      },
      {
        // Whole classes: students' programs have seconds of wall clock, which a machine that does much else does not give them.
        test: {
          name: "classes",
          ...again,
          include: [...classes, ...alone],
          globalSetup: ["tests/support/global-setup.ts"],
          ...patience,
          // One file for each of two cores.
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
