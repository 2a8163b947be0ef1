import type { Reporter, TestModule, Vitest } from "vitest/node";

/** One test that failed, was tried again, and passed. */
export interface SecondTry {
  readonly file: string;
  readonly name: string;
  readonly why: string;
}

/** What is written at the end of a run; null: every test passed or failed at its first try. */
export function tellSecondTries(tries: readonly SecondTry[]): string | null {
  if (tries.length === 0) return null;
  const lines = tries.map(({ file, name, why }) => `  ${file}\n    ${name}\n    first failed: ${why}`);
  const rule = "!".repeat(100);
  return [
    "",
    rule,
    ` PASSED ONLY ON THE SECOND TRY: ${tries.length} ${tries.length === 1 ? "test" : "tests"}. Treat each as a defect:`,
    ...lines,
    rule,
    "",
  ].join("\n");
}

/**
 * Lists the tests that passed only when they were tried again: when the process ends, so that the list is the last that is read. What ends the
 * services of a run writes after its reporters.
 */
export class SecondTries implements Reporter {
  #watching = false;

  onInit({ config }: Vitest): void {
    this.#watching = config.watch;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const tries = modules.flatMap((module) =>
      Array.from(module.children.allTests("passed")).flatMap((test): SecondTry[] => {
        if ((test.diagnostic()?.retryCount ?? 0) === 0) return [];
        const why = test.result().errors?.[0]?.message.split("\n", 1)[0] ?? "unknown";
        return [{ file: module.relativeModuleId, name: test.fullName, why }];
      }),
    );
    const told = tellSecondTries(tries);
    if (told === null) return;
    const tell = () => void process.stdout.write(told);
    if (this.#watching) tell();
    else process.once("exit", tell);
  }
}
