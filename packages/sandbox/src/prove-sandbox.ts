// A sandbox that is not used before its self-test has passed. Invariants:
// 1. `open` waits for the verdict, and refuses every session when it is not "safe": no unsafe fallback.
// 2. A verdict is remembered only when it is "safe", and only for the same sandbox, kernel and boot, for a day.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { release } from "node:os";
import { dirname } from "node:path";
import type { Sandbox } from "./port.ts";
import { SandboxError } from "./sandbox-error.ts";
import { judgeSelfTest, runSelfTest, type SelfTestOptions, type SelfTestVerdict } from "./self-test.ts";

export interface ProvenSandbox extends Sandbox {
  /** Starts the self-test on the first call. */
  proven(): Promise<SelfTestVerdict>;
}

export interface ProofOptions extends SelfTestOptions {
  /** A file for the verdict, so that short-lived processes need not repeat the test; absent: tested by every process. */
  readonly memory?: string;
  readonly onStart?: () => void;
}

const rememberedMs = 24 * 3_600_000;

export function proveSandbox(sandbox: Sandbox, options: ProofOptions = {}): ProvenSandbox {
  let verdict: Promise<SelfTestVerdict> | null = null;
  const proven = (): Promise<SelfTestVerdict> => {
    verdict ??= prove(sandbox, options);
    return verdict;
  };
  return {
    kind: sandbox.kind,
    proven,
    async open(spec, more) {
      const { safe, failures } = await proven();
      if (safe) return sandbox.open(spec, more);
      throw new SandboxError(
        "SANDBOX_UNSAFE",
        `The ${sandbox.kind} did not pass its self-test: ${failures.slice(0, 3).join(" ")}`,
        "Run 'markmill sandbox self-test' to see every probe.",
      );
    },
    list: () => sandbox.list(),
    remove: (id) => sandbox.remove(id),
    close: () => sandbox.close(),
  };
}

async function prove(sandbox: Sandbox, options: ProofOptions): Promise<SelfTestVerdict> {
  const key = [sandbox.kind, options.image ?? "", release(), bootId()].join(" ");
  if (options.memory !== undefined && remembers(options.memory, key)) return { safe: true, failures: [] };
  options.onStart?.();
  const verdict = judgeSelfTest(await runSelfTest(sandbox, options));
  if (options.memory !== undefined && verdict.safe) remember(options.memory, key);
  return verdict;
}

function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "";
  }
}

function remembers(file: string, key: string): boolean {
  try {
    const kept: unknown = JSON.parse(readFileSync(file, "utf8"));
    const at = typeof kept === "object" && kept !== null ? (kept as Record<string, unknown>)[key] : undefined;
    return typeof at === "number" && at <= Date.now() && Date.now() - at < rememberedMs;
  } catch {
    return false;
  }
}

function remember(file: string, key: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${JSON.stringify({ [key]: Date.now() })}\n`, { mode: 0o600 });
  } catch {
    // Not remembered: the next process tests again.
  }
}
