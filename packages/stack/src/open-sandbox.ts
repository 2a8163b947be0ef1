import { join, resolve } from "node:path";
import type { Config } from "@markmill/config";
import type { ProvenSandbox, Sandbox, SandboxChoice, WarmPoolWish } from "@markmill/sandbox";
import { lateSandbox } from "./late-sandbox.ts";
import type { StackLog } from "./stack-log.ts";
import { markmillVersion } from "./version.ts";

const localEngine = "unix:///var/run/docker.sock";

/** Throws a SandboxError if this machine does not support it. */
export async function openSandbox(
  choice: SandboxChoice,
  config: Config,
  cwd: string,
  warn: (text: string) => void,
  pool?: WarmPoolWish,
): Promise<Sandbox> {
  const { chooseSandbox, createDockerSandbox, createJailSandbox, createNoneSandbox } = await import(
    "@markmill/sandbox"
  );
  const { hosts, images, runtime } = config.sandbox;
  const sessions = join(resolve(cwd, config.home), "sessions");
  return await chooseSandbox(choice, {
    docker: () =>
      createDockerSandbox({
        hosts: hosts.length === 0 ? [localEngine] : hosts,
        images,
        ...(runtime === null ? {} : { runtime }),
        ...(pool === undefined ? {} : { pool }),
      }),
    // The jail shows the host's /usr. A Node that is installed elsewhere (nvm, the pinned one) is added to it.
    jail: () => createJailSandbox({ root: join(sessions, "jail"), programs: { node: process.execPath } }),
    none: () => createNoneSandbox({ root: join(sessions, "none"), warn }),
  });
}

/** Opens a sandbox for a worker: it is used only after its self-test has passed. The result is stored below MARKMILL_HOME. */
export async function openProvenSandbox(
  choice: SandboxChoice,
  config: Config,
  cwd: string,
  log: StackLog,
  pool?: WarmPoolWish,
): Promise<Sandbox | ProvenSandbox> {
  const { proveSandbox } = await import("@markmill/sandbox");
  const sandbox = await openSandbox(choice, config, cwd, (text) => log.warn({}, text), pool);
  if (sandbox.kind === "none") return sandbox;
  return proveSandbox(sandbox, {
    accept: config.sandbox.accept,
    version: markmillVersion(),
    onThin: (walls, refused) => {
      for (const wall of walls) {
        const text = `WEAK PROTECTION (${wall.name}): ${wall.message}`;
        // The command that a person started has already explained it.
        if (refused.includes(wall)) log.warn({}, `${text} Commands are refused. ${wall.fix}`);
        else log.info({}, `${text} It is accepted.`);
      }
    },
    memory: join(resolve(cwd, config.home), `${sandbox.kind}-self-test.json`),
    onStart: () =>
      log.warn({}, `testing the sandbox (${sandbox.kind}) before its first use; this takes a few seconds once a day`),
    ...(sandbox.kind === "docker" ? { image: config.sandbox.image } : {}),
  });
}

/**
 * Opens the sandbox of a long-running worker. A named sandbox (SANDBOX=docker) can become available later than the worker, while its engine
 * starts or its image loads. The worker starts without it, performs all other activities, and accepts commands once the sandbox is
 * available and has passed its test.
 */
export async function openLastingSandbox(
  config: Config,
  cwd: string,
  log: StackLog,
  pool?: WarmPoolWish,
): Promise<Sandbox | ProvenSandbox | null> {
  const { kind } = config.sandbox;
  if (kind === "auto" || kind === "none") return await openSandboxIfAny(config, cwd, log, pool);
  return lateSandbox(kind, async () => {
    const opened = await openProvenSandbox(kind, config, cwd, log, pool);
    if (!("proven" in opened)) throw new Error(`The sandbox ${kind} came without a proof.`);
    return opened;
  });
}

/** null: with `auto` this machine supports no sandbox, or `none` is set without its flag. EXECUTE then fails with the reason. */
export async function openSandboxIfAny(
  config: Config,
  cwd: string,
  log: StackLog,
  pool?: WarmPoolWish,
): Promise<Sandbox | ProvenSandbox | null> {
  if (config.sandbox.kind === "none" && !config.sandbox.byFlag) {
    log.info(
      {},
      "SANDBOX=none: commands are refused. To run commands without a sandbox, pass --sandbox none to 'markmill run'",
    );
    return null;
  }
  const { SandboxError } = await import("@markmill/sandbox");
  try {
    return await openProvenSandbox(config.sandbox.kind, config, cwd, log, pool);
  } catch (error) {
    if (!(error instanceof SandboxError) || config.sandbox.kind !== "auto") throw error;
    log.warn({ err: error }, "no sandbox");
    return null;
  }
}
