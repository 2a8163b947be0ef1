// Wraps a sandbox that must not be used before its self-test has passed. Invariants:
// 1. `open` waits for the verdict, and refuses every session when it is not "safe": there is no unsafe fallback. If the test could not run,
//    the sessions that wait for it are refused. The next `open` or `proven` starts another test.
// 2. Weak isolation that was not accepted by name refuses every session too, even if the self-test passes.
// 3. A verdict is remembered only when it is "safe", for a day, and only for the same product, host, kernel, boot, and parts of the sandbox
//    (engine, runtime, image digest; or the jail's features).

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname, release } from "node:os";
import { dirname } from "node:path";
import type { Sandbox } from "./port.ts";
import { SandboxError } from "./sandbox-error.ts";
import { judgeSelfTest, runSelfTest, type SelfTestOptions, type SelfTestVerdict } from "./self-test.ts";
import { type ThinWall, type ThinWallName, thinWallsRefused } from "./thin-walls.ts";

export interface ProvenSandbox extends Sandbox {
  /** Starts the self-test on the first call, and again if the last one could not run: no engine, no image. */
  proven(): Promise<Proof>;
}

export interface ProofOptions extends SelfTestOptions {
  /** A file for the verdict, so that short-lived processes need not repeat the test. Default: every process tests. */
  readonly memory?: string;
  readonly onStart?: () => void;
  /** The weak isolation (thin walls) that the operator accepts. */
  readonly accept?: readonly ThinWallName[];
  /** Called once, before the self-test, if there is any weak isolation. */
  readonly onThin?: (walls: readonly ThinWall[], refused: readonly ThinWall[]) => void;
  /** The product's version: another version may have another isolation. */
  readonly version?: string;
}

const rememberedMs = 24 * 3_600_000;

export function proveSandbox(sandbox: Sandbox, options: ProofOptions = {}): ProvenSandbox {
  let verdict: Promise<Proof> | null = null;
  const proof = (): Promise<Proof> => {
    if (verdict !== null) return verdict;
    const asked = prove(sandbox, options);
    verdict = asked;
    asked.catch(() => {
      verdict = null;
    });
    return asked;
  };
  return {
    kind: sandbox.kind,
    proven: proof,
    async open(spec, more) {
      const { safe, failures, thin } = await proof();
      if (safe) return sandbox.open(spec, more);
      if (thin.length > 0) throw thinWallsRefused(thin);
      throw new SandboxError(
        "SANDBOX_UNSAFE",
        `The ${sandbox.kind} did not pass its self-test: ${failures.slice(0, 3).join(" ")}`,
        "Run 'markmill sandbox self-test' to see every probe.",
      );
    },
    list: () => sandbox.list(),
    remove: (id) => sandbox.remove(id),
    close: () => sandbox.close(),
    ...(sandbox.answers === undefined ? {} : { answers: sandbox.answers }),
    ...(sandbox.endedByMemory === undefined ? {} : { endedByMemory: sandbox.endedByMemory }),
  };
}

interface Proof extends SelfTestVerdict {
  /** Weak isolation that the operator has not accepted. */
  readonly thin: readonly ThinWall[];
}

async function prove(sandbox: Sandbox, options: ProofOptions): Promise<Proof> {
  // Without an engine, or without the image, there is nothing to test, and no message to repeat.
  await sandbox.answers?.();
  const walls = (await sandbox.thinWalls?.()) ?? [];
  const thin = walls.filter(({ name }) => options.accept?.includes(name) !== true);
  if (walls.length > 0) options.onThin?.(walls, thin);
  if (thin.length > 0) {
    const failures = thin.map(({ name, message, fix }) => `${name}: ${message} ${fix}`);
    return { safe: false, failures, thin };
  }
  const key = options.memory === undefined ? "" : await proofKey(sandbox, options);
  if (options.memory !== undefined && remembers(options.memory, key)) return { safe: true, failures: [], thin };
  options.onStart?.();
  const verdict = judgeSelfTest(await runSelfTest(sandbox, options));
  if (options.memory !== undefined && verdict.safe) remember(options.memory, key);
  return { ...verdict, thin };
}

/** The key under which a passed self-test is remembered. */
export async function proofKey(sandbox: Sandbox, options: Pick<ProofOptions, "image" | "version">): Promise<string> {
  const identity = (await sandbox.identity?.(options.image)) ?? "";
  const facts = [options.version ?? "", hostname(), release(), bootId(), options.image ?? "", identity];
  return `${sandbox.kind} ${createHash("sha256").update(JSON.stringify(facts)).digest("hex").slice(0, 32)}`;
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
    // Not stored: the next process tests again.
  }
}
