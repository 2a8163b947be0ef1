import { join, resolve } from "node:path";
import type { Config } from "@markmill/config";
import type { Sandbox } from "@markmill/sandbox";
import type { StackLog } from "./stack-log.ts";

/** null: this machine can have none, and EXECUTE answers with a failure that says so. */
export async function openSandbox(config: Config, cwd: string, log: StackLog): Promise<Sandbox | null> {
  const { chooseSandbox, createJailSandbox, createNoneSandbox, SandboxError } = await import("@markmill/sandbox");
  const directory = join(resolve(cwd, config.home), "sessions");
  const missing = () => {
    throw new SandboxError("SANDBOX_ENGINE_UNREACHABLE", "No Docker engine answers.", "Start Docker.");
  };
  try {
    return await chooseSandbox(config.sandbox.kind, {
      docker: missing,
      jail: () => createJailSandbox({ root: directory }),
      none: () => createNoneSandbox({ root: directory, warn: (text) => log.warn({}, text) }),
    });
  } catch (error) {
    if (!(error instanceof SandboxError) || config.sandbox.kind !== "auto") throw error;
    log.warn({ err: error }, "no sandbox");
    return null;
  }
}
