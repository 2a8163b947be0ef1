import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, expect, it } from "vitest";
import { tellSecondTries } from "../tests/support/second-try.ts";

// Below the repository, so that the files find the test runner.
const place = mkdtempSync(join(import.meta.dirname, "../node_modules/.second-try-"));
afterAll(() => rmSync(place, { recursive: true, force: true }));

function runTests(body: string) {
  writeFileSync(join(place, "some.test.ts"), `import { expect, it } from "vitest";\nlet tries = 0;\n${body}`);
  const reporter = JSON.stringify(resolve(import.meta.dirname, "../tests/support/second-try.ts"));
  writeFileSync(
    join(place, "vitest.config.ts"),
    `import { SecondTries } from ${reporter};\nexport default { test: { retry: 1, reporters: ["default", new SecondTries()], globalSetup: ["services.ts"] } };\n`,
  );
  // As our own services do when they are ended.
  writeFileSync(join(place, "services.ts"), `export const teardown = () => console.log("services ended");\n`);
  const vitest = join(import.meta.dirname, "../node_modules/vitest/vitest.mjs");
  const { status, stdout, stderr } = spawnSync(process.execPath, [vitest, "run", "--root", place], {
    encoding: "utf8",
  });
  return { status, said: stderr + stdout };
}

it("a test that passes only on its second try is listed loudly at the end, and does not fail the run", () => {
  const { status, said } = runTests(
    'it("now and then", () => { tries += 1; expect(tries).toBe(2); });\nit("always", () => {});',
  );
  expect({ status, said }).toMatchObject({ status: 0 });
  expect(said.slice(said.indexOf("services ended"))).toMatch(
    /^services ended\n\n!+\n PASSED ONLY ON THE SECOND TRY: 1 test\. Treat each as a defect:\n {2}some\.test\.ts\n {4}now and then\n {4}first failed: .*expected 1 to be 2.*\n!+\n$/,
  );
});

it("a test that fails twice fails the run, and nothing is listed", () => {
  const { status, said } = runTests('it("never", () => { expect(tries).toBe(2); });');
  expect(status).toBe(1);
  expect(said).not.toContain("SECOND TRY");
});

it("nothing is written when every test passed at its first try", () => {
  expect(tellSecondTries([])).toBeNull();
});
