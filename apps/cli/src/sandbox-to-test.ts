/**
 * Opens a sandbox for commands that only check the machine. If the project has no home yet, its sessions are below a temporary folder of
 * the system, which is removed when the sandbox closes. On kill -9 that folder stays behind; no program reads it.
 */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Config } from "@markmill/config";
import type { Sandbox, SandboxChoice } from "@markmill/sandbox";
import { openSandbox } from "@markmill/stack";

export async function withSandboxToTest<Result>(
  choice: SandboxChoice,
  config: Config,
  { cwd, warn }: { readonly cwd: string; readonly warn: (text: string) => void },
  act: (sandbox: Sandbox) => Promise<Result>,
): Promise<Result> {
  const made = existsSync(resolve(cwd, config.home)) ? null : await mkdtemp(join(tmpdir(), "markmill-sandbox-"));
  try {
    const sandbox = await openSandbox(choice, made === null ? config : { ...config, home: made }, cwd, warn);
    try {
      return await act(sandbox);
    } finally {
      await sandbox.close();
    }
  } finally {
    if (made !== null) await rm(made, { recursive: true, force: true, maxRetries: 3 });
  }
}
