import { defineConfig } from "vitest/config";

// unit: beside the code, no service. The others run on real services that tests/support provisions, one file at a time
// because they share the two cores of the machine with Postgres, Redis and Docker.
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["packages/*/src/**/*.test.ts", "apps/*/src/**/*.test.ts", "scripts/**/*.test.ts"],
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: "integration",
          include: ["tests/{integration,conformance,e2e,chaos}/**/*.test.ts"],
          globalSetup: ["tests/support/global-setup.ts"],
          // Limits for what never happens: a test that waits for something sees it as soon as it is there, on a slow machine too.
          testTimeout: 240_000,
          hookTimeout: 240_000,
          expect: { poll: { timeout: 60_000 } },
          fileParallelism: false,
        },
      },
    ],
  },
});
